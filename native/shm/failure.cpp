#include "shm/failure.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace cobre::shm {

namespace {

template <std::size_t length>
void put(std::array<char, length>& target, const std::string& text) noexcept {
    const std::size_t used = std::min(text.size(), length - 1);
    std::memcpy(target.data(), text.data(), used);
    target[used] = '\0';
}

void pause_for_a_millisecond() noexcept {
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
}

}  // namespace

void record_failure(Header& header, std::uint64_t sequence, const comm::Failure& failure) noexcept {
    FailureNote& note = header.failure;
    std::uint32_t expected = FailureNote::none;
    // Relaxed: winning the race orders nothing; the words are published by the release below.
    if (note.state.compare_exchange_strong(expected, FailureNote::being_written, std::memory_order_relaxed)) {
        put(note.text, failure.text);
        put(note.fix, failure.fix);
        // Release pairs with the acquire in recorded_failure.
        note.state.store(FailureNote::complete, std::memory_order_release);
    }
    std::uint64_t known = note.sequence.load(std::memory_order_relaxed);
    // Release pairs with the acquire in has_failed.
    while (known > sequence && !note.sequence.compare_exchange_weak(known, sequence, std::memory_order_release,
                                                                    std::memory_order_relaxed)) {
    }
}

comm::Failure recorded_failure(const Header& header) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        // Acquire pairs with the release in record_failure.
        if (header.failure.state.load(std::memory_order_acquire) == FailureNote::complete)
            return {header.failure.text.data(), header.failure.fix.data()};
        pause_for_a_millisecond();
    }
    return {"another rank failed and died before it could say why", "see the output of the other ranks"};
}

}  // namespace cobre::shm
