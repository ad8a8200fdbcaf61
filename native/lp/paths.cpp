#include "lp/paths.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <vector>

#include "lp/stop_watch.hpp"

namespace cobre::lp {

namespace {

// What the threads of one call share.
class Pass {
public:
    Pass(std::span<const PathStage> stages, std::size_t paths, std::size_t threads)
        : stages_(stages), paths_(paths) {
        std::size_t columns = 0, rows = 0;
        for (const PathStage& stage : stages) {
            const Observation& observed = stage.solver->last().observation();
            columns = std::max(columns, observed.columns.size());
            rows = std::max(rows, observed.rows.size());
        }
        observed_.assign(threads, {std::vector<double>(columns), std::vector<double>(rows)});
    }

    // Takes paths until there are none.
    void take_paths(std::size_t thread, const std::function<bool()>& is_interrupted) noexcept {
        guarded([&] {
            std::int64_t asked_ns = now_ns();
            for (;;) {
                const std::size_t path = next_.fetch_add(1, std::memory_order_relaxed);
                if (path >= paths_) return;
                for (std::size_t stage = 0; stage < stages_.size(); ++stage)
                    if (!step(stage, path, thread, is_interrupted, asked_ns)) break;
            }
        });
    }

    // The same for a thread that is alone: the data of a stage stay in the cache while all paths are there.
    void go_by_stage(const std::function<bool()>& is_interrupted) noexcept {
        guarded([&] {
            std::int64_t asked_ns = now_ns();
            for (std::size_t stage = 0; stage < stages_.size(); ++stage)
                for (std::size_t path = 0; path < paths_; ++path)
                    if (!step(stage, path, 0, is_interrupted, asked_ns)) return;
        });
    }

    void interrupt() noexcept { fail(0, 0, 0, {Status::interrupted, 0, 1}); }
    bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

    // Once no thread works any more.
    PathOutcome outcome() const {
        if (error_) std::rethrow_exception(error_);
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) stages_[stage].solver->set_last(last_thread_);
        return failure_;
    }

private:
    struct Observed {
        std::vector<double> primal, dual;
    };
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    template <class Work>
    void guarded(Work&& work) noexcept {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            first_failure_.store(0, std::memory_order_relaxed);
        }
    }

    std::size_t number(std::size_t stage, std::size_t path) const noexcept { return stage * paths_ + path; }

    // False: this path need not go on.
    bool step(std::size_t stage, std::size_t path, std::size_t thread, const std::function<bool()>& is_interrupted,
              std::int64_t& asked_ns) {
        if (number(stage, path) >= first_failure_.load(std::memory_order_relaxed)) return false;
        Outcome outcome = solve(stages_[stage], path, thread, is_interrupted);
        const std::int64_t now = now_ns();
        if (outcome.status == Status::optimal && now - asked_ns > interrupt_interval_ns) {
            asked_ns = now;
            if (is_interrupted()) outcome.status = Status::interrupted;
        }
        if (outcome.status != Status::optimal) {
            fail(stage, path, thread, outcome);
            return false;
        }
        hand_on(stage, path, observed_[thread].primal);
        return true;
    }

    Outcome solve(const PathStage& stage, std::size_t path, std::size_t thread,
                  const std::function<bool()>& is_interrupted) {
        Solver& solver = stage.solver->solver_of(thread);
        const std::size_t n_parameters = solver.n_parameters();
        BatchInput input;
        input.parameters = stage.parameters.subspan(path * n_parameters, n_parameters);
        input.solves = 1;
        if (!stage.start_bases.empty())
            input.start_bases = stage.start_bases.subspan(path * stage.start_width, stage.start_width);
        input.start_width = stage.start_width;
        BatchOutput output;
        output.objective = stage.objective.subspan(path, 1);
        output.observed_primal = observed_[thread].primal;
        output.observed_dual = observed_[thread].dual;
        output.bases = stage.bases.subspan(path * solver.basis_size(), solver.basis_size());
        Outcome outcome = solver.solve(input, {0, 0, 1, {}}, output, is_interrupted);
        outcome.solved = path;
        return outcome;
    }

    // The outgoing state, exactly within its limits, which a solver passes by a hair.
    void hand_on(std::size_t stage, std::size_t path, std::span<const double> observed) {
        const PathStage& at = stages_[stage];
        const std::size_t dimension = at.low.size();
        double* state = at.states.data() + path * dimension;
        for (std::size_t j = 0; j < dimension; ++j) {
            const double raised = observed[j] >= at.low[j] ? observed[j] : at.low[j];
            state[j] = raised <= at.high[j] ? raised : at.high[j];
        }
        at.next[path] = observed[dimension];
        if (stage + 1 == stages_.size()) return;
        const PathStage& following = stages_[stage + 1];
        std::copy_n(state, dimension, following.parameters.data() + path * (following.parameters.size() / paths_));
    }

    void fail(std::size_t stage, std::size_t path, std::size_t thread, const Outcome& outcome) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const bool is_interrupted = outcome.status == Status::interrupted;
        if (is_interrupted) is_stopped_.store(true, std::memory_order_relaxed);
        if (failure_.outcome.status == Status::interrupted) return;  // it counts before every failure
        if (number(stage, path) >= first_failure_.load(std::memory_order_relaxed) && !is_interrupted) return;
        first_failure_.store(is_interrupted ? 0 : number(stage, path), std::memory_order_relaxed);
        failure_ = {stage, outcome};
        last_thread_ = thread;
    }

    const std::span<const PathStage> stages_;
    const std::size_t paths_;
    std::vector<Observed> observed_;  // by thread, of its last solve
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> first_failure_{none};  // solves from here on need not be done
    std::atomic<bool> is_stopped_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    PathOutcome failure_;
    std::size_t last_thread_ = 0;
};

}  // namespace

PathOutcome follow_paths(std::span<const PathStage> stages, std::size_t paths,
                         const std::function<bool()>& is_interrupted) {
    if (stages.empty() || paths == 0) return {};
    ThreadPool* pool = stages[0].solver->pool();
    const bool is_alone = pool == nullptr || paths == 1;
    Pass pass(stages, paths, is_alone ? 1 : pool->threads());
    if (is_alone) {
        pass.go_by_stage(is_interrupted);
        return pass.outcome();
    }
    // Signals are for the caller's thread alone, also while the last paths of other threads take long.
    const std::function<bool()> is_stopped = [&pass, pool] {
        pool->wake_caller();
        return pass.is_stopped();
    };
    std::int64_t own_end = 0;
    pool->run(
        [&](std::size_t thread) {
            pass.take_paths(thread, thread == 0 ? is_interrupted : is_stopped);
            if (thread == 0) own_end = now_ns();
        },
        [&] {
            if (!pass.is_stopped() && is_interrupted()) pass.interrupt();
        });
    stages[0].solver->add_waiting(now_ns() - own_end);
    return pass.outcome();
}

}  // namespace cobre::lp
