#include "comm/arguments.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "comm/error.hpp"

namespace cobre::comm {

namespace {

std::string elements(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " element" : " elements");
}

std::string quoted(const std::string& text) { return std::string("'").append(text).append("'"); }

// A call that makes the right buffer; types without a name of their own are taken from the one at hand.
std::string allocate(std::int64_t count, const DType& dtype) {
    const bool has_name = dtype.kind != Kind::record && !dtype.swapped;
    return "allocate numpy.empty(" + std::to_string(count) +
           ", dtype=" + (has_name ? quoted(name_of(dtype)) : "send.dtype") + ")";
}

[[noreturn]] void wrong_size(const char* operation, Group group, std::int64_t expected, std::int64_t actual,
                             const std::string& what, std::string fix) {
    throw Error(ErrorClass::invalid_buffer_size, operation, expected, actual,
                what + Where{operation, group}.text(), std::move(fix));
}

[[noreturn]] void wrong_type(const char* operation, Group group, const std::string& what, std::string fix) {
    throw Error(ErrorClass::type_error, what + Where{operation, group}.text(), std::move(fix));
}

void check_same_dtype(const char* operation, const Buffer& send, const Buffer& recv, Group group) {
    if (send.dtype == recv.dtype) return;
    wrong_type(
        operation, group,
        "send holds " + name_of(send.dtype) + " but recv holds " + name_of(recv.dtype) +
            (send.dtype.kind == Kind::record && recv.dtype.kind == Kind::record ? " with other fields" : ""),
        "give both buffers one dtype, e.g. send = send.astype(recv.dtype)");
}

void check_writable(const char* operation, const char* argument, const Buffer& buffer, Group group) {
    if (!buffer.readonly) return;
    wrong_type(operation, group, std::string(argument) + " is read-only but the result must be written to it",
               std::string("pass a writable buffer, e.g. ") + argument + ".copy()");
}

// One past the last element that the layout writes. Throws on anything negative; huge numbers do not overflow.
std::int64_t check_extent(const Layout& layout, const Buffer& recv, Group group) {
    std::int64_t end = 0;
    for (std::size_t r = 0; r < layout.counts.size(); ++r) {
        const std::int64_t count = layout.counts[r];
        const std::int64_t displ = layout.displs[r];
        if (count < 0)
            wrong_size("allgatherv", group, 0, count,
                       "counts[" + std::to_string(r) + "] is " + std::to_string(count) + ", below zero",
                       "counts are numbers of elements: 0 or more");
        if (displ < 0)
            wrong_size(
                "allgatherv", group, 0, displ,
                "displs[" + std::to_string(r) + "] is " + std::to_string(displ) + ", before the start of recv",
                "displacements are counted in elements from the start of recv: 0 or more");
        std::int64_t here = 0;
        if (__builtin_add_overflow(count, displ, &here)) here = INT64_MAX;
        end = std::max(end, here);
    }
    if (end > recv.count)
        wrong_size("allgatherv", group, end, recv.count,
                   "recv holds " + elements(recv.count) + " but the counts need " +
                       (end == INT64_MAX ? "more than any memory holds" : std::to_string(end)),
                   end == INT64_MAX ? "correct counts and displs" : allocate(end, recv.dtype));
    return end;
}

[[noreturn]] void regions_overlap(const Layout& layout, std::size_t first, std::size_t second, Group group) {
    const std::int64_t end = layout.displs[first] + layout.counts[first];
    wrong_size("allgatherv", group, end, layout.displs[second],
               "the parts of ranks " + std::to_string(first) + " and " + std::to_string(second) +
                   " overlap in recv: one ends at " + std::to_string(end) + ", the other begins at " +
                   std::to_string(layout.displs[second]),
               "let displs keep the parts apart; block_layout(n, size) does");
}

void check_parts_disjoint(const Layout& layout, Group group) {
    const std::size_t size = layout.counts.size();
    // Displacements in rank order are the rule, and then one pass proves it without allocating.
    std::int64_t end = 0;
    bool ascending = true;
    for (std::size_t r = 0; r < size && ascending; ++r) {
        if (layout.counts[r] == 0) continue;
        ascending = layout.displs[r] >= end;
        end = layout.displs[r] + layout.counts[r];
    }
    if (ascending) return;

    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t r) { return layout.counts[r] == 0; });
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return layout.displs[a] < layout.displs[b]; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (layout.displs[order[i]] < layout.displs[order[i - 1]] + layout.counts[order[i - 1]])
            regions_overlap(layout, order[i - 1], order[i], group);
}

