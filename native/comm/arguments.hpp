// Argument checks of the four collectives, written once and called by every backend.
//
// Each check either returns or throws `Error`, touches no byte of the payload and knows only this
// rank's arguments. The order is fixed, so that a call with several faults reports the same one on
// every backend: element types, what the reduction can do with them, writability, sizes, aliasing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm/dtype.hpp"

namespace cobre::comm {

enum class ReduceOp : std::uint8_t { sum, min, max };

const char* name_of(ReduceOp op) noexcept;

// A C-contiguous run of elements that the caller keeps alive.
struct Buffer {
    std::byte* data = nullptr;
    std::int64_t count = 0;
    DType dtype;
    bool readonly = false;

    std::size_t bytes() const noexcept { return static_cast<std::size_t>(count) * dtype.itemsize; }
};

struct Group {
    int rank = 0;
    int size = 1;
};

// For error texts: which call, of which rank.
struct Where {
    const char* operation;
    Group group;

    std::string text() const;  // " (allgatherv, rank 2 of 4)"
};

// In elements, one entry per rank.
struct Layout {
    std::span<const std::int64_t> counts;
    std::span<const std::int64_t> displs;
};

// Whether counts or displs, named by `argument`, have one entry per rank; asked before they are read.
void check_one_per_rank(const char* argument, std::size_t length, Group group);

// Whether the root of a broadcast is a rank; asked before it is made an int.
void check_root(std::int64_t root, Group group);

void check_allgatherv(const Buffer& send, const Buffer& recv, const Layout& layout, Group group);
void check_allreduce(const Buffer& send, const Buffer& recv, ReduceOp op, Group group);
void check_broadcast(const Buffer& buf, std::int64_t root, Group group);

}  // namespace cobre::comm
