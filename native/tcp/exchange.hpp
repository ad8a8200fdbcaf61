// One step of the star: every connection sends and receives at once, in pieces, in whatever order the others come.
//
// Rank 0 runs it over a connection to each other rank, the others over their one connection to rank 0.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/arguments.hpp"
#include "comm/caller.hpp"
#include "comm/lifetime.hpp"
#include "tcp/link.hpp"
#include "tcp/wake_event.hpp"

namespace cobre::tcp {

using Links = std::vector<std::unique_ptr<Link>>;

struct Limits {
    std::size_t piece_bytes = 1024 * 1024;  // of payload in one frame
    std::size_t window_bytes = 512 * 1024;  // of one rank's numbers that wait to be folded
    int keepalive_s = 10;                   // of silence before the kernel asks for a sign of life
};

// Looks at silent sockets before sleeping: so many in a row, then with the processor offered to others in between.
struct WaitPolicy {
    int looks = 0;
    int looks_with_yield = 0;

    static WaitPolicy for_ranks(int local_ranks, int usable_cpus) noexcept;
};

// Why the group cannot go on.
struct Broken {
    comm::Failure failure;
    bool is_known_to_others = false;  // it came from another rank
};

constexpr const char* more_time =
    "see what keeps it, or allow more time: COBRE_TCP_TIMEOUT_SECS or TcpConfig(timeout=…)";

// This rank's own part on its way into the result, moved while there is nothing to send or receive.
class OwnPart {
public:
    OwnPart() = default;
    OwnPart(const std::byte* from, std::byte* to, std::size_t bytes) noexcept
        : from_(from), to_(to), left_(from == to ? 0 : bytes), is_large_(bytes >= larger_than_caches) {}
    bool is_placed() const noexcept { return left_ == 0; }
    void place(std::size_t most) noexcept;

private:
    static constexpr std::size_t larger_than_caches = 4 * 1024 * 1024;

    const std::byte* from_ = nullptr;
    std::byte* to_ = nullptr;
    std::size_t left_ = 0;
    bool is_large_ = false;
};

// Folds what all ranks have sent so far, in rank order, out of the rings of their connections.
class Folding {
public:
    Folding(comm::Group group, std::span<const std::unique_ptr<Link>> links, const comm::Buffer& send,
            std::byte* out, comm::ReduceOp op);
    // Whether there was something to fold.
    bool advance();
    bool is_complete() const noexcept { return folded_ == bytes_; }
    const std::size_t* progress() const noexcept { return &folded_; }

private:
    comm::Group group_;
    std::span<const std::unique_ptr<Link>> links_;
    comm::Buffer send_;
    std::byte* out_;
    comm::ReduceOp op_;
    std::size_t bytes_;
    std::size_t folded_ = 0;
    std::vector<const std::byte*> rows_;
};

class Exchange {
public:
    Exchange(comm::Group group, double timeout_s, Limits limits, const comm::Lifetime& lifetime,
             const WakeEvent& closing)
        : group_(group), timeout_s_(timeout_s), limits_(limits), lifetime_(lifetime), closing_(closing) {}

    void adopt(Links links, WaitPolicy policy);
    Links& links() noexcept { return links_; }

    // Runs the step that all links have begun. Throws `Broken` or `Interrupted`.
    void run(const WireCall& call, OwnPart own, Folding* folding, comm::Caller& caller);
    // Of the last step: seconds without anything to do.
    double waited_s() const noexcept { return waited_s_; }

private:
    using Clock = std::chrono::steady_clock;

    // A worker whose timeout has run out, and how far everybody had come when rank 0 heard of it.
    struct OverdueNotice {
        Link* from;
        Clock::time_point since;
        bool could_send;
        std::size_t sent;                   // to the one who complains
        std::vector<std::size_t> received;  // from each
    };

    bool may_begin_to_send() const noexcept;
    bool serve(Link& link);
    bool is_to_be_read(const Link& link) const noexcept;
    bool take(Link& link);
    void act_on(Link& link, News news);
    void invite_all();
    void lost(Link& link, bool has_said_goodbye);
    bool is_awaited(const Link& link) const noexcept;
    bool is_owed(const Link& link) const noexcept;
    bool is_served(const Link& link) const noexcept;
    bool is_heard_out(const Link& link) const noexcept;
    bool is_complete(const Folding* folding) const noexcept;
    void wait(comm::Caller& caller);
    void sleep();
    void check_stop_requests_if_due(comm::Caller& caller);
    void check_stop_requests(comm::Caller& caller);
    void check_progress(comm::Caller& caller);

    // Which rank caused a failure: diagnosis.cpp.
    bool may_still_call(Link& link, const WireCall& mine);
    void collect_remaining_calls(const WireCall& mine);
    [[noreturn]] void disagree(const WireCall& mine);
    OverdueNotice notice_of(Link& link) const;
    void note_overdue(Link& link);
    bool is_answered(const OverdueNotice& notice) const noexcept;
    std::string culprits(const OverdueNotice& notice);
    void check_overdue_notices();
    std::string missing();
    std::string slow_takers() const;
    std::string me() const { return "rank " + std::to_string(group_.rank); }

    comm::Group group_;
    double timeout_s_;
    Limits limits_;
    const comm::Lifetime& lifetime_;
    const WakeEvent& closing_;
    Links links_;
    std::vector<pollfd> polled_;
    WaitPolicy policy_;

    const WireCall* call_ = nullptr;
    bool may_send_ = false;
    bool needs_taker_ = false;
    std::size_t calls_due_ = 0;  // before this rank sends
    std::size_t calls_heard_ = 0;
    std::vector<OverdueNotice> notices_;
    int looks_ = 0;
    int moves_ = 0;
    bool is_counting_ = false;
    bool is_in_grace_ = false;
    bool is_waiting_ = false;
    Clock::time_point counting_since_;
    Clock::time_point waiting_since_;
    Clock::time_point checked_at_;
    double waited_s_ = 0.0;
};

}  // namespace cobre::tcp
