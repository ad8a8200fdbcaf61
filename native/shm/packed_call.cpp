#include "shm/packed_call.hpp"

namespace cobre::shm {

using comm::Verb;

comm::Call PackedCall::unpack(std::uint32_t bits, std::uint64_t detail) noexcept {
    comm::Call call = comm::Call::of(static_cast<Verb>(bits & 15U));
    call.op = static_cast<comm::ReduceOp>((bits >> op_shift) & 3U);
    call.dtype.kind = static_cast<comm::Kind>((bits >> kind_shift) & 7U);
    call.dtype.swapped = ((bits >> swapped_shift) & 1U) != 0;
    call.dtype.itemsize = 1U << ((bits >> item_shift) & 7U);
    call.root = (bits >> root_shift) & 0xFFFFU;
    call.region = detail;
    const bool is_counted = call.verb != Verb::allgatherv && call.dtype.kind != comm::Kind::record;
    call.count = is_counted ? detail : unknown;
    call.total = unknown;
    return call;
}

}  // namespace cobre::shm
