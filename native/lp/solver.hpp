// One HiGHS instance that solves a template again and again, each time for other parameters.
//
// Every chain of solves begins from a cleared solver and a basis that the caller names. Its results are a function
// of the template, the active cuts, the parameters of the chain and that basis, to the last bit; what this
// instance solved before has no part in them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lp/cuts.hpp"
#include "lp/highs_library.hpp"
#include "lp/model.hpp"
#include "lp/scaling.hpp"

namespace cobre::lp {

enum class Status : std::uint8_t {
    optimal,
    infeasible,
    unbounded,
    failed,
    out_of_time,
    bad_parameter,
    interrupted
};

// The first byte of a stored basis that says: begin from the slack basis.
inline constexpr std::uint8_t no_basis = 255;
// What a stored basis holds for a cut that is not in the program, and what a cut unknown to it begins as.
inline constexpr std::uint8_t basic = 1;

struct Observation {
    std::vector<std::int32_t> cut_columns;
    std::int32_t future_cost_column = -1;
    std::vector<std::int32_t> columns;
    std::vector<std::int32_t> rows;
};

struct Settings {
    double feasibility_tolerance = 1e-9;
    int max_attempts = 5;
    double retry_seconds = 30.0;
    int iteration_limit = 0;  // of one attempt; 0 leaves it to the size of the program
};

// Where a batch writes. An empty span is not written. Rows of solves follow one another.
struct BatchOutput {
    std::span<double> objective;
    std::span<double> observed_primal;
    std::span<double> observed_dual;
    std::span<double> cut_dual;
    std::span<double> primal;
    std::span<double> dual;
    std::span<double> reduced_cost;
    std::span<std::int32_t> iterations;
    std::span<std::uint8_t> bases;  // one per chain
};

struct BatchInput {
    std::span<const double> parameters;
    std::size_t solves = 0;
    std::size_t chain_length = 1;
    std::span<const std::uint8_t> start_bases;  // one per chain, or one for all, or empty
    std::size_t start_width = 0;
    bool is_start_shared = false;
    std::size_t basis_of = 0;  // the solve of each chain after which `bases` is taken
};

struct Outcome {
    Status status = Status::optimal;
    std::size_t solved = 0;  // also the index of the solve that went wrong
    int attempts = 1;        // of that solve
};

struct Counters {
    std::int64_t patch_ns = 0;
    std::int64_t basis_ns = 0;
    std::int64_t run_ns = 0;
    std::int64_t extract_ns = 0;
    std::int64_t cuts_ns = 0;
    std::int64_t solves = 0;
    std::int64_t chains = 0;
    std::int64_t iterations = 0;
    std::int64_t retries = 0;
    // Solves that needed retries and then succeeded, by the attempt that did: 2, 3, ... in places 0, 1, ...
    std::array<std::int64_t, 6> recovered{};
};

class Solver {
public:
    Solver(std::shared_ptr<const HighsLibrary> highs, Model model, PatchPlan plan, Observation observation,
           Settings settings);
    ~Solver();
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    const Model& patched() const noexcept { return current_; }
    const Observation& observation() const noexcept { return observation_; }
    const CutPool& cuts() const noexcept { return cuts_; }
    std::size_t n_parameters() const noexcept { return plan_.n_parameters(); }
    std::size_t basis_size() const noexcept { return template_.columns() + template_.rows() + cuts_.slots(); }
    Counters& counters() noexcept { return counters_; }

    void append_cuts(std::span<const double> intercepts, std::span<const double> coefficients);
    void set_active(std::span<const std::uint8_t> active);
    void clear_cuts();

    // `is_interrupted` is asked now and then between solves. Stops at the first solve that has no optimum.
    Outcome solve(const BatchInput& input, const BatchOutput& output, const std::function<bool()>& is_interrupted);

private:
    void set_base_options();
    void limit_iterations();
    void pass_template();
    void restart() noexcept;
    // False if a lower bound is above its upper bound: then there is nothing to solve.
    bool send_changes();
    bool send_rows();
    bool send_column_bounds();
    void send_costs();
    void begin_from(std::span<const std::uint8_t> basis);
    Status run(int& attempts);
    Status run_once();
    Status retry(Status first, int& attempts);
    void extract(std::size_t index, const BatchOutput& output);
    void store_basis(std::span<std::uint8_t> basis);
    void match_cut_rows();
    void delete_rows_from(std::size_t position);
    void add_cut_rows(std::span<const std::int32_t> slots);
    void require(HighsInt answer, const char* call) const;

    std::shared_ptr<const HighsLibrary> highs_;
    void* instance_ = nullptr;
    Model template_;
    Model current_;  // as patched last, in the caller's units
    PatchPlan plan_;
    Observation observation_;
    Settings settings_;
    Scaling scaling_;
    CutPool cuts_;
    Counters counters_;
    std::vector<std::int32_t> rows_of_cuts_;  // the slots whose rows HiGHS holds, in order
    std::vector<double> cut_scale_;           // of each of those rows

    // What HiGHS was told last, scaled: a value that did not change is not sent again.
    std::vector<double> sent_cost_, sent_column_lower_, sent_column_upper_, sent_row_lower_, sent_row_upper_;
    // Work space of a solve.
    std::vector<HighsInt> changed_;
    std::vector<double> first_, second_;
    std::vector<HighsInt> column_status_, row_status_;
    std::vector<double> primal_, reduced_cost_, dual_;
};

}  // namespace cobre::lp
