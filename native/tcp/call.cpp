#include "tcp/call.hpp"

#include "tcp/wire.hpp"

namespace cobre::tcp {

namespace {

// FNV-1a over whole words: the same on every machine, and a wrong list must not pass by chance, not by malice.
std::uint64_t hash_of(std::span<const std::int64_t> counts) noexcept {
    std::uint64_t state = 0xCBF29CE484222325ULL;
    for (const std::int64_t count : counts) {
        state = (state ^ static_cast<std::uint64_t>(count)) * 0x100000001B3ULL;
        state ^= state >> 29;
    }
    return state;
}

const char* name_of(comm::ReduceOp op) noexcept {
    switch (op) {
        case comm::ReduceOp::sum: return "sum";
        case comm::ReduceOp::min: return "min";
        case comm::ReduceOp::max: break;
    }
    return "max";
}

}  // namespace

const char* name_of(Verb verb) noexcept {
    switch (verb) {
        case Verb::barrier: return "barrier";
        case Verb::allgatherv: return "allgatherv";
        case Verb::allreduce: return "allreduce";
        case Verb::broadcast: return "broadcast";
        case Verb::create_region: return "create_shared_region";
        case Verb::split_local: break;
    }
    return "split_local";
}

Call Call::of(Verb verb) noexcept {
    Call call;
    call.verb = verb;
    return call;
}

Call Call::allgatherv(const comm::Buffer& send, std::span<const std::int64_t> counts) noexcept {
    Call call = of(Verb::allgatherv);
    call.dtype = send.dtype;
    call.count = static_cast<std::uint64_t>(send.count);
    for (const std::int64_t count : counts) call.total += static_cast<std::uint64_t>(count);
    call.counts = hash_of(counts);
    return call;
}

Call Call::allreduce(const comm::Buffer& send, comm::ReduceOp op) noexcept {
    Call call = of(Verb::allreduce);
    call.dtype = send.dtype;
    call.op = op;
    call.count = static_cast<std::uint64_t>(send.count);
    return call;
}

Call Call::broadcast(const comm::Buffer& buf, int root) noexcept {
    Call call = of(Verb::broadcast);
    call.dtype = buf.dtype;
    call.root = static_cast<std::uint32_t>(root);
    call.count = static_cast<std::uint64_t>(buf.count);
    return call;
}

Call Call::create_region(std::uint64_t count, const comm::DType& dtype) noexcept {
    Call call = of(Verb::create_region);
    call.dtype = dtype;
    call.op = comm::ReduceOp::min;
    call.count = count;
    return call;
}

void Call::encode(std::byte* target) const noexcept {
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
    put(target, counts);
}

std::optional<Call> Call::decode(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() != wire_bytes) return std::nullopt;
    const auto verb = std::to_integer<std::uint8_t>(bytes[4]);
    const auto op = std::to_integer<std::uint8_t>(bytes[5]);
    const auto kind = std::to_integer<std::uint8_t>(bytes[6]);
    if (verb < static_cast<std::uint8_t>(Verb::barrier) || verb > static_cast<std::uint8_t>(Verb::split_local) ||
        op > static_cast<std::uint8_t>(comm::ReduceOp::max) ||
        kind > static_cast<std::uint8_t>(comm::Kind::record))
        return std::nullopt;
    Call call = of(static_cast<Verb>(verb));
    call.sequence = get<std::uint32_t>(bytes.data());
    call.op = static_cast<comm::ReduceOp>(op);
    call.dtype = {static_cast<comm::Kind>(kind), bytes[7] != std::byte{0}, get<std::uint32_t>(&bytes[8]),
                  get<std::uint64_t>(&bytes[16])};
    call.root = get<std::uint32_t>(&bytes[12]);
    call.count = get<std::uint64_t>(&bytes[24]);
    call.total = get<std::uint64_t>(&bytes[32]);
    call.counts = get<std::uint64_t>(&bytes[40]);
    return call;
}

bool Call::agrees_with(const Call& other) const noexcept {
    return sequence == other.sequence && verb == other.verb && op == other.op && dtype == other.dtype &&
           root == other.root && total == other.total && counts == other.counts &&
           (verb == Verb::allgatherv || count == other.count);
}

std::uint64_t Call::contribution_bytes(int rank) const noexcept {
    switch (verb) {
        case Verb::barrier:
        case Verb::split_local: return 0;
        case Verb::create_region: return sizeof(std::int64_t);
        case Verb::broadcast:
            if (root != static_cast<std::uint32_t>(rank)) return 0;
            break;
        case Verb::allgatherv:
        case Verb::allreduce: break;
    }
    return count * dtype.itemsize;
}

std::string Call::describe_common() const {
    if (verb != Verb::allgatherv) return describe();
    return std::string(name_of(verb)) + "(" + std::to_string(total) + " x " + comm::name_of(dtype) + " in all)";
}

std::string Call::describe() const {
    const std::string elements = std::to_string(count) + " x " + comm::name_of(dtype);
    const std::string verb_name = name_of(verb);
    switch (verb) {
        case Verb::barrier:
        case Verb::split_local: return verb_name + "()";
        case Verb::allgatherv: return verb_name + "(" + elements + " of " + std::to_string(total) + " in all)";
        case Verb::allreduce: return verb_name + "(" + name_of(op) + ", " + elements + ")";
        case Verb::broadcast: return verb_name + "(root " + std::to_string(root) + ", " + elements + ")";
        case Verb::create_region: break;
    }
    return verb_name + "(" + elements + ")";
}

}  // namespace cobre::tcp
