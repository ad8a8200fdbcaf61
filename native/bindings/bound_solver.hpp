// The native face of `cobre.solver.LpSolver`: checks what Python gives, and solves with the GIL released.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings/lp_arguments.hpp"
#include "lp/expected_cuts.hpp"
#include "lp/highs_library.hpp"
#include "lp/parallel_solver.hpp"
#include "lp/solver.hpp"
#include "lp/thread_pool.hpp"

namespace cobre::bindings {

// One caller at a time: a second thread is told so, rather than made to wait for a batch of unknown length.
class Turn {
public:
    explicit Turn(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
        if (!lock_.owns_lock())
            throw std::runtime_error(
                "this LpSolver is at work in another thread\n  fix: give each thread an LpSolver of its own");
    }

private:
    std::unique_lock<std::mutex> lock_;
};

// To be called without the GIL: whether Python has a signal to handle.
bool has_python_interrupt();

class BoundSolver {
public:
    using Outcome = std::tuple<lp::Status, std::size_t, int>;  // status, solves done, attempts of the last one

    BoundSolver(std::shared_ptr<const lp::HighsLibrary> highs, lp::Model model, lp::PatchPlan plan,
                lp::Observation observation, lp::Settings settings, std::shared_ptr<lp::ThreadPool> pool);

    void append_cuts(const Vector<double>& intercepts, const Matrix<double>& coefficients);
    // The caller keeps the memory of `rows` until the next call or `clear_cuts`.
    void share_cuts(const Matrix<double>& rows);
    void set_active(const Vector<bool>& active);
    void clear_cuts();

    Outcome solve(const Matrix<double>& parameters, std::size_t chain_length, std::size_t block_length,
                  const std::optional<Matrix<std::uint8_t>>& start_bases, std::int64_t basis_of,
                  const std::optional<Vector<std::int32_t>>& order, const VectorOut<double>& objective,
                  const MatrixOut<double>& observed_primal, const MatrixOut<double>& observed_dual,
                  const std::optional<MatrixOut<double>>& cut_dual, const std::optional<MatrixOut<double>>& primal,
                  const std::optional<MatrixOut<double>>& dual,
                  const std::optional<MatrixOut<double>>& reduced_cost,
                  const std::optional<VectorOut<std::int32_t>>& iterations,
                  const std::optional<MatrixOut<std::uint8_t>>& bases);
    Outcome cut_expectation(const Matrix<double>& states, const Matrix<double>& openings,
                            const Vector<double>& weights, const MatrixOut<double>& rows, std::size_t block_length,
                            const std::optional<Matrix<std::uint8_t>>& start_bases,
                            const std::optional<Vector<std::int32_t>>& order,
                            const std::optional<VectorOut<std::int64_t>>& next, double risk_weight, double tail);

    nanobind::dict patched();
    nanobind::tuple cuts();
    nanobind::dict counters();
    // In the order of `cobre.solver.COUNTED`.
    static constexpr std::size_t n_counted = 14;
    std::array<std::int64_t, n_counted> counted();
    void reset_counters();

    std::size_t slots() const { return solver_.cuts().slots(); }
    std::size_t active_cuts() const { return solver_.cuts().active_slots().size(); }
    std::size_t basis_size() const { return solver_.last().basis_size(); }

    // For calls that are about several solvers at once.
    std::mutex& busy() noexcept { return busy_; }
    lp::ParallelSolver& solver() noexcept { return solver_; }
    // Checks start bases of `chains` chains; their width.
    std::size_t check_start(const Matrix<std::uint8_t>& start, std::size_t chains) const;
    void check_parameters(std::size_t given) const;

private:
    void check_takes_cuts() const;

    lp::ParallelSolver solver_;
    std::mutex busy_;
};

}  // namespace cobre::bindings
