// What this machine itself needs, without any library: two processes on shared memory.
//
//   hop        one cache line handed to the other process, in microseconds
//   copy_N     one copy of N bytes
//   swap_N     both processes put N bytes into shared memory and add the other's to their own: the least that an
//              allreduce of N bytes between two processes with private memory has to do
//
//   c++ -O3 -march=native -std=c++20 shm_limits.cpp -o limits && ./limits
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
    alignas(64) std::atomic<std::uint64_t> here;
    alignas(64) std::atomic<std::uint64_t> there;
};

double microseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// The tenth percentile: what the machine does when nobody disturbs it, without the luckiest outliers.
double low(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 10];
}

void* shared(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    std::memset(memory, 0, bytes);
    return memory;
}

// Calls step(me, round) in both processes, in lockstep of `batch` rounds; times per round of this one.
template <class Step>
double both(int samples, int batch, Step step) {
    auto* flags = static_cast<Flags*>(shared(sizeof(Flags)));
    const pid_t child = fork();
    const int me = child == 0 ? 1 : 0;
    std::atomic<std::uint64_t>& mine = me == 0 ? flags->here : flags->there;
    std::atomic<std::uint64_t>& other = me == 0 ? flags->there : flags->here;
    std::vector<double> times;
    for (int sample = 0; sample < samples; ++sample) {
        const auto begin = Clock::now();
        for (int i = 0; i < batch; ++i) {
            const auto round = static_cast<std::uint64_t>(sample * batch + i + 1);
            step(me, round, false);
            mine.store(round, std::memory_order_release);
            while (other.load(std::memory_order_acquire) < round) __builtin_ia32_pause();
            step(me, round, true);
        }
        times.push_back(microseconds_since(begin) / batch);
    }
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    munmap(flags, sizeof(Flags));
    return low(times);
}

double swap(std::size_t bytes, int samples) {
    auto* memory = static_cast<double*>(shared(4 * bytes));
    const std::size_t count = bytes / sizeof(double);
    std::vector<double> send(count, 1.0);
    std::vector<double> result(count);
    const double time = both(samples, 4, [&](int me, std::uint64_t round, bool has_come) {
        const auto buffer = [&](int who) {
            return memory + (2 * static_cast<std::size_t>(who) + round % 2) * count;
        };
        double* mine = buffer(me);
        const double* theirs = buffer(1 - me);
        if (!has_come)
            for (std::size_t i = 0; i < count; ++i) mine[i] = send[i];
        else
            for (std::size_t i = 0; i < count; ++i) result[i] = send[i] + theirs[i];
    });
    munmap(memory, 4 * bytes);
    return time;
}

double copy(std::size_t bytes) {
    std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes);
    std::vector<double> times;
    for (int i = 0; i < 20; ++i) {
        const auto begin = Clock::now();
        std::memcpy(to.data(), from.data(), bytes);
        times.push_back(microseconds_since(begin));
    }
    return low(times);
}

}  // namespace

int main() {
    std::printf("{\"hop\": %.4f", both(2000, 50, [](int, std::uint64_t, bool) {}));
    for (const std::size_t bytes :
         {10'000UL, 65'536UL, 3'200'000UL, 8'388'608UL, 20'000'000UL, 32'000'000UL, 206'000'000UL})
        std::printf(", \"copy_%zu\": %.3f", bytes, copy(bytes));
    std::printf(", \"swap_65536\": %.3f, \"swap_8388608\": %.3f}\n", swap(65'536, 1000), swap(8'388'608, 15));
    return 0;
}
