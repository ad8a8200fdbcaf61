// A bounded dual simplex method for chains of programs that differ in right-hand sides and bounds.
//
//     min c x   with   L <= A x <= U,   l <= x <= u
//
// A row is tight (its activity is nonbasic, at L or U) or loose. The basis matrix is that of the tight rows and
// the basic columns alone, so it is small, and its inverse is kept explicitly. Cuts are rows like others, but a
// loose one is only looked at when everything else is in its bounds: the most violated becomes tight, one at a
// time. So the work does not grow with the cuts that are kept, only with those that bind.
//
// Every choice is by the numbers, ties by index: the result is a function of the program, the cuts and the basis
// at the start of the chain. Nothing is perturbed. An answer is given when it satisfies the optimality conditions
// to the tolerance, computed anew from the matrix; otherwise there is none, and another solver is to be asked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lp/cut_matrix.hpp"
#include "lp/inverse.hpp"
#include "lp/reduction.hpp"

namespace cobre::lp {

// Where a nonbasic column or row is; the codes of stored bases.
enum class At : std::uint8_t { lower = 0, basic = 1, upper = 2, zero = 3 };

// The direction into which a nonbasic variable can move; 0 if it is none, or both.
inline double way_of(At at) noexcept { return at == At::lower ? 1.0 : at == At::upper ? -1.0 : 0.0; }

// The numbers of one solve, scaled, by place in the reduced program.
struct BoundedProgram {
    std::vector<double> cost;
    std::vector<double> column_lower, column_upper;
    std::vector<double> row_lower, row_upper;
    std::vector<double> cut_lower;  // of each row of the CutMatrix
};

class DualSimplex {
public:
    // All three must outlive this; the numbers may change between solves, the cuts between chains.
    DualSimplex(const Reduction& reduction, const CutMatrix& cuts, const BoundedProgram& program, double tolerance,
                int iteration_limit);

    struct Tight {
        std::int32_t row;  // a place, or m_ + row of the matrix of cuts
        At at;
        std::int32_t cut = -1;  // where its entries are, if it is a cut
    };
    // A basis that has been inverted.
    struct Inverted {
        Inverse inverse;
        std::vector<std::int32_t> basic, place, position;
        std::vector<Tight> tight;
        std::vector<std::size_t> tight_cuts;
        std::vector<At> at;
        std::vector<double> cut_rows;
    };

    // Begins a chain. `columns` and `rows` are by place, cuts by row of the matrix; what cannot be a basis is
    // mended, and if it is not dual feasible the slack basis takes its place. `kept`, if given, gets what other
    // chains need to begin from the same basis, as long as the cuts do not change.
    void begin(std::span<const At> columns, std::span<const At> rows, std::span<const At> cuts,
               Inverted* kept = nullptr);
    // The same as to begin from the basis of which `kept` is the inverse.
    void begin(const Inverted& kept);
    void begin_from_slacks();

    // False: there is no answer that holds to the tolerance. The basis is then of no use.
    bool solve();
    // The same by another way, where `solve` found no answer: near the optimum of a policy cuts are nearly
    // parallel, and one basis of several may be too close to singular.
    bool solve_from_slacks() {
        const int before = iterations_;
        begin_from_slacks();
        const bool is_solved = solve();
        iterations_ += before;
        return is_solved;
    }
    // To be called when costs have changed since the last solve.
    void costs_have_changed() { are_duals_known_ = false; }

    // The end of a chain: gives its largest memory to the next one of this thread. The last solution stays.
    void release() noexcept { inverse_.release(); }

    int iterations() const noexcept { return iterations_; }
    std::span<const double> primal() const noexcept { return x_; }
    std::span<const double> row_activity() const noexcept { return activity_; }
    std::span<const double> reduced_cost() const noexcept { return d_; }
    // By place of the row; 0 where it is loose.
    double dual(std::size_t row) const noexcept {
        return place_[row] < 0 ? 0.0 : y_[static_cast<std::size_t>(place_[row])];
    }
    At column_at(std::size_t column) const noexcept { return at_[column]; }
    At row_at(std::size_t row) const noexcept {
        return place_[row] < 0 ? At::basic : tight_[static_cast<std::size_t>(place_[row])].at;
    }
    // Calls use(row of the matrix, dual) for each tight cut.
    template <class Use>
    void for_each_tight_cut(Use&& use) const {
        for (const std::size_t t : tight_cuts_) use(at_index(tight_[t].row - m_), y_[t]);
    }

private:
    // What is to become nonbasic: the basic column in a position, or a loose row.
    struct Leaving {
        bool exists = false;
        bool is_row = false;
        std::int32_t index = -1;  // position or row
        bool to_upper = false;
    };
    struct Candidate {
        std::int32_t index;  // a column, or n_ + position of a tight row
        double room;         // |reduced cost|
        double alpha;        // > 0
        double range;        // between its bounds
        double limit;        // of the dual step, with half the tolerance
    };
    struct Placed {
        std::int32_t column;
        std::int32_t row;  // position of the tight row it is to be exchanged in, or -1
    };
    static constexpr int updates_between_factors = 100;
    enum class Step { done, again, none };

