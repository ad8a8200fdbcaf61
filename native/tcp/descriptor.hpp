// Owner of a descriptor that a forked child must not keep: it would make a dead rank look alive.
#pragma once

#include <cstdint>
#include <utility>

namespace cobre::tcp {

class Descriptor {
public:
    Descriptor() noexcept = default;
    // Takes over `fd`; from here on every forked child closes it at birth.
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
    std::uint64_t born_ = 0;  // in a forked child the number may be somebody else's file by now
};

// A descriptor that becomes readable for good once `ring()` was called: wakes whoever sleeps on it, in any thread.
class Bell {
public:
    // Throws std::system_error when the kernel refuses. Before this it is silent, and ringing it does nothing.
    void open();
    int get() const noexcept { return event_.get(); }
    void ring() const noexcept;
    // Makes it silent again.
    void hush() const noexcept;
    void close() noexcept { event_.reset(); }

private:
    Descriptor event_;
};

}  // namespace cobre::tcp
