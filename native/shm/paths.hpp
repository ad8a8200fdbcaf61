// Which way do large payloads go? Through the rings with ordinary stores while the cores share a cache, through
// the rings with stores that go around it while they do not, or straight from the other's memory: which is fastest
// depends on the size and on where the kernel has put the ranks, and changes while they run. So all are tried now
// and then.
//
// One rank leads: its slot says which path the next call of that size takes, and all follow, so that no two ever
// take different ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cobre::shm {

enum class Path : std::uint8_t { rings, rings_around_cache, direct };

class Paths {
public:
    using Clock = std::chrono::steady_clock;
    enum class Pattern : std::uint8_t { gather, broadcast, reduce };

    // What is known about payloads of one size, to within a factor of two.
    class Choice {
    public:
        // Of the call that begins now: what the leader said in the call before.
        Path path() const noexcept { return agreed_; }
        void follow(Path path) noexcept { agreed_ = path; }

        // What this rank, leading, says in the call that runs now, of which it does not know the time yet: at
        // first all paths in turn, later the fastest, and now and then one of the others.
        Path next(bool may_read, std::uint32_t period) const noexcept {
            const std::uint32_t number = may_read ? 3 : 2;
            const std::uint32_t call = calls_ + 1;
            if (call < tries * number) return static_cast<Path>(call % number);
            const std::uint32_t best = fastest(number);
            if (call % period != 0) return static_cast<Path>(best);
            return static_cast<Path>((best + 1 + call / period % (number - 1)) % number);
        }
        // Whether the time of the call that begins now is wanted.
        bool is_looking(std::uint32_t period) const noexcept {
            return calls_ < first_calls || (calls_ + 4) % period < 5;
        }

        // The call is over and took so long, not counting the wait for others to begin it; zero if it was not
        // measured.
        void note(Path path, Clock::duration time) noexcept {
            if (time != Clock::duration::zero()) learn(path, time);
            ++calls_;
        }

    private:
        static constexpr std::uint32_t tries = 3;
        static constexpr std::uint32_t first_calls = 3 * tries + 1;

        std::uint32_t fastest(std::uint32_t number) const noexcept {
            return static_cast<std::uint32_t>(std::min_element(usual_.begin(), usual_.begin() + number) -
                                              usual_.begin());
        }

        // A rank is often held up and never sped up, so what the taken path usually takes follows a shorter time
        // at once and a longer one slowly. Another that is tried counts as it came: if it was lucky it is taken
        // until its times say otherwise.
        void learn(Path path, Clock::duration time) noexcept {
            const bool is_taken = fastest(3) == static_cast<std::uint32_t>(path);
            Clock::duration& usual = usual_[static_cast<std::size_t>(path)];
            if (calls_ < first_calls || time < usual) usual = std::min(usual, time);
            else if (is_taken) usual += (std::min(time, 2 * usual) - usual) / 16;
            else usual = time;
        }

        std::uint32_t calls_ = 0;
        Path agreed_ = Path::rings;
        std::array<Clock::duration, 3> usual_ = {Clock::duration::max(), Clock::duration::max(),
                                                 Clock::duration::max()};
    };

    Choice& of(Pattern pattern, std::uint64_t bytes) noexcept {
        return choices_[static_cast<std::size_t>(pattern)][static_cast<std::size_t>(std::bit_width(bytes))];
    }

private:
    std::array<std::array<Choice, 65>, 3> choices_;
};

}  // namespace cobre::shm
