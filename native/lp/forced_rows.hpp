// Equations that leave their columns no choice.
//
// A thermal that was decided to run at its limit, or not to run, has to do so in every block of the stage: the
// side of its equation is the greatest sum, or the least, that the limits of the columns allow. Then each column
// is at a limit, the equation holds by itself, and neither need be optimised. Which equations those are depends on
// the parameters of the solve. Their duals follow from the reduced costs of the columns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lp/model.hpp"
#include "lp/reduction.hpp"
#include "lp/scaling.hpp"
#include "lp/simplex.hpp"

namespace cobre::lp {

class ForcedRows {
public:
    ForcedRows(const Model& model, const PatchPlan& plan, const Scaling& scaling, const Reduction& reduction);

    // Finds the rows that the sides of the program force, and fixes their columns.
    void fix(BoundedProgram& program, double tolerance);
    // The rows that are forced, by place: a solve that has the same ones may begin from the same inverse.
    std::span<const std::int32_t> rows() const noexcept { return forced_; }
    // A start basis without forced rows and the columns that stood for them.
    void leave(std::span<At> columns, std::span<At> rows) const noexcept;
    // To be called after a solve, with the reduced costs of its columns by place. Calls add(row, dual) for what
    // each forced row has to be given, so that reduced costs have the right sign with the limits of the program.
    template <class Add>
    void find_duals(std::span<const double> reduced_cost, Add&& add) {
        shifts_.clear();
        for (const std::int32_t which : forced_) {
            shifts_.push_back(shift_of(candidates_[at_index(which)], reduced_cost));
            add(candidates_[at_index(which)].row, shifts_.back().dual);
        }
    }
    // Calls change(column, by) for each reduced cost that these duals change.
    template <class Change>
    void each_reduced(Change&& change) const {
        for (std::size_t f = 0; f < forced_.size(); ++f)
            for (const Term& term : terms_of(candidates_[at_index(forced_[f])]))
                change(term.column, -shifts_[f].dual * term.value);
    }
    // The basis that has these duals: the column that sets the dual of a forced row stands for it.
    void enter(std::span<At> columns, std::span<At> rows) const noexcept;

private:
    struct Term {
        std::int32_t column;
        double value;
        double lower, upper;
    };
    struct Candidate {
        std::int32_t row;
        std::size_t begin, end;  // of its terms
        double least, greatest;
    };
    struct Shift {
        double dual;
        std::int32_t column;  // that sets it, or -1
    };
    std::span<const Term> terms_of(const Candidate& candidate) const noexcept {
        return std::span(terms_).subspan(candidate.begin, candidate.end - candidate.begin);
    }
    Shift shift_of(const Candidate& candidate, std::span<const double> reduced_cost) const noexcept;
    bool is_at_lower(const Term& term) const noexcept { return at_lower_[at_index(term.column)] != 0; }
    // How many columns of a row are basic, and one of them.
    std::int32_t count_basic(const Candidate& candidate, std::span<const At> columns, std::int32_t& one) const;

    std::vector<Term> terms_;
    std::vector<Candidate> candidates_;
    std::vector<std::int32_t> forced_;       // candidates that are
    std::vector<Shift> shifts_;              // of each of these
    std::vector<char> is_fixed_, at_lower_;  // by column
};

}  // namespace cobre::lp