// Two buffers of the same memory are fine only when `send` is exactly `target`, the part it ends up in.
void check_aliasing(const char* operation, const Buffer& send, const std::byte* target, const Buffer& recv,
                    Group group) {
    if (send.bytes() == 0 || recv.bytes() == 0) return;
    const auto send_begin = reinterpret_cast<std::uintptr_t>(send.data);
    const auto recv_begin = reinterpret_cast<std::uintptr_t>(recv.data);
    const bool apart = send_begin + send.bytes() <= recv_begin || recv_begin + recv.bytes() <= send_begin;
    if (apart || send.data == target) return;
    throw Error(ErrorClass::value_error,
                "send and recv share memory but do not coincide" + Where{operation, group}.text(),
                "pass buffers that do not overlap, or in place: exactly this rank's part of recv (allgatherv), "
                "exactly recv (allreduce)");
}

}  // namespace

const char* name_of(ReduceOp op) noexcept {
    switch (op) {
        case ReduceOp::sum: return "sum";
        case ReduceOp::min: return "min";
        case ReduceOp::max: break;
    }
    return "max";
}

std::string Where::text() const {
    return std::string(" (") + operation + ", rank " + std::to_string(group.rank) + " of " +
           std::to_string(group.size) + ")";
}

void check_one_per_rank(const char* name, std::size_t length, Group group) {
    if (length == static_cast<std::size_t>(group.size)) return;
    wrong_size("allgatherv", group, group.size, static_cast<std::int64_t>(length),
               std::string(name) + " has " + std::to_string(length) + " entries but there are " +
                   std::to_string(group.size) + " ranks",
               std::string("pass one entry of ") + name + " per rank; block_layout(n, size) makes both lists");
}

void check_allgatherv(const Buffer& send, const Buffer& recv, const Layout& layout, Group group) {
    constexpr const char* operation = "allgatherv";
    check_same_dtype(operation, send, recv, group);
    check_writable(operation, "recv", recv, group);
    check_one_per_rank("counts", layout.counts.size(), group);
    check_one_per_rank("displs", layout.displs.size(), group);
    check_extent(layout, recv, group);
    check_parts_disjoint(layout, group);
    const auto mine = static_cast<std::size_t>(group.rank);
    if (send.count != layout.counts[mine])
        wrong_size(operation, group, layout.counts[mine], send.count,
                   "send holds " + elements(send.count) + " but counts[" + std::to_string(group.rank) + "] is " +
                       std::to_string(layout.counts[mine]),
                   "send exactly counts[rank] elements, or correct counts on every rank");
    const std::byte* target = recv.data + layout.displs[mine] * static_cast<std::int64_t>(recv.dtype.itemsize);
    check_aliasing(operation, send, target, recv, group);
}

void check_allreduce(const Buffer& send, const Buffer& recv, ReduceOp op, Group group) {
    constexpr const char* operation = "allreduce";
    check_same_dtype(operation, send, recv, group);
    if (!is_summable(send.dtype))
        wrong_type(operation, group, name_of(send.dtype) + " cannot be reduced",
                   send.dtype.swapped ? "convert to this machine's byte order: a.astype(a.dtype.newbyteorder('='))"
                                      : "reduce bool, int8 to int64, float16 to float64 or complex64/128; "
                                        "a structured array field by field");
    if (send.dtype.kind == Kind::complex && op != ReduceOp::sum)
        wrong_type(operation, group, name_of(send.dtype) + " has no order, so no minimum or maximum",
                   "use ReduceOp.SUM, or reduce the real and imaginary parts apart");
    check_writable(operation, "recv", recv, group);
    if (send.count != recv.count)
        wrong_size(operation, group, send.count, recv.count,
                   "recv holds " + elements(recv.count) + " but send holds " + std::to_string(send.count),
                   allocate(send.count, send.dtype));
    if (send.count == 0)
        wrong_size(operation, group, 1, 0, "there is nothing to reduce: send and recv are empty",
                   "pass at least one element");
    check_aliasing(operation, send, recv.data, recv, group);
}

void check_root(std::int64_t root, Group group) {
    constexpr const char* operation = "broadcast";
    if (root < 0 || root >= group.size)
        throw Error(ErrorClass::invalid_root, operation, group.size, root,
                    "root " + std::to_string(root) + " is not one of the ranks 0.." +
                        std::to_string(group.size - 1) + Where{operation, group}.text(),
                    "pass a root between 0 and " + std::to_string(group.size - 1));
}

void check_broadcast(const Buffer& buf, std::int64_t root, Group group) {
    check_root(root, group);
    if (root != group.rank) check_writable("broadcast", "buf", buf, group);
}

}  // namespace cobre::comm
