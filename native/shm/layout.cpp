#include "shm/layout.hpp"

#include <memory>

namespace cobre::shm {

namespace {

constexpr std::uint64_t page = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t entries_offset = round_up(sizeof(Header), page);

std::uint64_t consumed_offset(std::uint64_t size) noexcept {
    return round_up(entries_offset + size * sizeof(RankEntry), page);
}

std::uint64_t rings_offset(std::uint64_t size) noexcept {
    return round_up(consumed_offset(size) + size * size * sizeof(Flag), page);
}

}  // namespace

std::uint64_t Layout::bytes_for(std::uint64_t size, const Limits& limits) noexcept {
    return round_up(rings_offset(size) + size * limits.ring_bytes, page);
}

void Layout::initialise(std::byte* memory, std::uint64_t size, const Limits& limits, std::uint64_t nonce) {
    auto* header = std::construct_at(reinterpret_cast<Header*>(memory));
    auto* records = reinterpret_cast<RankEntry*>(memory + entries_offset);
    for (std::uint64_t r = 0; r < size; ++r) std::construct_at(records + r);
    auto* consumed = reinterpret_cast<Flag*>(memory + consumed_offset(size));
    for (std::uint64_t i = 0; i < size * size; ++i) std::construct_at(consumed + i);
    header->version = version;
    header->record_bytes = sizeof(RankEntry);
    header->size = size;
    header->total_bytes = bytes_for(size, limits);
    header->nonce = nonce;
    header->limits = limits;
    header->creator = comm::own_identity();
    header->magic = magic;
}

Layout::Layout(std::byte* memory) noexcept : header_(reinterpret_cast<Header*>(memory)) {
    const std::uint64_t size = header_->size;
    entries_ = {reinterpret_cast<RankEntry*>(memory + entries_offset), size};
    consumed_ = reinterpret_cast<Flag*>(memory + consumed_offset(size));
    rings_ = memory + rings_offset(size);
    ring_bytes_ = header_->limits.ring_bytes;
}

}  // namespace cobre::shm
