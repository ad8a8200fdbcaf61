// One HiGHS instance that holds a scaled template and its active cuts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lp/cuts.hpp"
#include "lp/highs_library.hpp"
#include "lp/model.hpp"
#include "lp/scaling.hpp"
#include "lp/types.hpp"

namespace cobre::lp {

class HighsProgram {
public:
    // All but the library must outlive this.
    HighsProgram(std::shared_ptr<const HighsLibrary> highs, const Model& model, const PatchPlan& plan,
                 const Observation& observation, const Scaling& scaling, const CutPool& cuts,
                 const Settings& settings, Counters& counters);
    ~HighsProgram();
    HighsProgram(const HighsProgram&) = delete;
    HighsProgram& operator=(const HighsProgram&) = delete;

    // Discards the state of earlier solves.
    void restart() noexcept;
    // Passes to HiGHS what has changed since the last solve: patched numbers and rows of cuts.
    void update(const Model& current);
    // Nothing happens for a basis that says to begin from the slack basis.
    void begin_from(std::span<const std::uint8_t> basis);
    Status run(int& attempts);
    void read(Solution& solution, bool wants_reduced);
    void store_basis(std::span<std::uint8_t> basis);

private:
    using ChangeBounds = decltype(HighsLibrary::change_row_bounds);
    template <class Numbers>
    struct Bounds {
        Numbers& lower;
        Numbers& upper;
    };

    void set_base_options();
    void limit_iterations();
    void pass_template();
    template <class Scaled>
    void send_bounds(std::span<const std::int32_t> places, const Bounds<const std::vector<double>>& now,
                     const Bounds<std::vector<double>>& sent, Scaled scaled, ChangeBounds change,
                     const char* call);
    void send_costs(const Model& current);
    Status run_once();
    Status retry(Status first, int& attempts);
    void match_cut_rows();
    void delete_rows_from(std::size_t position);
    void add_cut_rows(std::span<const std::int32_t> slots);
    void require(HighsInt answer, const char* call) const;

    std::shared_ptr<const HighsLibrary> highs_;
    void* instance_ = nullptr;
    const Model& template_;
    const PatchPlan& plan_;
    const Observation& observation_;
    const Scaling& scaling_;
    const CutPool& cuts_;
    const Settings& settings_;
    Counters& counters_;
    std::vector<std::int32_t> rows_of_cuts_;  // the slots whose rows HiGHS holds, in order
    std::vector<double> cut_scale_;           // of each of those rows
    std::size_t cuts_version_ = 0;
    std::size_t cuts_clearings_ = 0;

    // What HiGHS was told last, scaled: a value that did not change is not sent again.
    std::vector<double> sent_cost_, sent_column_lower_, sent_column_upper_, sent_row_lower_, sent_row_upper_;
    // Work space of a solve.
    std::vector<HighsInt> changed_;
    std::vector<double> first_, second_;
    std::vector<HighsInt> column_status_, row_status_;
    std::vector<double> dual_;
};

}  // namespace cobre::lp
