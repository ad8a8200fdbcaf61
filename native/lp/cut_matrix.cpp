#include "lp/cut_matrix.hpp"

#include "lp/kernels.hpp"

namespace cobre::lp {

CutMatrix::CutMatrix(std::span<const std::int32_t> cut_columns, std::int32_t future_cost_column,
                     const Reduction& reduction, const Scaling& scaling) {
    if (future_cost_column < 0) return;
    const auto theta = static_cast<std::size_t>(future_cost_column);
    columns_.push_back(reduction.column_place[theta]);
    sources_.push_back({0, scaling.column[theta]});
    std::vector<std::int32_t> defined_by(reduction.column_place.size(), -1);
    for (const auto& each : reduction.dependent)
        defined_by[at_index(each.column)] = reduction.row_place[at_index(each.row)];
    std::vector<std::int32_t> determined;
    std::vector<Source> of_dependent, of_determined;
    for (std::size_t j = 0; j < cut_columns.size(); ++j) {
        const std::size_t column = at_index(cut_columns[j]);
        const Source source{j, scaling.column[column]};
        if (reduction.column_place[column] >= 0) {
            columns_.push_back(reduction.column_place[column]);
            sources_.push_back(source);
        } else if (defined_by[column] >= 0) {
            defining_rows_.push_back(defined_by[column]);
            left_columns_.push_back(cut_columns[j]);
            of_dependent.push_back(source);
        } else {
            determined.push_back(cut_columns[j]);
            of_determined.push_back(source);
        }
    }
    left_columns_.insert(left_columns_.end(), determined.begin(), determined.end());
    sources_.insert(sources_.end(), of_dependent.begin(), of_dependent.end());
    sources_.insert(sources_.end(), of_determined.begin(), of_determined.end());
    entries_.resize(sources_.size());
    row_.resize(sources_.size());
}

void CutMatrix::make_room(std::size_t n, std::size_t slots) {
    // By a quarter, not by half or double: the columns together are as large as the policy.
    const auto grow = [](auto& places, std::size_t needed) {
        if (places.capacity() < needed) places.reserve(needed + needed / 4);
    };
    const std::size_t needed = slots_.size() + n;
    for (auto& entries : entries_) grow(entries, needed);
    grow(slots_, needed);
    grow(lower_, needed);
    grow(scale_, needed);
    grow(rows_, slots);
}

void CutMatrix::append(const CutPool& pool, std::size_t first_slot) {
    make_room(pool.slots() - first_slot, pool.slots());
    rows_.resize(pool.slots(), -1);
    for (std::size_t slot = first_slot; slot < pool.slots(); ++slot) {
        if (!pool.is_active(slot)) continue;
        const auto coefficients = pool.coefficients(slot);
        row_[0] = sources_[0].scale;
        for (std::size_t j = 1; j < row_.size(); ++j)
            row_[j] = -coefficients[sources_[j].coefficient] * sources_[j].scale;
        const double scale = inverse_of_largest(row_);
        for (std::size_t j = 0; j < row_.size(); ++j) entries_[j].push_back(row_[j] * scale);
        rows_[slot] = static_cast<std::int32_t>(slots_.size());
        slots_.push_back(static_cast<std::int32_t>(slot));
        lower_.push_back(pool.intercept(slot) * scale);
        scale_.push_back(scale);
    }
}

void CutMatrix::rebuild(const CutPool& pool) {
    slots_.clear();
    rows_.clear();
    lower_.clear();
    scale_.clear();
    for (auto& entries : entries_) entries.clear();
    append(pool, 0);
}

void CutMatrix::open_sides(std::span<const double> primal, std::vector<double>& out) const {
    out.assign(lower_.begin(), lower_.end());
    for (std::size_t j = 0; j < left_columns_.size(); ++j) {
        const double value = primal[at_index(left_columns_[j])];
        if (value != 0.0)
            add_multiple_of_any(out.data(), -value, entries_[columns_.size() + j].data(), out.size());
    }
}

std::int32_t CutMatrix::most_violated(std::span<const double> x, std::span<const double> activity,
                                      std::span<const double> sides, Evaluation& before, double& violation) const {
    const bool is_first = before.x.empty();
    if (is_first) {
        before.x.assign(columns_.size() + defining_rows_.size(), 0.0);
        before.violations.resize(slots_.size());
    }
    before.factors.clear();
    before.changed.clear();
    const auto look = [&](std::size_t j, double value) {
        if (value == before.x[j]) return;
        before.factors.push_back(before.x[j] - value);
        before.changed.push_back(entries_[j].data());
        before.x[j] = value;
    };
    for (std::size_t j = 0; j < columns_.size(); ++j) look(j, x[at_index(columns_[j])]);
    for (std::size_t j = 0; j < defining_rows_.size(); ++j)
        look(columns_.size() + j, activity[at_index(defining_rows_[j])]);
    const auto found =
        greatest_sum(is_first ? sides.data() : before.violations.data(), before.factors.data(),
                     before.changed.data(), before.changed.size(), slots_.size(), before.violations.data());
    violation = found.value;
    return found.place;
}

}  // namespace cobre::lp
