// A descriptor that becomes readable once `signal()` was called: wakes every thread that polls it.
#pragma once

#include "comm/descriptor.hpp"

namespace cobre::tcp {

class WakeEvent {
public:
    // Throws std::system_error when the kernel refuses. Before this, signalling does nothing.
    void open();
    int get() const noexcept { return event_.get(); }
    void signal() const noexcept;
    // Makes it unreadable again.
    void clear() const noexcept;
    void close() noexcept { event_.reset(); }

private:
    comm::Descriptor event_;
};

}  // namespace cobre::tcp
