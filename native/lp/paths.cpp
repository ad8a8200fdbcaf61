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
    Pass(std::span<const PathStage> stages, std::size_t paths) : stages_(stages), paths_(paths) {
        for (const PathStage& stage : stages) {
            const Solver& solver = stage.solver->last();
            const Observation& observed = solver.observation();
            scratch_.push_back({std::vector<double>(paths * observed.columns.size()),
                                std::vector<double>(paths * observed.rows.size())});
            BatchInput& input = inputs_.emplace_back();
            input.parameters = stage.parameters;
            input.solves = paths;
            input.start_bases = stage.start_bases;
            input.start_width = stage.start_width;
            BatchOutput& output = outputs_.emplace_back();
            output.objective = stage.objective;
            output.observed_primal = scratch_.back().primal;
            output.observed_dual = scratch_.back().dual;
            output.bases = stage.bases;
        }
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

    bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

    // Once no thread works any more.
    PathOutcome outcome() const {
        if (error_) std::rethrow_exception(error_);
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) stages_[stage].solver->set_last(last_thread_);
        return failure_;
    }

private:
    struct Scratch {
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
        Solver& solver = stages_[stage].solver->solver_of(thread);
        Outcome outcome = solver.solve(inputs_[stage], {path, 0, 1, {}}, outputs_[stage], is_interrupted);
        const std::int64_t now = now_ns();
        if (outcome.status == Status::optimal && now - asked_ns > interrupt_interval_ns) {
            asked_ns = now;
            if (is_interrupted()) outcome.status = Status::interrupted;
        }
        if (outcome.status != Status::optimal) {
            fail(stage, path, thread, outcome);
            return false;
        }
        hand_on(stage, path);
        return true;
    }

    // The outgoing state, exactly within its limits, which a solver passes by a hair.
    void hand_on(std::size_t stage, std::size_t path) {
        const PathStage& at = stages_[stage];
        const std::size_t dimension = at.low.size();
        const double* observed =
            outputs_[stage].observed_primal.data() + path * at.solver->last().observation().columns.size();
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
    std::vector<Scratch> scratch_;
    std::vector<BatchInput> inputs_;
    std::vector<BatchOutput> outputs_;
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
    Pass pass(stages, paths);
    ThreadPool* pool = stages[0].solver->pool();
    if (pool == nullptr || paths == 1) {
        pass.go_by_stage(is_interrupted);
        return pass.outcome();
    }
    const std::function<bool()> is_stopped = [&pass] { return pass.is_stopped(); };
    std::int64_t own_end = 0;
    pool->run([&](std::size_t thread) {
        pass.take_paths(thread, thread == 0 ? is_interrupted : is_stopped);
        if (thread == 0) own_end = now_ns();
    });
    stages[0].solver->add_waiting(now_ns() - own_end);
    return pass.outcome();
}

}  // namespace cobre::lp
