#include "lp/parallel_solver.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "lp/stop_watch.hpp"

namespace cobre::lp {

namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

}  // namespace

// What the threads of one batch share.
class ParallelSolver::Batch {
public:
    Batch(const BatchInput& input, std::size_t block_length, const BatchOutput& output, std::size_t basis_size)
        : input_(input),
          output_(output),
          block_length_(block_length),
          basis_size_(basis_size),
          chains_(input.solves / input.chain_length),
          units_(chains_) {
        if (block_length < input.chain_length) leads_.resize(chains_ * basis_size);
    }

    std::size_t units() const noexcept { return units_; }

    // A chain in one block is a unit. One in several begins with a unit of its first solve alone: from the trial
    // point's basis to there it is far, and from there to the other solves it is not. True if there are blocks to
    // do then.
    bool goes_on() {
        if (leads_.empty() || is_with_leads_ || end_.load(std::memory_order_relaxed) != none || error_)
            return false;
        is_with_leads_ = true;
        blocks_per_chain_ = (input_.chain_length - 1 + block_length_ - 1) / block_length_;
        units_ = chains_ * blocks_per_chain_;
        next_.store(0, std::memory_order_relaxed);
        return true;
    }

    // Takes units until there are none. Units are claimed in order: those before one that failed are done.
    void work(ParallelSolver& owner, std::size_t thread, const std::function<bool()>& is_interrupted) noexcept {
        try {
            Solver* solver = nullptr;
            std::int64_t asked_ns = now_ns();
            for (;;) {
                const std::size_t unit = next_.fetch_add(1, std::memory_order_relaxed);
                if (unit >= std::min(units_, end_.load(std::memory_order_relaxed))) return;
                if (solver == nullptr) solver = &owner.solver_of(thread);
                Outcome outcome = solve(unit, *solver, is_interrupted);
                const std::int64_t now = now_ns();
                if (outcome.status == Status::optimal && now - asked_ns > interrupt_interval_ns) {
                    asked_ns = now;
                    if (is_interrupted()) outcome.status = Status::interrupted;
                }
                keep(unit, thread, outcome);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            end_.store(0, std::memory_order_relaxed);
        }
    }

    bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }
    void interrupt() noexcept { keep(0, 0, {Status::interrupted, 0, 1}); }

    // Once no thread works any more.
    Outcome outcome(std::size_t& last) const {
        if (error_) std::rethrow_exception(error_);
        last = last_thread_;
        if (failed_unit_ != none) return failure_;
        Outcome all;
        all.solved = input_.solves;
        all.attempts = last_attempts_;
        return all;
    }

private:
    Outcome solve(std::size_t unit, Solver& solver, const std::function<bool()>& is_interrupted) {
        if (leads_.empty())
            return solver.solve(input_, {unit, 0, input_.chain_length, {}}, output_, is_interrupted);
        if (!is_with_leads_) {
            const Outcome outcome = solver.solve(input_, {unit, 0, 1, {}}, output_, is_interrupted);
            if (outcome.status == Status::optimal) solver.store_basis(lead(unit));
            return outcome;
        }
        Block block;
        block.chain = unit / blocks_per_chain_;
        block.first = 1 + unit % blocks_per_chain_ * block_length_;
        block.count = std::min(block_length_, input_.chain_length - block.first);
        block.start = lead(block.chain);
        return solver.solve(input_, block, output_, is_interrupted);
    }

    std::span<std::uint8_t> lead(std::size_t chain) {
        return std::span(leads_).subspan(chain * basis_size_, basis_size_);
    }

    void keep(std::size_t unit, std::size_t thread, const Outcome& outcome) {
        if (outcome.status == Status::optimal && unit + 1 < units_) return;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (outcome.status == Status::optimal) {
            if (failed_unit_ == none) last_thread_ = thread;
            last_attempts_ = outcome.attempts;
            return;
        }
        const bool is_interrupted = outcome.status == Status::interrupted;
        if (is_interrupted) is_stopped_.store(true, std::memory_order_relaxed);
        if (unit >= failed_unit_ && !is_interrupted) return;
        failed_unit_ = is_interrupted ? 0 : unit;  // an interruption counts before every failure
        failure_ = outcome;
        last_thread_ = thread;
        end_.store(failed_unit_, std::memory_order_relaxed);
    }

