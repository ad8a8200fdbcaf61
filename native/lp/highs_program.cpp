#include "lp/highs_program.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace cobre::lp {

namespace {

constexpr HighsInt by_rows = 2;
constexpr HighsInt minimize = 1;

}  // namespace

HighsProgram::HighsProgram(std::shared_ptr<const HighsLibrary> highs, const Model& model, const PatchPlan& plan,
                           const Observation& observation, const Scaling& scaling, const CutPool& cuts,
                           const Settings& settings, Counters& counters)
    : highs_(std::move(highs)),
      template_(model),
      plan_(plan),
      observation_(observation),
      scaling_(scaling),
      cuts_(cuts),
      settings_(settings),
      counters_(counters) {
    instance_ = highs_->create();
    if (instance_ == nullptr) throw std::bad_alloc();
    try {
        set_base_options();
        pass_template();
    } catch (...) {
        highs_->destroy(instance_);
        throw;
    }
    column_status_.resize(template_.columns());
    row_status_.resize(template_.rows());
    dual_.resize(template_.rows());
}

HighsProgram::~HighsProgram() { highs_->destroy(instance_); }

void HighsProgram::require(HighsInt answer, const char* call) const {
    if (answer < 0)
        throw std::runtime_error(std::string("HiGHS ") + highs_->version_text + " refused " + call +
                                 "\n  fix: report this as a bug of Cobre, with the model file");
}

void HighsProgram::set_base_options() {
    const auto& h = *highs_;
    require(h.set_bool_option(instance_, "output_flag", 0), "output_flag");
    require(h.set_bool_option(instance_, "log_to_console", 0), "log_to_console");
    require(h.set_string_option(instance_, "solver", "simplex"), "solver");
    require(h.set_string_option(instance_, "presolve", "off"), "presolve");
    require(h.set_string_option(instance_, "parallel", "off"), "parallel");
    require(h.set_int_option(instance_, "threads", 1), "threads");
    require(h.set_int_option(instance_, "random_seed", 0), "random_seed");
    // HiGHS keeps the factors of its own scaling after rows came and went, so that results would depend on the
    // past.
    require(h.set_int_option(instance_, "simplex_scale_strategy", 0), "simplex_scale_strategy");
    require(h.set_int_option(instance_, "simplex_strategy", 1), "simplex_strategy");
    require(h.set_double_option(instance_, "small_matrix_value", 1e-12), "small_matrix_value");
    require(h.set_double_option(instance_, "primal_feasibility_tolerance", settings_.feasibility_tolerance),
            "primal_feasibility_tolerance");
    require(h.set_double_option(instance_, "dual_feasibility_tolerance", settings_.feasibility_tolerance),
            "dual_feasibility_tolerance");
    require(h.set_double_option(instance_, "time_limit", INFINITY), "time_limit");
    limit_iterations();
}

