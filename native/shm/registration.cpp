#include "shm/registration.hpp"

#include <chrono>

#include "shm/barrier.hpp"
#include "shm/direct_read.hpp"
#include "shm/futex.hpp"

namespace cobre::shm {

namespace {

// The process that is, or is about to become, that rank; pid 0 while it is not known. Rank 0 made the segment.
comm::ProcessIdentity candidate(const Layout& layout, std::size_t rank) noexcept {
    const RankEntry& entry = layout.entries()[rank];
    // Acquire pairs with the release in register_rank.
    const RankState state = entry.state.load(std::memory_order_acquire);
    if (state == RankState::closed) return {};  // it may end
    if (state == RankState::attached) return entry.identity;
    return rank == 0 ? layout.header().creator
                     : entry.claim.load(std::memory_order_relaxed).identity(layout.header().creator);
}

std::string missing_ranks(const Layout& layout) {
    std::string list;
    for (std::size_t r = 0; r < layout.entries().size(); ++r) {
        if (layout.entries()[r].state.load(std::memory_order_relaxed) != RankState::absent) continue;
        const comm::ProcessIdentity begun = candidate(layout, r);
        list += (list.empty() ? "" : ", ") + std::to_string(r);
        if (begun.pid == 0) continue;
        const bool is_stopped = comm::state_of(begun) == comm::ProcessState::stopped;
        list += " (" + process_text(begun) + (is_stopped ? ", which is stopped)" : ", which has only begun)");
    }
    return list;
}

void refuse_if_one_died(const Layout& layout) {
    for (std::size_t r = 0; r < layout.entries().size(); ++r) {
        const comm::ProcessIdentity one = candidate(layout, r);
        if (one.pid != 0 && comm::state_of(one) == comm::ProcessState::dead)
            refuse_for_all(layout.header(),
                           {"rank " + std::to_string(r) + " (" + process_text(one) + ") died during start-up",
                            "see its output for what ended it; then start all ranks again"});
    }
}

}  // namespace

void refuse_start(std::string text, std::string fix) {
    throw comm::Error(comm::ErrorClass::initialization_failed, "shm", 0, 0, std::move(text), std::move(fix));
}

void refuse_for_all(Header& header, const comm::Failure& failure) {
    record_failure(header, 0, failure);
    futex_wake(header.attached, largest_group);
    comm::Failure first = recorded_failure(header);
    refuse_start(std::move(first.text), std::move(first.fix));
}

std::string quoted(const std::string& segment) { return "the segment '" + segment + "'"; }
std::string process_text(const comm::ProcessIdentity& identity) { return "pid " + std::to_string(identity.pid); }

void register_rank(const Layout& layout, comm::Group group) {
    Header& header = layout.header();
    RankEntry& entry = layout.entry(group.rank);
    const comm::ProcessIdentity identity = comm::own_identity();
    const std::string who = "rank " + std::to_string(group.rank);
    if (identity.pid_namespace != header.creator.pid_namespace)
        refuse_for_all(header,
                       {who + " runs in another PID namespace than rank 0, so neither can see the other live",
                        "start all ranks in one container, or let the containers share PIDs"});
    Claim first;
    // Relaxed: claiming orders nothing; the record is published by the release below.
    if (!entry.claim.compare_exchange_strong(first, Claim(identity), std::memory_order_relaxed))
        refuse_for_all(header, {who + " is registered twice: by " + process_text(first.identity(header.creator)) +
                                    " and by " + process_text(identity),
                                "give every rank its own COBRE_SHM_RANK"});
    entry.identity = identity;
    entry.cpus = comm::CpuMask::of_this_process();
    entry.cpu_quota = comm::whole_cpus(comm::cpu_quota());
    entry.accepts_barriers = accept_barriers();
    entry.probe_address = probe_address();
    // Release pairs with the acquire in await_all: who counts us may read our record.
    entry.state.store(RankState::attached, std::memory_order_release);
    header.attached.fetch_add(1, std::memory_order_release);
    futex_wake(header.attached, largest_group);
}

void await_all(const Layout& layout, const std::string& name, comm::Group group, const comm::Deadline& deadline,
               comm::Caller& caller) {
    Header& header = layout.header();
    const auto size = static_cast<std::uint32_t>(group.size);
    for (;;) {
        if (has_failed(header, 0)) refuse_for_all(header, {});
        // Acquire pairs with the release in register_rank.
        const std::uint32_t attached = header.attached.load(std::memory_order_acquire);
        if (attached == size) return;
        caller.release_locks();
        futex_wait(header.attached, attached, std::chrono::microseconds{20'000});
        if (header.attached.load(std::memory_order_acquire) == size) continue;
        refuse_if_one_died(layout);
        if (deadline.is_over())
            refuse_for_all(header, {"of " + std::to_string(size) + " ranks these have not come to " +
                                        quoted(name) + " in time: " + missing_ranks(layout),
                                    "start every rank with the same COBRE_SHM_NAME and COBRE_SHM_SIZE, or raise "
                                    "COBRE_SHM_CONNECT_TIMEOUT_MS"});
        if (caller.is_interrupted()) {
            record_failure(header, 0,
                           {"rank " + std::to_string(group.rank) + " was interrupted by a signal during start-up",
                            "start all ranks again"});
            throw comm::Interrupted{};
        }
    }
}

}  // namespace cobre::shm
