// Through the rings or straight from the other's memory? Which is faster depends on the size and on where the
// kernel has put the ranks, and changes while they run: so both are tried now and then, and the ranks agree on the
// faster.
//
// Every rank counts the same calls, so all try the same path at the same time without a word. What a rank has
// found faster travels in its slot, and all follow one rank's finding from the next call of that size on.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cobre::shm {

enum class Path : std::uint8_t { rings, direct };

class Paths {
public:
    using Clock = std::chrono::steady_clock;
    enum class Pattern : std::uint8_t { gather, broadcast };

    // What is known about payloads of one size, to within a factor of two.
    class Choice {
    public:
        // Of the call that begins now.
        Path path() const noexcept { return is_trial() ? static_cast<Path>(calls_ % 2) : followed_; }
        // What this rank's slot says.
        Path found() const noexcept { return found_; }
        // What the slot of the rank that all follow says.
        void follow(Path path) noexcept { followed_ = path; }
        // The call is over and took so long, not counting the wait for others to begin it.
        void note(Clock::duration time) noexcept {
            if (is_trial()) {
                Clock::duration& best = best_[calls_ % 2];
                if (calls_ < 2 || time < best) best = time;
                found_ = best_[0] <= best_[1] ? Path::rings : Path::direct;
            }
            calls_ = (calls_ + 1) % period;
        }

    private:
        static constexpr std::uint32_t trials = 8;
        static constexpr std::uint32_t period = 512;

        bool is_trial() const noexcept { return calls_ < trials; }

        std::uint32_t calls_ = 0;
        Path found_ = Path::rings;
        Path followed_ = Path::rings;
        std::array<Clock::duration, 2> best_ = {Clock::duration::max(), Clock::duration::max()};
    };

    Choice& of(Pattern pattern, std::uint64_t bytes) noexcept {
        return choices_[static_cast<std::size_t>(pattern)][static_cast<std::size_t>(std::bit_width(bytes))];
    }

private:
    std::array<std::array<Choice, 65>, 2> choices_;
};

}  // namespace cobre::shm
