// Broadcasts that this rank has given, and left before the other side had said that it makes the same call.
#pragma once

#include <array>
#include <cstddef>

#include "tcp/wire.hpp"
#include "tcp/wire_call.hpp"

namespace cobre::tcp {

class Unconfirmed {
public:
    // How far a root may be ahead of a rank. A root that waits makes the others wait for it in turn, so more is
    // faster; but a disagreement is found that much later, and so much lies unread in the other side's machine.
    static constexpr std::size_t most_calls = 32;
    static constexpr std::size_t most_bytes = 4 * always_fits;

    // There is place for one more than may be ahead: the call that waits until it may.
    void add(const WireCall& call) noexcept {
        calls_[(first_ + count_) % calls_.size()] = call;
        ++count_;
        bytes_ += call.bytes();
    }
    void drop_oldest() noexcept {
        bytes_ -= oldest().bytes();
        first_ = (first_ + 1) % calls_.size();
        --count_;
    }
    const WireCall& oldest() const noexcept { return calls_[first_]; }
    std::size_t calls() const noexcept { return count_; }
    bool is_empty() const noexcept { return count_ == 0; }
    bool is_within_bounds() const noexcept { return count_ <= most_calls && bytes_ <= most_bytes; }
    std::size_t bytes() const noexcept { return bytes_; }
    // Whether the step with this number is among them, or comes after them.
    bool may_include(std::uint32_t sequence) const noexcept {
        return count_ > 0 && !is_before(sequence, oldest().sequence);
    }

private:
    std::array<WireCall, most_calls + 1> calls_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace cobre::tcp
