// The communicator of one rank: identity copies for allgatherv and allreduce, nothing to do for
// broadcast and barrier, and every check that the other backends make.
#pragma once

#include "comm/arguments.hpp"
#include "comm/lifetime.hpp"
#include "comm/statistics.hpp"
#include "comm/trace.hpp"

namespace cobre::comm {

class LocalCommunicator {
public:
    static constexpr Group group{0, 1};

    // Callers serialise these; `Lifetime` alone may be asked from any thread.
    void allgatherv(const Buffer& send, const Buffer& recv, const Layout& layout);
    void allreduce(const Buffer& send, const Buffer& recv);
    void broadcast(const Buffer& buf) noexcept;
    void barrier() noexcept;

    Lifetime& lifetime() noexcept { return lifetime_; }
    const Statistics& statistics() const noexcept { return statistics_; }

private:
    void copy(Operation operation, const Buffer& from, std::byte* to) noexcept;

    Lifetime lifetime_;
    Statistics statistics_;
    Track track_{group, "local"};
};

}  // namespace cobre::comm
