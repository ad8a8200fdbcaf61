// Exercises the core without Python, so that sanitizers see all of it. Prints what failed and exits 1.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "comm/arguments.hpp"
#include "comm/error.hpp"
#include "comm/fold.hpp"
#include "comm/local.hpp"
#include "report.hpp"

namespace {

using namespace cobre::comm;

constexpr DType float64{Kind::floating, false, 8, 0};

using cobre::tests::Report;

template <class T>
Buffer buffer_of(std::vector<T>& values, DType dtype) {
    return {reinterpret_cast<std::byte*>(values.data()), static_cast<std::int64_t>(values.size()), dtype, false};
}

bool raises(ErrorClass wanted, const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.error_class() == wanted && !error.message().empty() && !error.fix().empty();
    }
    return false;
}

template <class T>
std::vector<T> fold(const std::vector<std::vector<T>>& rows, DType dtype, ReduceOp op) {
    std::vector<const std::byte*> pointers;
    for (const auto& row : rows) pointers.push_back(reinterpret_cast<const std::byte*>(row.data()));
    std::vector<T> out(rows[0].size());
    fold_in_rank_order(pointers, out.size(), dtype, op, reinterpret_cast<std::byte*>(out.data()));
    return out;
}

void check_arguments(Report& report) {
    std::vector<double> three(3), ten(10);
    const Group group{1, 3};
    const Buffer send = buffer_of(three, float64), recv = buffer_of(ten, float64);
    const auto gather = [&](std::vector<std::int64_t> counts, std::vector<std::int64_t> displs) {
        return [=] { check_allgatherv(send, recv, {counts, displs}, group); };
    };
    gather({4, 3, 3}, {0, 4, 7})();
    gather({3, 3, 4}, {7, 4, 0})();
    gather({0, 3, 0}, {4, 4, 10})();
    constexpr auto size_error = ErrorClass::invalid_buffer_size;
    constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    report.expect(raises(size_error, gather({4, 3}, {0, 4, 7})), "too few counts are refused");
    report.expect(raises(size_error, gather({4, 3, 4}, {0, 4, 7})), "recv too small is refused");
    report.expect(raises(size_error, gather({-1, 3, 3}, {0, 4, 7})), "a negative count is refused");
    report.expect(raises(size_error, gather({4, 3, 3}, {0, 4, -7})), "a negative displacement is refused");
    report.expect(raises(size_error, gather({huge, 3, huge}, {huge, 4, 7})), "huge numbers do not overflow");
    report.expect(raises(size_error, gather({4, 3, 3}, {6, 4, 0})), "permuted overlapping parts are refused");
    report.expect(raises(size_error, gather({4, 2, 3}, {0, 4, 7})), "send must hold counts[rank] elements");

    Buffer inside = recv;
    inside.count = 3;
    inside.data += 8;
    report.expect(raises(ErrorClass::value_error,
                         [&] {
                             check_allgatherv(
                                 inside, recv,
                                 {std::array<std::int64_t, 3>{4, 3, 3}, std::array<std::int64_t, 3>{0, 4, 7}},
                                 group);
                         }),
                  "partial overlap is refused");
    report.expect(raises(ErrorClass::invalid_root, [&] { check_broadcast(recv, 3, group); }),
                  "root 3 of 3 is refused");
    report.expect(raises(ErrorClass::invalid_root, [&] { check_broadcast(recv, -1, group); }),
                  "root -1 is refused");
}

void check_folds(Report& report) {
    const double huge = 1e300, nan = std::nan("");
    const auto sum = fold<double>({{huge, 1.0}, {-huge, nan}, {1.0, 2.0}}, float64, ReduceOp::sum);
    report.expect(sum[0] == 1.0, "cancelling values fold from rank 0 on");
    report.expect(std::isnan(sum[1]), "NaN stays in a sum");
    const auto least = fold<double>({{0.0, 2.0}, {-0.0, nan}, {0.0, 1.0}}, float64, ReduceOp::min);
    report.expect(!std::signbit(least[0]), "a tie keeps the lower rank's zero");
    report.expect(std::isnan(least[1]), "the first NaN sticks in a minimum");
    constexpr DType int8{Kind::signed_int, false, 1, 0};
    const auto wrapped = fold<std::int8_t>({{127}, {1}}, int8, ReduceOp::sum);
    report.expect(wrapped[0] == -128, "int8 wraps");
    constexpr DType float16{Kind::floating, false, 2, 0};
    const auto half =
        fold<std::uint16_t>({{0x3C00, 0x0001, 0x7BFF}, {0x1000, 0x0001, 0x7BFF}}, float16, ReduceOp::sum);
    report.expect(half[0] == 0x3C00 && half[1] == 0x0002 && half[2] == 0x7C00,
                  "float16 rounds, underflows, overflows");

    std::vector<std::byte> raw(8 * 1000 + 1), out(8 * 1000 + 3);  // odd addresses must be fine
    const std::array<const std::byte*, 2> rows = {raw.data() + 1, raw.data() + 1};
    fold_in_rank_order(rows, 1000, float64, ReduceOp::max, out.data() + 3);
    report.expect(true, "unaligned rows fold");
}

// Ranks as threads folding the same rows, as they do over shared memory.
void check_threads(Report& report) {
    const std::vector<std::vector<double>> rows(4, std::vector<double>(10'000, 0.1));
    std::vector<std::vector<double>> results(4);
    {
        std::vector<std::jthread> ranks;
        for (auto& result : results)
            ranks.emplace_back([&] { result = fold<double>(rows, float64, ReduceOp::sum); });
    }
    bool same = true;
    for (const auto& result : results)
        same &= std::memcmp(result.data(), results[0].data(), result.size() * sizeof(double)) == 0;
    report.expect(same, "all ranks fold to the same bits");

    LocalCommunicator local;
    std::jthread closer([&] { local.lifetime().close(); });
    closer.join();
    report.expect(raises(ErrorClass::invalid_communicator, [&] { local.lifetime().require_usable("barrier"); }),
                  "a communicator closed by another thread is closed");
}

void check_fork(Report& report) {
    const LocalCommunicator local;
    const pid_t child = fork();
    if (child == 0) _exit(const_cast<LocalCommunicator&>(local).lifetime().is_forked() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    report.expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child knows that it is one");
}

}  // namespace

int main() {
    Report report;
    check_arguments(report);
    check_folds(report);
    check_threads(report);
    check_fork(report);
    return report.finish();
}