    const BatchInput& input_;
    const BatchOutput& output_;
    const std::size_t block_length_, basis_size_, chains_;
    std::size_t blocks_per_chain_ = 1;
    std::size_t units_;
    std::vector<std::uint8_t> leads_;  // bases after the first solve of each chain; empty if chains are not cut
    bool is_with_leads_ = false;
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> end_{none};  // units from here on need not be solved
    std::atomic<bool> is_stopped_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    std::size_t failed_unit_ = none;
    Outcome failure_;
    std::size_t last_thread_ = 0;
    int last_attempts_ = 1;  // of the last solve of the batch
};

ParallelSolver::ParallelSolver(std::unique_ptr<Solver> first, std::shared_ptr<ThreadPool> pool)
    : pool_(std::move(pool)), solvers_(pool_ == nullptr ? 1 : pool_->threads()) {
    solvers_[0] = std::move(first);
}

Solver& ParallelSolver::solver_of(std::size_t thread) {
    if (solvers_[thread] == nullptr) solvers_[thread] = solvers_[0]->sibling();
    return *solvers_[thread];
}

void ParallelSolver::append_cuts(std::span<const double> intercepts, std::span<const double> coefficients) {
    solvers_[0]->append_cuts(intercepts, coefficients);
}

void ParallelSolver::share_cuts(std::span<const double> rows) { solvers_[0]->share_cuts(rows); }

void ParallelSolver::set_active(std::span<const std::uint8_t> active) { solvers_[0]->set_active(active); }

void ParallelSolver::clear_cuts() { solvers_[0]->clear_cuts(); }

Outcome ParallelSolver::solve(const BatchInput& input, std::size_t block_length, const BatchOutput& output,
                              const std::function<bool()>& is_interrupted) {
    last_ = 0;
    if (input.solves == 0) return {};
    Batch batch(input, block_length, output, solvers_[0]->basis_size());
    // Signals are for the caller's thread alone, also while the last units of other threads take long.
    const std::function<bool()> is_stopped = [&batch, this] {
        pool_->wake_caller();
        return batch.is_stopped();
    };
    do {
        if (pool_ == nullptr || batch.units() == 1) {
            batch.work(*this, 0, is_interrupted);
            continue;
        }
        std::int64_t own_end = 0;
        pool_->run(
            [&](std::size_t thread) {
                batch.work(*this, thread, thread == 0 ? is_interrupted : is_stopped);
                if (thread == 0) own_end = now_ns();
            },
            [&] {
                if (!batch.is_stopped() && is_interrupted()) batch.interrupt();
            });
        waiting_ns_ += now_ns() - own_end;
    } while (batch.goes_on());
    return batch.outcome(last_);
}

Counters ParallelSolver::counters() const {
    Counters all;
    for (const auto& solver : solvers_) {
        if (solver == nullptr) continue;
        const Counters& more = solver->counters();
        all.patch_ns += more.patch_ns;
        all.basis_ns += more.basis_ns;
        all.run_ns += more.run_ns;
        all.extract_ns += more.extract_ns;
        all.cuts_ns += more.cuts_ns;
        all.solves += more.solves;
        all.chains += more.chains;
        all.iterations += more.iterations;
        all.retries += more.retries;
        all.handed_over += more.handed_over;
        for (std::size_t place = 0; place < all.recovered.size(); ++place)
            all.recovered[place] += more.recovered[place];
    }
    return all;
}

void ParallelSolver::reset_counters() noexcept {
    for (const auto& solver : solvers_)
        if (solver != nullptr) solver->counters() = Counters{};
    waiting_ns_ = 0;
}

}  // namespace cobre::lp
