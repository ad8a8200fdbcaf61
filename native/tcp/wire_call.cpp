#include "tcp/wire_call.hpp"

#include "tcp/wire.hpp"

namespace cobre::tcp {

using comm::Verb;

void WireCall::encode(std::byte* target) const noexcept {
    target = put(target, sequence);
    *target++ = static_cast<std::byte>(verb);
    *target++ = static_cast<std::byte>(op);
    *target++ = static_cast<std::byte>(dtype.kind);
    *target++ = static_cast<std::byte>(dtype.swapped);
    target = put(target, dtype.itemsize);
    target = put(target, root);
    target = put(target, dtype.layout);
    target = put(target, count);
    target = put(target, total);
    put(target, counts_hash);
}

std::optional<WireCall> WireCall::decode(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() != wire_bytes) return std::nullopt;
    const auto verb = std::to_integer<std::uint8_t>(bytes[4]);
    const auto op = std::to_integer<std::uint8_t>(bytes[5]);
    const auto kind = std::to_integer<std::uint8_t>(bytes[6]);
    if (verb < static_cast<std::uint8_t>(Verb::barrier) || verb > static_cast<std::uint8_t>(Verb::split_local) ||
        op > static_cast<std::uint8_t>(comm::ReduceOp::max) ||
        kind > static_cast<std::uint8_t>(comm::Kind::record))
        return std::nullopt;
    WireCall call = comm::Call::of(static_cast<Verb>(verb));
    call.sequence = get<std::uint32_t>(bytes.data());
    call.op = static_cast<comm::ReduceOp>(op);
    call.dtype = {static_cast<comm::Kind>(kind), bytes[7] != std::byte{0}, get<std::uint32_t>(&bytes[8]),
                  get<std::uint64_t>(&bytes[16])};
    call.root = get<std::uint32_t>(&bytes[12]);
    call.count = get<std::uint64_t>(&bytes[24]);
    call.total = get<std::uint64_t>(&bytes[32]);
    call.counts_hash = get<std::uint64_t>(&bytes[40]);
    return call;
}

bool WireCall::agrees_with(const WireCall& other) const noexcept {
    return sequence == other.sequence && verb == other.verb && op == other.op && dtype == other.dtype &&
           root == other.root && total == other.total && counts_hash == other.counts_hash &&
           (verb == Verb::allgatherv || count == other.count);
}

std::uint64_t WireCall::contribution_bytes(int rank) const noexcept {
    switch (verb) {
        case Verb::barrier:
        case Verb::split_local: return 0;
        case Verb::create_region: return sizeof(std::int64_t);
        case Verb::broadcast:
            if (root != static_cast<std::uint32_t>(rank)) return 0;
            break;
        default: break;
    }
    return bytes();
}

}  // namespace cobre::tcp
