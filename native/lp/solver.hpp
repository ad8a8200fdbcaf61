// Solves a template again and again, each time for other parameters.
//
// Every block of solves begins from a basis that the caller names. Its results are a function of the template, the
// active cuts, the parameters of the block and that basis, to the last bit; what this instance solved before has
// no part in them. Small programs are solved by `DualSimplex`; HiGHS takes those that are large, and each solve
// for which the former has no answer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lp/cut_matrix.hpp"
#include "lp/cuts.hpp"
#include "lp/forced_rows.hpp"
#include "lp/highs_library.hpp"
#include "lp/highs_program.hpp"
#include "lp/model.hpp"
#include "lp/reduction.hpp"
#include "lp/scaling.hpp"
#include "lp/simplex.hpp"
#include "lp/stop_watch.hpp"

namespace cobre::lp {

// Where a batch writes. An empty span is not written. Rows of solves follow one another.
struct BatchOutput {
    std::span<double> objective;
    std::span<std::int32_t> iterations;
    std::span<double> observed_primal;
    std::span<double> observed_dual;
    std::span<double> cut_dual;
    std::span<double> primal;
    std::span<double> dual;
    std::span<double> reduced_cost;
    std::span<std::uint8_t> bases;  // one per chain
};

struct BatchInput {
    std::span<const double> parameters;
    std::size_t solves = 0;
    std::size_t chain_length = 1;
    std::span<const std::uint8_t> start_bases;  // one per chain, or one for all, or empty
    std::size_t start_width = 0;
    bool is_start_shared = false;
    std::span<const std::int32_t>
        order;                 // of the rows of a chain: which is solved first, second, ...; empty: as given
    std::size_t basis_of = 0;  // the row of each chain after which `bases` is taken
};

// Consecutive solves of one chain; the first of them begins from `start`, or from the start basis of the chain.
struct Block {
    std::size_t chain = 0;
    std::size_t first = 0;  // place in the order of the chain
    std::size_t count = 0;
    std::span<const std::uint8_t> start;
};

struct Outcome {
    Status status = Status::optimal;
    std::size_t solved = 0;  // of a batch, all solves; the index of the solve that went wrong, if one did
    int attempts = 1;        // of that solve
};

// Cuts may be shared by several solvers of one template, as long as none of them is at work while they change.
struct SharedCuts {
    CutPool pool;
    CutMatrix matrix;
};

class Solver {
public:
    Solver(std::shared_ptr<const HighsLibrary> highs, Model model, PatchPlan plan, Observation observation,
           Settings settings);
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    // A solver of the same template for another thread, which shares the cuts. They may be changed through either
    // of them while neither is at work.
    std::unique_ptr<Solver> sibling() const;

    const Model& patched() const noexcept { return current_; }
    const Observation& observation() const noexcept { return observation_; }
    const CutPool& cuts() const noexcept { return cuts_->pool; }
    std::size_t n_parameters() const noexcept { return plan_.n_parameters(); }
    std::size_t basis_size() const noexcept { return template_.columns() + template_.rows() + cuts().slots(); }
    Counters& counters() noexcept { return counters_; }
    const Counters& counters() const noexcept { return counters_; }

    void append_cuts(std::span<const double> intercepts, std::span<const double> coefficients);
    void share_cuts(std::span<const double> rows);
    void set_active(std::span<const std::uint8_t> active);
    void clear_cuts();

    // `is_interrupted` is asked now and then between solves. Stops at the first solve that has no optimum.
    Outcome solve(const BatchInput& input, const Block& block, const BatchOutput& output,
                  const std::function<bool()>& is_interrupted);
    // The basis of the last solve, which had an optimum; basis_size() codes.
    void store_basis(std::span<std::uint8_t> basis);

private:
    Solver(std::shared_ptr<const HighsLibrary> highs, Model model, PatchPlan plan, Observation observation,
           Settings settings, std::shared_ptr<SharedCuts> cuts);
    Outcome solve_block(const BatchInput& input, const Block& block, const BatchOutput& output,
                        const std::function<bool()>& is_interrupted);
    // False if a lower bound is above its upper bound: then there is nothing to solve.
    bool are_bounds_in_order() const noexcept;
    bool fill_program();
    // `is_shared`: other chains begin from the same basis, so that its inverse is worth keeping.
    void begin_simplex(std::span<const std::uint8_t> basis, bool is_shared);
    Status solve_one(std::span<const std::uint8_t> start, bool is_shared, bool is_first, int& attempts,
                     StopWatch& watch);
    void read_simplex(bool wants_reduced);
    HighsProgram& highs();
    void extract(std::size_t index, const BatchOutput& output);

    std::shared_ptr<const HighsLibrary> library_;
    Model template_;
    Model current_;  // as patched last, in the caller's units
    PatchPlan plan_;
    Observation observation_;
    Settings settings_;
    Scaling scaling_;
    Reduction reduction_;
    ForcedRows forced_;
    std::shared_ptr<SharedCuts> cuts_;
    Counters counters_;
    BoundedProgram program_;
    std::unique_ptr<DualSimplex> simplex_;  // none if the program is too large for it
    std::unique_ptr<HighsProgram> highs_;   // made when first needed
    bool is_simplex_ready_ = false;         // whether the last solve of the chain was its
    bool is_from_highs_ = false;            // whether the last solution is HiGHS's
    Solution solution_;
    std::vector<double> row_side_;
    std::vector<double> left_cut_dual_;  // by column: cuts' part in the dual equation of one that left the program
    std::vector<At> columns_at_, rows_at_, cuts_at_;
    std::vector<std::uint8_t> handed_basis_;
    DualSimplex::Inverted kept_;  // of `kept_basis_` without `kept_forced_`, with the cuts of `kept_version_`
    std::vector<std::uint8_t> kept_basis_;
    std::vector<std::int32_t> kept_forced_;
    std::size_t kept_version_ = 0;
};

}  // namespace cobre::lp
