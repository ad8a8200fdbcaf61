// Exercises the core without Python, so that sanitizers see all of it. Prints what failed and exits 1.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "comm/arguments.hpp"
#include "comm/copy.hpp"
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

// Random bytes hold few NaNs: some more, each of its own, at both ends and here and there.
void strew_nans(std::vector<std::byte>& row, const DType& dtype, std::mt19937_64& random) {
    if (dtype.kind != Kind::floating && dtype.kind != Kind::complex) return;
    const std::size_t width = dtype.kind == Kind::complex ? dtype.itemsize / 2 : dtype.itemsize;
    const std::size_t items = row.size() / width;
    const std::uint64_t nan = width == 2 ? 0x7C01U : width == 4 ? 0x7F800001U : 0x7FF0000000000001ULL;
    for (const std::size_t at : {std::size_t{0}, items - 1, random() % items, random() % items}) {
        const std::uint64_t bits = nan | (random() % 2 << (8 * width - 1)) | random() % 64;
        if (random() % 2 == 0) std::memcpy(row.data() + at * width, &bits, width);
    }
}

// Every way to fold gives the bytes that folding one element after the other gives, and writes nothing else: with
// and without the cache, at every alignment, in place, through the vector unit and around NaNs.
void check_fold_variants(Report& report, const DType& dtype, ReduceOp op) {
    constexpr std::size_t margin = 64;
    std::mt19937_64 random(dtype.itemsize + 100 * static_cast<unsigned>(dtype.kind));
    bool is_same = true;
    bool is_clean = true;
    for (const std::size_t count : {1, 2, 7, 15, 16, 17, 31, 32, 33, 65, 257, 1025, 3001})
        for (const std::size_t offset : {0, 1, 2, 4, 8, 16, 24, 31, 32, 40}) {
            const std::size_t size = 2 + random() % 3;
            const std::size_t bytes = count * dtype.itemsize;
            std::vector<std::vector<std::byte>> rows(size, std::vector<std::byte>(bytes));
            for (auto& row : rows) {
                std::ranges::generate(row, [&] { return static_cast<std::byte>(random()); });
                if (random() % 2 == 0) strew_nans(row, dtype, random);
            }
            std::vector<std::byte> wanted(bytes);
            std::vector<const std::byte*> pointers(size);
            for (std::size_t i = 0; i < bytes; i += dtype.itemsize) {
                for (std::size_t r = 0; r < size; ++r) pointers[r] = rows[r].data() + i;
                fold_in_rank_order(pointers, 1, dtype, op, wanted.data() + i);
            }
            for (const bool around_cache : {false, true})
                for (std::size_t in_place = 0; in_place <= size; ++in_place) {  // `size`: not at all
                    std::vector<std::byte> out(bytes + 2 * margin, std::byte{0xEE});
                    std::byte* result = out.data() + offset;
                    for (std::size_t r = 0; r < size; ++r) pointers[r] = rows[r].data();
                    if (in_place < size) {
                        std::ranges::copy(rows[in_place], result);
                        pointers[in_place] = result;
                    }
                    fold_in_rank_order(pointers, count, dtype, op, result, around_cache);
                    is_same &= std::equal(wanted.begin(), wanted.end(), result);
                    const auto is_untouched = [](std::byte byte) { return byte == std::byte{0xEE}; };
                    is_clean &= std::all_of(out.data(), result, is_untouched) &&
                                std::all_of(result + bytes, out.data() + out.size(), is_untouched);
                }
        }
    const std::string what = name_of(dtype) + ", operation " + std::to_string(static_cast<int>(op));
    report.expect(is_same, (what + " folds to the same bytes however it is done").c_str());
    report.expect(is_clean, (what + " is written to its place only").c_str());
}

void check_all_fold_variants(Report& report) {
    std::vector<DType> dtypes = {{Kind::boolean, false, 1, 0},
                                 {Kind::floating, false, 2, 0},
                                 {Kind::floating, false, 4, 0},
                                 {Kind::floating, false, 8, 0}};
    for (const std::uint32_t itemsize : {1U, 2U, 4U, 8U})
        for (const Kind kind : {Kind::signed_int, Kind::unsigned_int})
            dtypes.push_back({kind, false, itemsize, 0});
    for (const DType& dtype : dtypes)
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
            check_fold_variants(report, dtype, op);
    check_fold_variants(report, {Kind::complex, false, 8, 0}, ReduceOp::sum);
    check_fold_variants(report, {Kind::complex, false, 16, 0}, ReduceOp::sum);
}

void check_copies(Report& report) {
    constexpr std::size_t margin = 128;
    std::mt19937_64 random(1);
    std::vector<std::byte> from(20'000);
    std::ranges::generate(from, [&] { return static_cast<std::byte>(random()); });
    bool is_right = true;
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 127, 2047, 2048, 2049, 2113, 4096, 10'001})
        for (int trial = 0; trial < 50; ++trial) {
            const std::size_t source = random() % 65, first = random() % 65, second = random() % 65;
            std::vector<std::byte> wanted(bytes + margin, std::byte{0xEE});
            std::vector<std::byte> one = wanted, other = wanted, also_wanted = wanted;
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes, wanted.data() + first);
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes, also_wanted.data() + second);
            if (trial % 3 == 0) {
                copy_to_both(one.data() + first, other.data() + second, from.data() + source, bytes);
            } else {
                copy_bytes(one.data() + first, from.data() + source, bytes, trial % 3 == 1);
                copy_bytes(other.data() + second, from.data() + source, bytes, trial % 3 == 2);
            }
            is_right &= one == wanted && other == also_wanted;
        }
    report.expect(is_right, "every copy holds the same bytes, and nothing beside it is written");
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
    report.expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child is recognised as one");
}

}  // namespace

int main() {
    Report report;
    check_arguments(report);
    check_folds(report);
    check_all_fold_variants(report);
    check_copies(report);
    check_threads(report);
    check_fork(report);
    return report.finish();
}
