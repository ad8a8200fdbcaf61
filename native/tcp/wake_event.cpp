#include "tcp/wake_event.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace cobre::tcp {

void WakeEvent::open() {
    event_ = comm::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void WakeEvent::signal() const noexcept {
    const std::uint64_t one = 1;
    // It fails only when the counter is full, and then the event is readable already.
    static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

void WakeEvent::clear() const noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!::read(event_.get(), &count, sizeof count));
}

}  // namespace cobre::tcp
