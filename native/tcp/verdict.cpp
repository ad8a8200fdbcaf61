// Who is to blame when a step cannot go on: who called what, who is missing, whom the others wait for.
#include <poll.h>

#include <algorithm>

#include "tcp/exchange.hpp"
#include "tcp/words.hpp"

namespace cobre::tcp {

namespace {

// What is on its way, or in the kernel's buffers, when a question comes up has arrived by then.
constexpr std::chrono::milliseconds hearing_time{100};

}  // namespace

// Takes all that has come until its call is known.
bool Exchange::may_still_call(Link& link) {
    while (!link.inbox().has_call()) {
        const News news = link.interpret();
        if (news == News::call) break;
        if (news != News::none) return false;
        const Link::Outcome outcome = link.receive(limits_.piece_bytes);
        if (outcome != Link::Outcome::moved) return outcome == Link::Outcome::blocked;
    }
    return false;
}

// A report that knows everybody's call is worth a moment; those who come later learn of it all the same.
void Exchange::hear_the_rest() {
    std::vector<Link*> silent;
    for (const auto& link : links_)
        if (!link->is_lost()) silent.push_back(link.get());
    const Clock::time_point until = Clock::now() + hearing_time;
    for (;;) {
        std::erase_if(silent, [this](Link* link) { return !may_still_call(*link); });
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        if (silent.empty() || left <= 0) return;
        std::vector<pollfd> polled;
        for (const Link* link : silent) polled.push_back({link->fd(), POLLIN, 0});
        ::poll(polled.data(), polled.size(), static_cast<int>(left));
    }
}

void Exchange::disagree() {
    hear_the_rest();
    struct Side {
        const Call* call;  // none: not heard yet
        std::vector<int> ranks;
    };
    std::vector<Side> sides;
    const auto add = [&](int rank, const Call* call) {
        const auto side = std::find_if(sides.begin(), sides.end(), [&](const Side& other) {
            return call == nullptr || other.call == nullptr ? call == other.call : call->agrees_with(*other.call);
        });
        if (side == sides.end()) sides.push_back({call, {rank}});
        else side->ranks.push_back(rank);
    };
    // Rank 0 first, whoever speaks: the ranks of a pair both get here, and must say the same.
    if (group_.rank == 0) add(0, call_);
    for (const auto& link : links_) add(link->rank(), link->inbox().has_call() ? &link->inbox().call() : nullptr);
    if (group_.rank != 0) add(group_.rank, call_);
    std::string said = "the ranks disagree: ";
    bool differs = false;
    for (const Side& side : sides) {
        if (&side != &sides.front()) said += "; ";
        said += names_of(side.ranks);
        if (side.call == nullptr) said += side.ranks.size() == 1 ? " has not called yet" : " have not called yet";
        else said += " called " + (side.ranks.size() == 1 ? side.call->describe() : side.call->describe_common());
        differs |= side.call != nullptr && side.call->describe_common() != call_->describe_common();
    }
    if (!differs) said += "; they differ in their lists of counts, in the fields of their records, or in the step";
    throw Broken{
        {said, "let every rank make the same calls in the same order, with one dtype, size, root and operation"}};
}

// Who has given all that this step needs, but not taken what it is to get.
std::string Exchange::slow_takers() const {
    std::vector<int> ranks;
    for (const auto& link : links_)
        if (!link->is_sent() || is_owed(*link)) ranks.push_back(link->rank());
    return names_of(ranks);
}

Exchange::Complaint Exchange::complaint_of(Link& link) const {
    Complaint complaint{&link, Clock::now(), may_send_, link.outflow().sent(), {}};
    for (const auto& each : links_) complaint.received.push_back(each->inbox().flow().received());
    return complaint;
}

void Exchange::note_complaint(Link& link) {
    std::erase_if(complaints_, [&](const Complaint& complaint) { return complaint.from == &link; });
    complaints_.push_back(complaint_of(link));
}

// It was written before rank 0 came to this step, or before something else went on.
bool Exchange::is_settled(const Complaint& complaint) const noexcept {
    if (complaint.could_send != may_send_ || complaint.sent != complaint.from->outflow().sent()) return true;
    for (std::size_t i = 0; i < links_.size(); ++i)
        if (links_[i].get() == complaint.from)
            return is_served(*links_[i]) || complaint.received[i] != links_[i]->inbox().flow().received();
    return true;
}

// Whoever has not called; if all have, those of whose data nothing has come since, though there is room for it.
std::string Exchange::culprits(const Complaint& complaint) {
    std::vector<int> silent;
    std::vector<int> stuck;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = *links_[i];
        if (&link == complaint.from || link.is_lost() || link.inbox().is_done()) continue;
        if (!link.inbox().has_call()) silent.push_back(link.rank());
        else if (complaint.received[i] == link.inbox().flow().received() && link.wants_to_receive())
            stuck.push_back(link.rank());
    }
    return silent.empty() ? names_of(stuck, " (in the middle of its data)")
                          : names_of(silent, " (has not called)");
}

// A worker complains of rank 0 and cannot see who keeps that. If rank 0 was late itself, all goes on by now; so it
// names somebody only after a while in which the one who complains got nothing.
void Exchange::judge_complaints() {
    std::erase_if(complaints_, [this](const Complaint& complaint) { return is_settled(complaint); });
    for (Complaint& complaint : complaints_) {
        if (Clock::now() - complaint.since < hearing_time) continue;
        const Link& link = *complaint.from;
        if (const std::string whom = culprits(complaint); !whom.empty())
            throw Broken{{"after its timeout rank " + std::to_string(link.rank()) + " still waits in " +
                              link.inbox().call().describe() + " for " + whom,
                          more_time}};
        complaint = complaint_of(*complaint.from);
    }
}

// Whom this rank waits for. Of those who have called only the ones whose data there is room for: where there is
// none somebody else is awaited.
std::string Exchange::missing() {
    std::vector<int> silent;
    std::vector<int> sending;
    for (const auto& link : links_) {
        if (link->inbox().is_done() || link->is_lost()) continue;
        if (!link->inbox().has_call()) silent.push_back(link->rank());
        else if (link->wants_to_receive()) sending.push_back(link->rank());
    }
    if (group_.rank != 0) return names_of(silent.empty() ? sending : silent);
    const std::string list = names_of(silent, " (has not called)");
    const std::string rest = names_of(sending, " (in the middle of its data)");
    return list + (list.empty() || rest.empty() ? "" : ", ") + rest;
}

}  // namespace cobre::tcp
