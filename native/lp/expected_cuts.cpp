#include "lp/expected_cuts.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "lp/linearise.hpp"
#include "lp/stop_watch.hpp"

namespace cobre::lp {

namespace {

// The solves of some trial points. Memory is taken for the time of a call: there are many stages, and all openings
// of all points are large.
class Solves {
public:
    Solves(const ParallelSolver& solver, const TrialInput& trial, std::size_t points)
        : trial_(trial),
          n_openings_(trial.weights.size()),
          dimension_(trial.states.size() / trial.points),
          width_(trial.openings.size() / n_openings_),
          n_observed_(solver.last().observation().rows.size()),
          parameters_(points * n_openings_ * (dimension_ + width_)),
          objective_(points * n_openings_),
          primal_(points * n_openings_ * solver.last().observation().columns.size()),
          dual_(points * n_openings_ * n_observed_) {
        input.parameters = parameters_;
        input.solves = points * n_openings_;
        input.chain_length = n_openings_;
        input.start_bases = trial.start_bases;
        input.start_width = trial.start_width;
        input.is_start_shared = trial.is_start_shared;
        input.order = trial.order;
        output.objective = objective_;
        output.observed_primal = primal_;
        output.observed_dual = dual_;
    }

    // `place` is that of the point among those of these solves.
    void set_parameters(std::size_t point, std::size_t place) {
        double* parameters = parameters_.data() + place * n_openings_ * (dimension_ + width_);
        for (std::size_t opening = 0; opening < n_openings_; ++opening) {
            parameters = std::copy_n(trial_.states.data() + point * dimension_, dimension_, parameters);
            parameters = std::copy_n(trial_.openings.data() + opening * width_, width_, parameters);
        }
    }

    // Of `point`, in a place among these solves.
    void fill_row(std::size_t point, std::size_t place, std::span<double> rows) {
        const std::size_t first = place * n_openings_;
        linearise({1, n_openings_, dimension_, objective_.data() + first, dual_.data() + first * n_observed_,
                   n_observed_, weights_at(place), 0, trial_.states.data() + point * dimension_},
                  rows.data() + point * (1 + dimension_));
    }

    BatchInput input;
    BatchOutput output;

private:
    // Each opening keeps (1 - risk weight) of its probability. The risk weight is given to the dearest ones, up to
    // probability / tail of it to each, equally dear ones in their order.
    const double* weights_at(std::size_t place) {
        if (trial_.risk_weight == 0.0) return trial_.weights.data();
        const double* costs = objective_.data() + place * n_openings_;
        weights_.resize(n_openings_);
        dearest_first_.resize(n_openings_);
        std::iota(dearest_first_.begin(), dearest_first_.end(), std::size_t{0});
        std::stable_sort(dearest_first_.begin(), dearest_first_.end(),
                         [costs](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
        double left = 1.0;
        for (const std::size_t opening : dearest_first_) {
            const double share = trial_.weights[opening];
            const double in_tail = std::min(share / trial_.tail, left);
            left -= in_tail;
            weights_[opening] = (1.0 - trial_.risk_weight) * share + trial_.risk_weight * in_tail;
        }
        return weights_.data();
    }

    const TrialInput& trial_;
    const std::size_t n_openings_, dimension_, width_, n_observed_;
    std::vector<double> parameters_, objective_, primal_, dual_, weights_;
    std::vector<std::size_t> dearest_first_;
};

}  // namespace

Outcome make_expected_cuts(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                           const std::function<bool()>& is_interrupted) {
    Solves solves(solver, trial, trial.points);
    for (std::size_t point = 0; point < trial.points; ++point) solves.set_parameters(point, point);
    const Outcome outcome = solver.solve(solves.input, trial.block_length, solves.output, is_interrupted);
    if (outcome.status == Status::optimal)
        for (std::size_t point = 0; point < trial.points; ++point) solves.fill_row(point, point, rows);
    return outcome;
}

Outcome make_claimed_cuts(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                          std::atomic_ref<std::int64_t> next, const std::function<bool()>& is_interrupted) {
    const std::size_t n_openings = trial.weights.size();
    Solves solves(solver, trial, 1);
    solver.set_last(0);
    Solver& own = solver.solver_of(0);
    std::int64_t asked_ns = now_ns();
    for (;;) {
        const auto point = static_cast<std::size_t>(next.fetch_add(1, std::memory_order_relaxed));
        if (point >= trial.points) return {};
        solves.set_parameters(point, 0);
        if (!trial.start_bases.empty() && !trial.is_start_shared)
            solves.input.start_bases = trial.start_bases.subspan(point * trial.start_width, trial.start_width);
        Outcome outcome = own.solve(solves.input, {0, 0, n_openings, {}}, solves.output, is_interrupted);
        outcome.solved += point * n_openings;
        const std::int64_t now = now_ns();
        if (outcome.status == Status::optimal && now - asked_ns > interrupt_interval_ns) {
            asked_ns = now;
            if (is_interrupted()) outcome.status = Status::interrupted;
        }
        if (outcome.status != Status::optimal) return outcome;
        solves.fill_row(point, 0, rows);
    }
}

}  // namespace cobre::lp
