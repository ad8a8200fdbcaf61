// What a TraceScope costs a collective while no trace is wanted: the same loop with and without one, in turns.
// Prints nanoseconds per pass of both, one pair a line; trace_overhead.py builds and runs it.
#include <chrono>
#include <cstdio>

#include "comm/statistics.hpp"
#include "comm/trace.hpp"

namespace {

constexpr int passes = 200'000;
constexpr int pairs = 400;

using cobre::comm::Operation;

// What every collective does around its work anyway, with nothing in between.
[[gnu::noinline]] void bare(cobre::comm::Statistics& statistics) {
    statistics[Operation::barrier].calls += 1;
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void traced(cobre::comm::Statistics& statistics, cobre::comm::Track& track) {
    const cobre::comm::TraceScope scope(track, statistics[Operation::barrier], Operation::barrier);
    statistics[Operation::barrier].calls += 1;
    asm volatile("" ::: "memory");
}

template <class Body>
double nanoseconds(Body body) {
    const auto begin = std::chrono::steady_clock::now();
    for (int pass = 0; pass < passes; ++pass) body();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / passes;
}

}  // namespace

int main() {
    cobre::comm::Statistics statistics;
    cobre::comm::Track track({0, 1}, "local");
    for (int pair = 0; pair < pairs; ++pair) {
        const double first = nanoseconds([&] { bare(statistics); });
        const double second = nanoseconds([&] { traced(statistics, track); });
        const double third = nanoseconds([&] { traced(statistics, track); });
        const double fourth = nanoseconds([&] { bare(statistics); });
        std::printf("%f %f %f %f\n", first, second, third, fourth);
    }
}
