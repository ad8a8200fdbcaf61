#include "comm/call.hpp"

namespace cobre::comm {

namespace {

constexpr std::uint64_t first_hash = 0xCBF29CE484222325ULL;

std::string elements(std::uint64_t count, const DType& dtype) {
    const bool is_record = dtype.kind == Kind::record;
    if (count == Call::unknown) return is_record ? "records" : name_of(dtype);
    return std::to_string(count) + " x " + name_of(dtype);
}

std::string text_of(std::span<const std::int64_t> counts) {
    constexpr std::size_t shown = 12;
    std::string text = ", counts [";
    for (std::size_t r = 0; r < counts.size() && r < shown; ++r)
        text += (r == 0 ? "" : ", ") + std::to_string(counts[r]);
    return text + (counts.size() > shown ? ", …]" : "]");
}

std::string arguments_of(const Call& call) {
    switch (call.verb) {
        case Verb::barrier:
        case Verb::split_local:
        case Verb::attach: return "";
        case Verb::fence: return "region " + std::to_string(call.region);
        case Verb::allgatherv:
            return elements(call.total, call.dtype) + (call.list.empty() ? "" : text_of(call.list));
        case Verb::allreduce: return elements(call.count, call.dtype) + ", " + name_of(call.op);
        case Verb::broadcast: return elements(call.count, call.dtype) + ", root " + std::to_string(call.root);
        case Verb::create_region: break;
    }
    return elements(call.count, call.dtype);
}

}  // namespace

// FNV-1a over whole words.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    hash = (hash ^ value) * 0x100000001B3ULL;
    return hash ^ (hash >> 29);
}

const char* name_of(Verb verb) noexcept {
    switch (verb) {
        case Verb::barrier: return "barrier";
        case Verb::allgatherv: return "allgatherv";
        case Verb::allreduce: return "allreduce";
        case Verb::broadcast: return "broadcast";
        case Verb::create_region: return "create_shared_region";
        case Verb::split_local: return "split_local";
        case Verb::fence: return "fence";
        case Verb::attach: break;
    }
    return "attach";
}

Call Call::allgatherv(const Buffer& send, std::span<const std::int64_t> counts) noexcept {
    Call call = of(Verb::allgatherv);
    call.dtype = send.dtype;
    call.count = static_cast<std::uint64_t>(send.count);
    call.list = counts;
    call.counts_hash = first_hash;
    for (const std::int64_t count : counts) {
        call.total += static_cast<std::uint64_t>(count);
        call.counts_hash = mix(call.counts_hash, static_cast<std::uint64_t>(count));
    }
    return call;
}

Call Call::create_region(std::uint64_t count, const DType& dtype) noexcept {
    Call call = of(Verb::create_region);
    call.dtype = dtype;
    call.op = ReduceOp::min;
    call.count = count;
    return call;
}

Call Call::fence(std::uint64_t region) noexcept {
    Call call = of(Verb::fence);
    call.region = region;
    return call;
}

std::uint64_t Call::signature() const noexcept {
    std::uint64_t hash = mix(first_hash, static_cast<std::uint64_t>(verb));
    hash = mix(hash, static_cast<std::uint64_t>(op));
    hash = mix(hash, static_cast<std::uint64_t>(dtype.kind));
    hash = mix(hash, static_cast<std::uint64_t>(dtype.swapped));
    for (const std::uint64_t value : {std::uint64_t{dtype.itemsize}, dtype.layout, std::uint64_t{root},
                                      verb == Verb::allgatherv ? 0 : count, total, counts_hash, region})
        hash = mix(hash, value);
    return hash;
}

std::string Call::describe_common() const {
    return std::string(name_of(verb)).append("(").append(arguments_of(*this)).append(")");
}

std::string Call::describe() const {
    if (verb != Verb::allgatherv || !list.empty() || count == unknown) return describe_common();
    return std::string(name_of(verb)) + "(" + elements(total, dtype) + ", own part " + std::to_string(count) + ")";
}

}  // namespace cobre::comm
