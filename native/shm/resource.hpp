// Mapped memory.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "comm/descriptor.hpp"

namespace cobre::shm {

// Memory that other processes may have mapped, too. Gone with this object; the descriptor is not needed for it.
class Mapping {
public:
    // Maps the whole file, readable and writable. Empty with errno set when the kernel refuses.
    Mapping(const comm::Descriptor& file, std::size_t bytes) noexcept;
    // Zero-filled memory of this process and the threads in it, for a group of one and for tests.
    explicit Mapping(std::size_t bytes) noexcept;
    Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~Mapping();

    std::byte* data() const noexcept { return memory_.data(); }
    std::size_t size() const noexcept { return memory_.size(); }
    explicit operator bool() const noexcept { return memory_.data() != nullptr; }
    bool contains(const std::byte* address, std::size_t bytes) const noexcept {
        return address >= data() && address + bytes <= data() + size();
    }

private:
    Mapping(int fd, int flags, std::size_t bytes) noexcept;

    std::span<std::byte> memory_;
};

}  // namespace cobre::shm
