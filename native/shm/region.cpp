#include "shm/region.hpp"

#include <algorithm>

namespace cobre::shm {

void RegionTable::add(const Region& region) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.memory.expired(); });
    entries_.push_back({region.id, region.memory->data(), region.memory->size(), region.memory});
}

std::uint64_t RegionTable::search(const std::byte* data, std::size_t bytes) const noexcept {
    for (const Entry& entry : entries_) {
        if (data < entry.begin || data + bytes > entry.begin + entry.bytes || entry.memory.expired()) continue;
        return mix_place(entry.id, static_cast<std::uint64_t>(data - entry.begin));
    }
    return 0;
}

}  // namespace cobre::shm
