// The part of `HighsProgram` that keeps HiGHS's rows equal to the active cuts.
#include <cmath>

#include "lp/highs_program.hpp"

namespace cobre::lp {

// Rows of cuts stand in slot order, always: first those leave that are no longer wanted, then all from the first
// position on where one is to be inserted, and what is missing is added at the end.
void HighsProgram::match_cut_rows() {
    if (cuts_clearings_ != cuts_.clearings()) delete_rows_from(0);
    cuts_clearings_ = cuts_.clearings();
    cuts_version_ = cuts_.version();
    const auto wanted = cuts_.active_slots();
    std::vector<HighsInt> leaving;
    std::vector<std::int32_t> staying;
    for (std::size_t k = 0; k < rows_of_cuts_.size(); ++k) {
        const auto slot = static_cast<std::size_t>(rows_of_cuts_[k]);
        if (slot < cuts_.slots() && cuts_.is_active(slot)) staying.push_back(rows_of_cuts_[k]);
        else leaving.push_back(count(template_.rows() + k));
    }
    if (!leaving.empty()) {
        require(highs_->delete_rows(instance_, count(leaving.size()), leaving.data()), "deleteRowsBySet");
        std::size_t next = 0;
        for (std::size_t k = 0; k < rows_of_cuts_.size(); ++k)
            if (next < staying.size() && rows_of_cuts_[k] == staying[next]) cut_scale_[next++] = cut_scale_[k];
        cut_scale_.resize(staying.size());
        rows_of_cuts_ = staying;
    }
    std::size_t same = 0;
    while (same < rows_of_cuts_.size() && rows_of_cuts_[same] == wanted[same]) ++same;
    delete_rows_from(same);
    add_cut_rows(wanted.subspan(same));
    row_status_.resize(template_.rows() + rows_of_cuts_.size());
    dual_.resize(template_.rows() + rows_of_cuts_.size());
    limit_iterations();
}

void HighsProgram::delete_rows_from(std::size_t position) {
    std::vector<HighsInt> leaving;
    for (std::size_t k = position; k < rows_of_cuts_.size(); ++k) leaving.push_back(count(template_.rows() + k));
    if (leaving.empty()) return;
    require(highs_->delete_rows(instance_, count(leaving.size()), leaving.data()), "deleteRowsBySet");
    rows_of_cuts_.resize(position);
    cut_scale_.resize(position);
}

void HighsProgram::add_cut_rows(std::span<const std::int32_t> slots) {
    if (slots.empty()) return;
    const auto theta = static_cast<std::size_t>(observation_.future_cost_column);
    std::vector<double> lower, values, scaled;
    std::vector<HighsInt> starts, indices;
    for (const std::int32_t slot : slots) {
        const auto coefficients = cuts_.coefficients(static_cast<std::size_t>(slot));
        scaled.assign(1, scaling_.column[theta]);
        for (std::size_t j = 0; j < coefficients.size(); ++j)
            scaled.push_back(-coefficients[j] *
                             scaling_.column[static_cast<std::size_t>(observation_.cut_columns[j])]);
        const double scale = inverse_of_largest(scaled);
        starts.push_back(count(values.size()));
        for (std::size_t j = 0; j < scaled.size(); ++j) {
            if (scaled[j] == 0.0) continue;
            indices.push_back(j == 0 ? observation_.future_cost_column : observation_.cut_columns[j - 1]);
            values.push_back(scaled[j] * scale);
        }
        lower.push_back(cuts_.intercept(static_cast<std::size_t>(slot)) * scale);
        cut_scale_.push_back(scale);
        rows_of_cuts_.push_back(slot);
    }
    const std::vector<double> upper(lower.size(), INFINITY);
    require(highs_->add_rows(instance_, count(lower.size()), lower.data(), upper.data(), count(values.size()),
                             starts.data(), indices.data(), values.data()),
            "addRows");
}

}  // namespace cobre::lp
