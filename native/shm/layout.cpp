#include "shm/layout.hpp"

#include <memory>

namespace cobre::shm {

namespace {

constexpr std::uint64_t page = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t records_offset = round_up(sizeof(Header), page);

std::uint64_t consumed_offset(std::uint64_t size) noexcept {
    return round_up(records_offset + size * sizeof(RankRecord), page);
}

std::uint64_t chunks_offset(std::uint64_t size) noexcept {
    return round_up(consumed_offset(size) + size * size * sizeof(Flag), page);
}

// Chunks begin on a cache line, so that vector copies are aligned and no line belongs to two chunks.
std::uint64_t stride_of(const Limits& limits) noexcept { return round_up(limits.chunk_bytes, cache_line); }

}  // namespace

std::uint64_t Layout::bytes_for(std::uint64_t size, const Limits& limits) noexcept {
    return round_up(chunks_offset(size) + size * limits.ring_chunks * stride_of(limits), page);
}

void Layout::initialise(std::byte* memory, std::uint64_t size, const Limits& limits, std::uint64_t nonce) {
    auto* header = std::construct_at(reinterpret_cast<Header*>(memory));
    auto* records = reinterpret_cast<RankRecord*>(memory + records_offset);
    for (std::uint64_t r = 0; r < size; ++r) std::construct_at(records + r);
    auto* consumed = reinterpret_cast<Flag*>(memory + consumed_offset(size));
    for (std::uint64_t i = 0; i < size * size; ++i) std::construct_at(consumed + i);
    header->version = version;
    header->record_bytes = sizeof(RankRecord);
    header->size = size;
    header->total_bytes = bytes_for(size, limits);
    header->nonce = nonce;
    header->limits = limits;
    header->creator = own_identity();
    header->magic = magic;
}

Layout::Layout(std::byte* memory) noexcept : header_(reinterpret_cast<Header*>(memory)) {
    const std::uint64_t size = header_->size;
    records_ = {reinterpret_cast<RankRecord*>(memory + records_offset), size};
    consumed_ = reinterpret_cast<Flag*>(memory + consumed_offset(size));
    chunks_ = memory + chunks_offset(size);
    ring_ = header_->limits.ring_chunks;
    stride_ = stride_of(header_->limits);
}

}  // namespace cobre::shm
