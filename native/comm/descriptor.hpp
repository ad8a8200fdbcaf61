// Owner of a descriptor. A forked child must not keep it: the child would make a dead rank look alive.
#pragma once

#include <cstdint>
#include <utility>

namespace cobre::comm {

class Descriptor {
public:
    Descriptor() noexcept = default;
    // Takes over `fd`; from here on every forked child closes it as its first act.
    explicit Descriptor(int fd) noexcept;
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), born_(other.born_) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(born_, other.born_);
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    void reset() noexcept;

private:
    int fd_ = -1;
    std::uint64_t born_ = 0;  // in a forked child the number may belong to another file
};

}  // namespace cobre::comm
