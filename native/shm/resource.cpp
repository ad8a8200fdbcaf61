#include "shm/resource.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace cobre::shm {

Mapping::Mapping(int fd, int flags, std::size_t bytes) noexcept {
    // Nothing to map is legal; a page keeps "mapped" and "refused" apart.
    bytes = std::max<std::size_t>(bytes, 1);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    if (memory != MAP_FAILED) memory_ = {static_cast<std::byte*>(memory), bytes};
}

Mapping::Mapping(const comm::Descriptor& file, std::size_t bytes) noexcept : Mapping(file.get(), 0, bytes) {}

Mapping::Mapping(std::size_t bytes) noexcept : Mapping(-1, MAP_ANONYMOUS, bytes) {}

Mapping::~Mapping() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

}  // namespace cobre::shm