// A bound on cycling that is no clock: a cold start takes one or two iterations per row and column.
void HighsProgram::limit_iterations() {
    const std::size_t size = template_.columns() + template_.rows() + rows_of_cuts_.size();
    const std::size_t own = std::min<std::size_t>(10'000 + 20 * size, 1 << 30);
    const std::size_t limit =
        settings_.iteration_limit > 0 ? static_cast<std::size_t>(settings_.iteration_limit) : own;
    require(highs_->set_int_option(instance_, "simplex_iteration_limit", count(limit)), "simplex_iteration_limit");
}

void HighsProgram::pass_template() {
    const std::size_t n = template_.columns();
    const std::size_t m = template_.rows();
    sent_cost_.resize(n);
    sent_column_lower_.resize(n);
    sent_column_upper_.resize(n);
    sent_row_lower_.resize(m);
    sent_row_upper_.resize(m);
    for (std::size_t j = 0; j < n; ++j) {
        sent_cost_[j] = template_.cost[j] * scaling_.column[j] * scaling_.cost;
        sent_column_lower_[j] = template_.column_lower[j] / scaling_.column[j];
        sent_column_upper_[j] = template_.column_upper[j] / scaling_.column[j];
    }
    std::vector<double> values(template_.values.size());
    for (std::size_t i = 0; i < m; ++i) {
        sent_row_lower_[i] = template_.row_lower[i] * scaling_.row[i];
        sent_row_upper_[i] = template_.row_upper[i] * scaling_.row[i];
        for (auto k = static_cast<std::size_t>(template_.row_starts[i]);
             k < static_cast<std::size_t>(template_.row_starts[i + 1]); ++k)
            values[k] = template_.values[k] * scaling_.row[i] *
                        scaling_.column[static_cast<std::size_t>(template_.column_indices[k])];
    }
    require(highs_->pass_lp(instance_, count(n), count(m), count(values.size()), by_rows, minimize, 0.0,
                            sent_cost_.data(), sent_column_lower_.data(), sent_column_upper_.data(),
                            sent_row_lower_.data(), sent_row_upper_.data(), template_.row_starts.data(),
                            template_.column_indices.data(), values.data()),
            "passLp");
}

// Setting a basis alone would not do: the state of HiGHS's random numbers and its list of forbidden basis changes
// outlive it, and decide between ties.
void HighsProgram::restart() noexcept { highs_->clear_solver(instance_); }

// `change` tells HiGHS; `scaled` is given a number of the model and its place.
template <class Scaled>
void HighsProgram::send_bounds(std::span<const std::int32_t> places, const Bounds<const std::vector<double>>& now,
                               const Bounds<std::vector<double>>& sent, Scaled scaled, ChangeBounds change,
                               const char* call) {
    changed_.clear();
    first_.clear();
    second_.clear();
    for (const std::int32_t place : places) {
        const auto i = static_cast<std::size_t>(place);
        const double lower = scaled(now.lower[i], i);
        const double upper = scaled(now.upper[i], i);
        if (lower == sent.lower[i] && upper == sent.upper[i]) continue;
        changed_.push_back(place);
        first_.push_back(lower);
        second_.push_back(upper);
    }
    if (changed_.empty()) return;
    require(change(instance_, count(changed_.size()), changed_.data(), first_.data(), second_.data()), call);
    for (std::size_t k = 0; k < changed_.size(); ++k) {
        sent.lower[static_cast<std::size_t>(changed_[k])] = first_[k];
        sent.upper[static_cast<std::size_t>(changed_[k])] = second_[k];
    }
}

void HighsProgram::update(const Model& current) {
    if (cuts_version_ != cuts_.version()) match_cut_rows();
    send_bounds(
        plan_.rows(), {current.row_lower, current.row_upper}, {sent_row_lower_, sent_row_upper_},
        [this](double value, std::size_t i) { return value * scaling_.row[i]; }, highs_->change_row_bounds,
        "changeRowsBoundsBySet");
    send_bounds(
        plan_.column_bounds(), {current.column_lower, current.column_upper},
        {sent_column_lower_, sent_column_upper_},
        [this](double value, std::size_t j) { return value / scaling_.column[j]; }, highs_->change_column_bounds,
        "changeColsBoundsBySet");
    send_costs(current);
}

void HighsProgram::send_costs(const Model& current) {
    changed_.clear();
    first_.clear();
    for (const std::int32_t column : plan_.column_costs()) {
        const auto j = static_cast<std::size_t>(column);
        const double cost = current.cost[j] * scaling_.column[j] * scaling_.cost;
        if (cost == sent_cost_[j]) continue;
        changed_.push_back(column);
        first_.push_back(cost);
        sent_cost_[j] = cost;
    }
    if (changed_.empty()) return;
    require(highs_->change_column_costs(instance_, count(changed_.size()), changed_.data(), first_.data()),
            "changeColsCostBySet");
}

// Cuts that came after the basis was stored begin basic. HiGHS itself repairs a basis that lacks rows which were
// tight, in a way that depends on the program and the basis alone.
void HighsProgram::begin_from(std::span<const std::uint8_t> basis) {
    if (basis.empty() || basis[0] == no_basis || row_status_.empty()) return;
    const std::size_t n = template_.columns();
    const std::size_t m = template_.rows();
    for (std::size_t j = 0; j < n; ++j) column_status_[j] = basis[j];
    for (std::size_t i = 0; i < m; ++i) row_status_[i] = basis[n + i];
    for (std::size_t k = 0; k < rows_of_cuts_.size(); ++k) {
        const std::size_t position = n + m + static_cast<std::size_t>(rows_of_cuts_[k]);
        row_status_[m + k] = position < basis.size() ? basis[position] : basic;
    }
    require(highs_->set_basis(instance_, column_status_.data(), row_status_.data()), "setBasis");
}

void HighsProgram::read(Solution& solution, bool wants_reduced) {
    const std::size_t m = template_.rows();
    highs_->get_solution(instance_, solution.primal.data(), wants_reduced ? solution.reduced_cost.data() : nullptr,
                         nullptr, dual_.data());
    std::copy_n(dual_.data(), m, solution.dual.data());
    solution.cut_dual.clear();
    for (std::size_t k = 0; k < rows_of_cuts_.size(); ++k)
        if (dual_[m + k] != 0.0) solution.cut_dual.emplace_back(rows_of_cuts_[k], dual_[m + k] * cut_scale_[k]);
    HighsInt iterations = 0;
    highs_->get_int_info(instance_, "simplex_iteration_count", &iterations);
    solution.iterations = iterations;
}

void HighsProgram::store_basis(std::span<std::uint8_t> basis) {
    const std::size_t n = template_.columns();
    const std::size_t m = template_.rows();
    std::fill(basis.begin(), basis.end(), basic);
    if (highs_->get_basis(instance_, column_status_.data(), row_status_.data()) < 0) {
        basis[0] = no_basis;
        return;
    }
    for (std::size_t j = 0; j < n; ++j) basis[j] = static_cast<std::uint8_t>(column_status_[j]);
    for (std::size_t i = 0; i < m; ++i) basis[n + i] = static_cast<std::uint8_t>(row_status_[i]);
    for (std::size_t k = 0; k < rows_of_cuts_.size(); ++k)
        basis[n + m + static_cast<std::size_t>(rows_of_cuts_[k])] = static_cast<std::uint8_t>(row_status_[m + k]);
}

}  // namespace cobre::lp
