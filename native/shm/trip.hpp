// The way of one call through the rings or past them: see paths.hpp.
#pragma once

#include <cstdint>

#include "shm/paths.hpp"
#include "shm/team.hpp"

namespace cobre::shm {

// The path of one call, and the time it takes there; nothing where there is no choice.
class Trip {
public:
    Trip(Paths& paths, Paths::Pattern pattern, std::uint64_t bytes, bool may_read) noexcept
        : choice_(bytes > has_choice_above ? &paths.of(pattern, bytes) : nullptr),
          may_read_(may_read),
          period_(period_for(bytes)) {
        if (choice_ == nullptr) return;
        path_ = choice_->path();
        is_timed_ = bytes > watched_above || choice_->is_looking(period_);
        if (is_timed_) begin_ = Paths::Clock::now();
    }
    Path path() const noexcept { return path_; }
    bool is_around_cache() const noexcept { return path_ == Path::rings_around_cache; }
    Path next() const noexcept { return choice_ == nullptr ? Path::rings : choice_->next(may_read_, period_); }

    // Between these two this rank waits for others, which says nothing about the path.
    void pause() noexcept {
        if (is_timed_) before_ = Paths::Clock::now() - begin_;
    }
    void go_on(const Team& team, int leader) noexcept {
        if (choice_ == nullptr) return;
        if ((team.flags(leader) & PackedCall::is_inline) == 0) choice_->follow(team.offer(leader).next);
        if (is_timed_) begin_ = Paths::Clock::now();
    }
    void arrive() noexcept {
        if (choice_ == nullptr) return;
        choice_->note(path_,
                      is_timed_ ? before_ + (Paths::Clock::now() - begin_) : Paths::Clock::duration::zero());
    }

private:
    // Up to this, one copy is as good as any other.
    static constexpr std::uint64_t has_choice_above = 2048;

    // Up to this, looking at the clock in every call would cost more than it could save.
    static constexpr std::uint64_t watched_above = 32 * 1024;

    // In so many calls, one tries another path. Where they are far apart it takes several times as long.
    static std::uint32_t period_for(std::uint64_t bytes) noexcept {
        if (bytes <= watched_above) return 256;
        return bytes < (1U << 20) ? 64 : 32;
    }

    Paths::Choice* choice_;
    bool may_read_;
    std::uint32_t period_;
    bool is_timed_ = false;
    Path path_ = Path::rings;
    Paths::Clock::time_point begin_;
    Paths::Clock::duration before_ = {};
};

}  // namespace cobre::shm
