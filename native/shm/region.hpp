// Memory that all ranks of a communicator have mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shm/resource.hpp"

namespace cobre::shm {

struct Region {
    std::uint64_t id = 0;
    std::shared_ptr<Mapping> memory;  // views share it, so it goes with the last of them
};

// A hash that is never 0, for places: two of them are compared, and 0 means private memory.
inline std::uint64_t mix_place(std::uint64_t place, std::uint64_t value) noexcept {
    place = (place + 0x9E3779B97F4A7C15ULL) * 0xFF51AFD7ED558CCDULL;
    place ^= (place >> 29) ^ value;
    place *= 0xC4CEB9FE1A85EC53ULL;
    return (place ^ (place >> 32)) | 1U;
}

// Which of a communicator's regions holds a buffer. Regions are few and made at the start.
class RegionTable {
public:
    void add(const Region& region);

    // A number that is equal on two ranks exactly when their buffers are the same bytes of the same region;
    // 0 for private memory. A mapping that is gone does not count: its addresses may belong to another mapping by
    // now.
    std::uint64_t place_of(const std::byte* data, std::size_t bytes) const noexcept {
        if (entries_.empty()) [[likely]]
            return 0;
        return search(data, bytes);
    }

private:
    struct Entry {
        std::uint64_t id;
        const std::byte* begin;
        std::size_t bytes;
        std::weak_ptr<Mapping> memory;
    };

    std::uint64_t search(const std::byte* data, std::size_t bytes) const noexcept;

    std::vector<Entry> entries_;
};

}  // namespace cobre::shm
