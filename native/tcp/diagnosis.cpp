// Which rank is the cause when a step cannot go on: what each rank called, which are missing, which are awaited.
#include <poll.h>

#include <algorithm>

#include "tcp/exchange.hpp"
#include "tcp/texts.hpp"

namespace cobre::tcp {

namespace {

// What is on its way, or in the kernel's buffers, when a question comes up has arrived by then.
constexpr std::chrono::milliseconds answer_time{100};

}  // namespace

// Reads what has arrived until the call of the other rank is known, in the step in which this one calls `mine`.
bool Exchange::may_still_call(Link& link, const WireCall& mine) {
    while (link.inbox().counterpart(mine) == nullptr) {
        const News news = link.interpret();
        if (news == News::call) break;
        if (news != News::none) return false;
        const Link::Outcome outcome = link.receive(limits_.piece_bytes);
        if (outcome != Link::Outcome::moved) return outcome == Link::Outcome::blocked;
    }
    return false;
}

// Waits a moment for the calls of all ranks, for a complete report; later ranks still get it.
void Exchange::collect_remaining_calls(const WireCall& mine) {
    std::vector<Link*> silent;
    for (const auto& link : links_)
        if (!link->is_lost()) silent.push_back(link.get());
    const Clock::time_point until = Clock::now() + answer_time;
    for (;;) {
        std::erase_if(silent, [&](Link* link) { return !may_still_call(*link, mine); });
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        if (silent.empty() || left <= 0) return;
        std::vector<pollfd> polled;
        for (const Link* link : silent) polled.push_back({link->fd(), POLLIN, 0});
        ::poll(polled.data(), polled.size(), static_cast<int>(left));
    }
}

void Exchange::disagree(const WireCall& mine) {
    collect_remaining_calls(mine);
    struct Side {
        const WireCall* call;  // none: not received yet
        std::vector<int> ranks;
    };
    std::vector<Side> sides;
    const auto add = [&](int rank, const WireCall* call) {
        const auto side = std::find_if(sides.begin(), sides.end(), [&](const Side& other) {
            return call == nullptr || other.call == nullptr ? call == other.call : call->agrees_with(*other.call);
        });
        if (side == sides.end()) sides.push_back({call, {rank}});
        else side->ranks.push_back(rank);
    };
    // Rank 0 first, on every rank: the ranks of a pair both get here, and must say the same.
    if (group_.rank == 0) add(0, &mine);
    for (const auto& link : links_) add(link->rank(), link->inbox().counterpart(mine));
    if (group_.rank != 0) add(group_.rank, &mine);
    std::string said = "the ranks disagree: ";
    bool differs = false;
    for (const Side& side : sides) {
        if (&side != &sides.front()) said += "; ";
        said += names_of(side.ranks);
        if (side.call == nullptr) said += side.ranks.size() == 1 ? " has not called yet" : " have not called yet";
        else said += " called " + (side.ranks.size() == 1 ? side.call->describe() : side.call->describe_common());
        differs |= side.call != nullptr && side.call->describe_common() != mine.describe_common();
    }
    if (!differs) said += "; they differ in their lists of counts, in the fields of their records, or in the step";
    throw Broken{
        {said, "let every rank make the same calls in the same order, with one dtype, size, root and operation"}};
}

// Who has given all that this step needs, but not taken what it is to get.
std::string Exchange::slow_takers() const {
    std::vector<int> ranks;
    for (const auto& link : links_)
        if (!is_served(*link)) ranks.push_back(link->rank());
    return names_of(ranks);
}

Exchange::OverdueNotice Exchange::notice_of(Link& link) const {
    OverdueNotice notice{&link, Clock::now(), may_send_, link.outflow().sent(), {}};
    for (const auto& each : links_) notice.received.push_back(each->inbox().flow().received());
    return notice;
}

void Exchange::note_overdue(Link& link) {
    std::erase_if(notices_, [&](const OverdueNotice& notice) { return notice.from == &link; });
    notices_.push_back(notice_of(link));
}

// It was written before rank 0 came to this step, or before something else went on.
bool Exchange::is_answered(const OverdueNotice& notice) const noexcept {
    if (notice.could_send != may_send_ || notice.sent != notice.from->outflow().sent()) return true;
    for (std::size_t i = 0; i < links_.size(); ++i)
        if (links_[i].get() == notice.from)
            return is_served(*links_[i]) || notice.received[i] != links_[i]->inbox().flow().received();
    return true;
}

// Ranks that have not called; if all have, those of whose data nothing has come since, though there is room for
// it.
std::string Exchange::culprits(const OverdueNotice& notice) {
    std::vector<int> silent;
    std::vector<int> stuck;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = *links_[i];
        if (&link == notice.from || !is_awaited(link)) continue;
        if (!link.inbox().has_call()) silent.push_back(link.rank());
        else if (notice.received[i] == link.inbox().flow().received() && link.wants_to_receive())
            stuck.push_back(link.rank());
    }
    return silent.empty() ? names_of(stuck, " (in the middle of its data)")
                          : names_of(silent, " (has not called)");
}

// A worker that waited too long for rank 0 cannot see which rank keeps rank 0 waiting. If rank 0 was late itself,
// the worker gets its data now. So rank 0 names a rank only after the worker has got nothing for a while.
void Exchange::check_overdue_notices() {
    std::erase_if(notices_, [this](const OverdueNotice& notice) { return is_answered(notice); });
    for (OverdueNotice& notice : notices_) {
        if (Clock::now() - notice.since < answer_time) continue;
        const Link& link = *notice.from;
        if (const std::string awaited = culprits(notice); !awaited.empty())
            throw Broken{{"after its timeout rank " + std::to_string(link.rank()) + " still waits in " +
                              link.inbox().call().describe() + " for " + awaited,
                          more_time}};
        notice = notice_of(*notice.from);
    }
}

// The ranks that this rank waits for. Of those that have called only the ones for whose data there is room:
// without room, this rank waits for another one.
std::string Exchange::missing() {
    std::vector<int> silent;
    std::vector<int> sending;
    for (const auto& link : links_) {
        if (!is_awaited(*link)) continue;
        if (!link->inbox().has_call()) silent.push_back(link->rank());
        else if (link->wants_to_receive()) sending.push_back(link->rank());
    }
    if (group_.rank != 0) return names_of(silent.empty() ? sending : silent);
    const std::string list = names_of(silent, " (has not called)");
    const std::string rest = names_of(sending, " (in the middle of its data)");
    return list + (list.empty() || rest.empty() ? "" : ", ") + rest;
}

}  // namespace cobre::tcp
