// A call packed into two words, so that comparing two calls costs two comparisons of words that are polled anyway.
#pragma once

#include <bit>
#include <cstdint>

#include "comm/call.hpp"

namespace cobre::shm {

class PackedCall : public comm::Call {
public:
    // Said about this step besides the signature; ranks may differ in these.
    static constexpr std::uint32_t is_inline = 1U << 29;  // the payload is in the slot
    static constexpr std::uint32_t is_placed = 1U << 30;  // the result is in a shared region
    static constexpr std::uint32_t is_ready = 1U << 31;   // nothing of mine needs copying / my step went well
    static constexpr std::uint32_t signature_bits = (1U << 29) - 1;

    explicit PackedCall(const comm::Call& call) noexcept
        : comm::Call(call), bits_(packed_bits(call)), detail_(packed_detail(call)) {}

    std::uint32_t bits() const noexcept { return bits_; }
    std::uint64_t detail() const noexcept { return detail_; }

    // What the two words hold of another rank's call.
    static comm::Call unpack(std::uint32_t bits, std::uint64_t detail) noexcept;

private:
    // verb 4 | reduction 2 | kind 3 | swapped 1 | log2 of the item size 3 | root 16
    static constexpr int op_shift = 4;
    static constexpr int kind_shift = 6;
    static constexpr int swapped_shift = 9;
    static constexpr int item_shift = 10;
    static constexpr int root_shift = 13;

    static std::uint32_t packed_bits(const comm::Call& call) noexcept {
        const comm::DType& dtype = call.dtype;
        const std::uint32_t width = dtype.kind == comm::Kind::record ? 0U : std::bit_width(dtype.itemsize) - 1U;
        return static_cast<std::uint32_t>(call.verb) | static_cast<std::uint32_t>(call.op) << op_shift |
               static_cast<std::uint32_t>(dtype.kind) << kind_shift |
               static_cast<std::uint32_t>(dtype.swapped) << swapped_shift | (width & 7U) << item_shift |
               (call.root & 0xFFFFU) << root_shift;
    }

    // Plain types: the count itself, so that the words alone suffice. Records need their layout in it as well.
    static std::uint64_t packed_detail(const comm::Call& call) noexcept {
        if (call.verb == comm::Verb::fence) return call.region;
        const bool is_gather = call.verb == comm::Verb::allgatherv;
        const std::uint64_t elements = is_gather ? call.counts_hash : call.count;
        if (!is_gather && call.dtype.kind != comm::Kind::record) return elements;
        return comm::mix(comm::mix(elements, call.dtype.itemsize), call.dtype.layout);
    }

    std::uint32_t bits_;
    std::uint64_t detail_;
};

}  // namespace cobre::shm
