#include "shm/call.hpp"

#include <array>
#include <bit>

namespace cobre::shm {

namespace {

// verb 4 | reduction 2 | kind 3 | swapped 1 | log2 of the item size 3 | root 16
constexpr int op_shift = 4;
constexpr int kind_shift = 6;
constexpr int swapped_shift = 9;
constexpr int item_shift = 10;
constexpr int root_shift = 13;

constexpr std::array<const char*, 8> names = {
    "barrier", "allgatherv", "allreduce", "broadcast", "create_shared_region", "fence", "split_local", "attach"};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
    hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
    hash *= 0xFF51AFD7ED558CCDULL;
    return hash ^ (hash >> 32);
}

const char* reduction(std::uint32_t bits) noexcept {
    constexpr std::array<const char*, 4> reductions = {"sum", "min", "max", "?"};
    return reductions[(bits >> op_shift) & 3U];
}

std::string times(const std::string& count, const comm::DType& dtype) { return count + " x " + name_of(dtype); }

std::string sentence(std::uint32_t bits, const std::string& what) {
    const auto verb = static_cast<Verb>(bits & 15U);
    std::string text = name_of(verb) + std::string("(");
    if (verb == Verb::allreduce) text += reduction(bits) + std::string(", ");
    text += what;
    if (verb == Verb::broadcast) text += ", root " + std::to_string((bits >> root_shift) & 0xFFFFU);
    return text + ")";
}

}  // namespace

const char* name_of(Verb verb) noexcept { return names[static_cast<std::size_t>(verb) & 7U]; }

void Call::set_dtype(const comm::DType& dtype) noexcept {
    dtype_ = dtype;
    bits_ |= static_cast<std::uint32_t>(dtype.kind) << kind_shift;
    bits_ |= static_cast<std::uint32_t>(dtype.swapped) << swapped_shift;
    if (dtype.kind != comm::Kind::record)
        bits_ |= (static_cast<std::uint32_t>(std::bit_width(dtype.itemsize) - 1) & 7U) << item_shift;
}

// Plain types: the count itself, so that the words alone tell it. Records need their layout in it as well.
void Call::set_count(const comm::DType& dtype, std::uint64_t count) noexcept {
    count_ = count;
    detail_ = count;
    if (dtype.kind == comm::Kind::record) detail_ = mixed(mixed(mixed(1, count), dtype.itemsize), dtype.layout);
}

Call Call::fence(std::uint64_t region) noexcept {
    Call call(Verb::fence);
    call.detail_ = region;
    return call;
}

Call Call::create_region(std::uint64_t count, const comm::DType& dtype) noexcept {
    Call call(Verb::create_region);
    call.set_dtype(dtype);
    call.set_count(dtype, count);
    return call;
}

Call Call::allreduce(const comm::Buffer& send, comm::ReduceOp op) noexcept {
    Call call(Verb::allreduce);
    call.bits_ |= static_cast<std::uint32_t>(op) << op_shift;
    call.set_dtype(send.dtype);
    call.set_count(send.dtype, static_cast<std::uint64_t>(send.count));
    return call;
}

Call Call::broadcast(const comm::Buffer& buf, int root) noexcept {
    Call call(Verb::broadcast);
    call.bits_ |= (static_cast<std::uint32_t>(root) & 0xFFFFU) << root_shift;
    call.set_dtype(buf.dtype);
    call.set_count(buf.dtype, static_cast<std::uint64_t>(buf.count));
    return call;
}

Call Call::allgatherv(const comm::Buffer& send, std::span<const std::int64_t> counts) noexcept {
    Call call(Verb::allgatherv);
    call.set_dtype(send.dtype);
    call.counts_ = counts;
    std::uint64_t hash = mixed(send.dtype.itemsize, send.dtype.layout);
    for (const std::int64_t count : counts) hash = mixed(hash, static_cast<std::uint64_t>(count));
    call.detail_ = hash;
    return call;
}

std::string Call::describe() const {
    if (verb_ == Verb::barrier || verb_ == Verb::attach || verb_ == Verb::split_local) return sentence(bits_, "");
    if (verb_ == Verb::fence) return describe(bits_, detail_);
    if (verb_ != Verb::allgatherv) return sentence(bits_, times(std::to_string(count_), dtype_));
    constexpr std::size_t shown = 12;
    std::string list;
    for (std::size_t r = 0; r < counts_.size() && r < shown; ++r)
        list += (r == 0 ? "" : ", ") + std::to_string(counts_[r]);
    if (counts_.size() > shown) list += ", …";
    return sentence(bits_, "counts [" + list + "], " + name_of(dtype_));
}

std::string Call::describe(std::uint32_t bits, std::uint64_t detail) {
    const auto verb = static_cast<Verb>(bits & 15U);
    if (verb == Verb::barrier || verb == Verb::attach || verb == Verb::split_local) return sentence(bits, "");
    if (verb == Verb::fence) return sentence(bits, "region " + std::to_string(detail));
    comm::DType dtype;
    dtype.kind = static_cast<comm::Kind>((bits >> kind_shift) & 7U);
    dtype.swapped = ((bits >> swapped_shift) & 1U) != 0;
    dtype.itemsize = 1U << ((bits >> item_shift) & 7U);
    if (dtype.kind == comm::Kind::record) return sentence(bits, "records");
    if (verb == Verb::allgatherv) return sentence(bits, name_of(dtype));
    return sentence(bits, times(std::to_string(detail), dtype));
}

}  // namespace cobre::shm
