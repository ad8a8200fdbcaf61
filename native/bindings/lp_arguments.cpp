#include "bindings/lp_arguments.hpp"

namespace cobre::bindings {

namespace {

void check_indices(const std::vector<std::int32_t>& indices, std::size_t size, const char* name) {
    for (const std::int32_t index : indices)
        if (index < 0 || static_cast<std::size_t>(index) >= size)
            throw std::invalid_argument(std::string(name) + " holds " + std::to_string(index) + " but there are " +
                                        std::to_string(size) + "\n  fix: indices run from 0");
}

}  // namespace

std::string shape_text(std::size_t rows, std::size_t columns) {
    return "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
}

lp::PatchPlan make_plan(const lp::Model& model, const Vector<std::uint8_t>& target,
                        const Vector<std::int32_t>& index, const Vector<std::int32_t>& source,
                        const Vector<double>& offset, const Vector<double>& factor, std::size_t n_parameters) {
    const std::size_t n = target.size();
    if (index.size() != n || source.size() != n || offset.size() != n || factor.size() != n)
        throw std::invalid_argument(
            "the arrays of the patches differ in length\n  fix: give one element per patch");
    std::vector<lp::Patch> patches;
    for (std::size_t k = 0; k < n; ++k) {
        if (target.data()[k] >= lp::n_targets)
            throw std::invalid_argument("patch " + std::to_string(k) + " has the unknown target " +
                                        std::to_string(target.data()[k]) + "\n  fix: use a Target");
        patches.push_back({static_cast<lp::Target>(target.data()[k]), index.data()[k], source.data()[k],
                           offset.data()[k], factor.data()[k]});
    }
    return {patches, model, n_parameters};
}

void check_order(const Vector<std::int32_t>& order, std::size_t chain_length) {
    std::vector<char> is_named(chain_length, 0);
    bool is_good = order.size() == chain_length;
    for (std::size_t k = 0; is_good && k < chain_length; ++k) {
        const auto row = static_cast<std::size_t>(order.data()[k]);
        is_good = row < chain_length && is_named[row] == 0;
        if (is_good) is_named[row] = 1;
    }
    if (!is_good)
        throw std::invalid_argument("the order does not name each of the " + std::to_string(chain_length) +
                                    " solves of a chain once\n  fix: give a permutation of their numbers");
}

void check_observation(const lp::Observation& observation, const lp::Model& model) {
    check_indices(observation.cut_columns, model.columns(), "cut_columns");
    check_indices(observation.columns, model.columns(), "observed_columns");
    check_indices(observation.rows, model.rows(), "observed_rows");
    if (observation.future_cost_column < -1 ||
        observation.future_cost_column >= static_cast<std::int32_t>(model.columns()))
        throw std::invalid_argument("future_cost_column is " + std::to_string(observation.future_cost_column) +
                                    " but there are " + std::to_string(model.columns()) +
                                    " columns\n  fix: name one of them, or -1 for none");
    std::vector<char> seen(model.columns(), 0);
    if (observation.future_cost_column >= 0) seen[static_cast<std::size_t>(observation.future_cost_column)] = 1;
    for (const std::int32_t column : observation.cut_columns)
        if (seen[static_cast<std::size_t>(column)]++ != 0)
            throw std::invalid_argument(
                "column " + std::to_string(column) +
                " is named twice by cut_columns and future_cost_column\n  fix: each column "
                "of a cut must be another one");
}

}  // namespace cobre::bindings