    double row_lower(std::int32_t row) const noexcept;
    double row_upper(std::int32_t row) const noexcept;
    double side(const Tight& tight) const noexcept;
    double slack_tolerance(double bound) const noexcept;
    double activity(std::int32_t row, const double* cut) const noexcept;
    // Entries of tight row t if it is a cut, by column; else null.
    const double* cut_row(std::size_t t) const noexcept {
        return tight_[t].cut < 0 ? nullptr : cut_rows_.data() + at_index(tight_[t].cut) * at_index(n_);
    }
    void find_cut_columns();
    void keep_cut(std::size_t t);
    void forget_cut(std::size_t t);
    void gather_cut(std::int32_t row, std::vector<double>& out) const;
    void add_cut(const double* cut, double factor, double* out) const noexcept;

    void factor();
    void order_columns();
    void begin_from_inverse();
    void column_times_inverse(std::int32_t column, std::vector<double>& out) const;
    void compute_duals();
    bool choose_sides();
    void compute_primal();
    void compute_everything();
    void weights_of_row(std::int32_t row);
    double norm_of_position(std::size_t p);
    double norm_of_row(std::size_t row);
    void forget_norms();
    void move(std::size_t column, double step) noexcept;
    Leaving choose_leaving();
    Leaving violated_cut();
    Step pivot(const Leaving& leaving);
    std::size_t row_of_inverse(const Leaving& leaving);
    template <class Row, class Cut>
    void each_part(const Leaving& leaving, Row&& row, Cut&& cut) const;
    std::span<const std::int32_t> touched() const noexcept { return std::span(touched_).first(n_touched_); }
    void tableau_row(const Leaving& leaving);
    void collect_candidates(double sign);
    std::int32_t ratio_test(double slope);
    void flip_passed();
    void make_tight(std::int32_t row, At at);
    void make_loose(std::size_t position, std::size_t t);
    bool are_tight_rows_right();
    bool is_dual_right();

    const SparseLines& by_row_;
    const SparseLines& by_column_;
    const CutMatrix& cuts_;
    const BoundedProgram& program_;
    const std::int32_t n_, m_;
    const double tolerance_;
    const int iteration_limit_;
    // Columns in the entries of cuts: those of the matrix of cuts in its order, then those of defining rows.
    std::vector<std::int32_t> cut_columns_;
    std::vector<char> is_in_cuts_;
    std::vector<char> is_state_;  // columns of the cuts but the future cost
    std::int32_t first_in_cuts_ = 0, end_of_cuts_ = 0;
    bool are_cuts_wide_ = false;  // whether most columns between these two stand in cuts

    Inverse inverse_;                  // [position of a basic column][position of a tight row]
    std::vector<std::int32_t> basic_;  // column in each position
    std::vector<Tight> tight_;
    std::vector<std::size_t> tight_cuts_;  // positions of cuts among the tight rows, ascending
    std::vector<std::int32_t> place_;      // of each row among the tight ones, or -1
    std::vector<std::int32_t> position_;   // of each column among the basic ones, or -1
    std::vector<At> at_;
    std::vector<double> way_;       // of each column: 1 if it can only grow, -1 if it can only shrink, else 0
    bool has_free_ = false;         // whether a nonbasic column can do both
    std::vector<double> cut_rows_;  // entries of tight cuts, by column
    std::vector<double> x_, d_, y_;
    bool is_usable_ = false;
    bool are_duals_known_ = false;
    bool is_exact_ = false;  // whether tight rows are where they should be, as values were computed last
    int updates_ = 0;        // of the inverse since it was computed
    int iterations_ = 0;

    // When, in pivots since the inverse was computed, a column's row of it last changed and its norm was added up.
    std::vector<std::int32_t> column_changed_, column_normed_, row_normed_;
    std::vector<double> column_norm_, row_norm_;
    std::int32_t clock_ = 0;

    std::vector<double> activity_;  // of each row; a tight one stays at its limit but for rounding
    std::vector<double> rho_, alpha_, column_, change_, own_cut_;
    CutMatrix::Evaluation evaluation_;
    bool is_wide_ = false;               // whether alpha_ is looked at from end to end, not by touched_
    std::vector<std::int32_t> touched_;  // the first n_touched_: columns whose alpha_ may not be 0
    std::size_t n_touched_ = 0;
    std::vector<std::uint8_t> is_touched_;
    std::vector<std::int32_t> used_;
    std::vector<std::int32_t> found_;  // has room for every column, row or position
    std::vector<std::size_t> stopping_;
    std::vector<Candidate> candidates_;
    std::vector<std::int32_t> passed_;
    std::vector<Placed> order_;
    std::vector<std::int32_t> open_columns_, open_rows_;
};

inline double DualSimplex::row_lower(std::int32_t row) const noexcept {
    return row < m_ ? program_.row_lower[at_index(row)] : program_.cut_lower[at_index(row - m_)];
}

inline double DualSimplex::row_upper(std::int32_t row) const noexcept {
    return row < m_ ? program_.row_upper[at_index(row)] : INFINITY;
}

inline double DualSimplex::side(const Tight& tight) const noexcept {
    return tight.at == At::upper ? row_upper(tight.row) : row_lower(tight.row);
}

// In units in which the coefficients are around 1.
inline double DualSimplex::slack_tolerance(double bound) const noexcept { return slack_of(tolerance_, bound); }

}  // namespace cobre::lp
