#include "comm/descriptor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "comm/lifetime.hpp"

namespace cobre::comm {

namespace {

// One bit per descriptor number: a fork handler may take no lock and allocate nothing. Numbers beyond are not
// tracked; a process with so many open files that also forks loses the prompt notice of a death, nothing else.
class OpenNumbers {
public:
    // Relaxed: a fork copies memory as the forking thread sees it; the bits guard no other data.
    void add(int fd) noexcept {
        if (fits(fd)) words_[word(fd)].fetch_or(bit(fd), std::memory_order_relaxed);
    }
    void remove(int fd) noexcept {
        if (fits(fd)) words_[word(fd)].fetch_and(~bit(fd), std::memory_order_relaxed);
    }
    void close_all() noexcept {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            const std::uint64_t open = words_[i].exchange(0, std::memory_order_relaxed);
            for (std::size_t b = 0; b < 64; ++b)
                if ((open >> b & 1U) != 0) ::close(static_cast<int>(64 * i + b));
        }
    }

private:
    static std::size_t word(int fd) noexcept { return static_cast<std::size_t>(fd) / 64; }
    static std::uint64_t bit(int fd) noexcept { return std::uint64_t{1} << (static_cast<unsigned>(fd) % 64); }
    bool fits(int fd) const noexcept { return fd >= 0 && word(fd) < words_.size(); }

    std::array<std::atomic<std::uint64_t>, 1024> words_ = {};
};

// Process-wide by nature, as descriptors are.
OpenNumbers& open_numbers() noexcept {
    static OpenNumbers numbers;
    return numbers;
}

extern "C" void close_inherited_descriptors() { open_numbers().close_all(); }

}  // namespace

Descriptor::Descriptor(int fd) noexcept : fd_(fd), born_(fork_generation()) {
    // pthread_atfork sees forks by C libraries, too, which os.register_at_fork does not.
    static const int registered = pthread_atfork(nullptr, nullptr, close_inherited_descriptors);
    static_cast<void>(registered);
    open_numbers().add(fd);
}

void Descriptor::reset() noexcept {
    const int fd = std::exchange(fd_, -1);
    if (fd < 0 || born_ != fork_generation()) return;
    open_numbers().remove(fd);
    ::close(fd);
}

}  // namespace cobre::comm
