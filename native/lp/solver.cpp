#include "lp/solver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lp/stop_watch.hpp"

namespace cobre::lp {

namespace {

constexpr HighsInt by_rows = 2;
constexpr HighsInt minimize = 1;
constexpr std::int64_t interrupt_interval_ns = 20'000'000;

}  // namespace

Solver::Solver(std::shared_ptr<const HighsLibrary> highs, Model model, PatchPlan plan, Observation observation,
               Settings settings)
    : highs_(std::move(highs)),
      template_(std::move(model)),
      current_(template_),
      plan_(std::move(plan)),
      observation_(std::move(observation)),
      settings_(settings),
      scaling_(Scaling::of(template_, observation_.future_cost_column)),
      cuts_(observation_.cut_columns.size()) {
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
    primal_.resize(template_.columns());
    reduced_cost_.resize(template_.columns());
    row_status_.resize(template_.rows());
    dual_.resize(template_.rows());
}

Solver::~Solver() { highs_->destroy(instance_); }

void Solver::require(HighsInt answer, const char* call) const {
    if (answer < 0)
        throw std::runtime_error(std::string("HiGHS ") + highs_->version_text + " refused " + call +
                                 "\n  fix: report this as a bug of Cobre, with the model file");
}

void Solver::set_base_options() {
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
void Solver::limit_iterations() {
    const std::size_t size = template_.columns() + template_.rows() + rows_of_cuts_.size();
    const std::size_t own = std::min<std::size_t>(10'000 + 20 * size, 1 << 30);
    const std::size_t limit =
        settings_.iteration_limit > 0 ? static_cast<std::size_t>(settings_.iteration_limit) : own;
    require(highs_->set_int_option(instance_, "simplex_iteration_limit", count(limit)), "simplex_iteration_limit");
}

void Solver::pass_template() {
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
void Solver::restart() noexcept { highs_->clear_solver(instance_); }

bool Solver::send_changes() {
    const bool are_rows_good = send_rows();
    const bool are_columns_good = send_column_bounds();
    send_costs();
    return are_rows_good && are_columns_good;
}

bool Solver::send_rows() {
    changed_.clear();
    first_.clear();
    second_.clear();
    bool is_good = true;
    for (const std::int32_t row : plan_.rows()) {
        const auto i = static_cast<std::size_t>(row);
        const double lower = current_.row_lower[i] * scaling_.row[i];
        const double upper = current_.row_upper[i] * scaling_.row[i];
        is_good &= lower <= upper;
        if (lower == sent_row_lower_[i] && upper == sent_row_upper_[i]) continue;
        changed_.push_back(row);
        first_.push_back(lower);
        second_.push_back(upper);
    }
    // HiGHS moves bounds that cross by little; then it and we would no longer mean the same program.
    if (!is_good || changed_.empty()) return is_good;
    require(highs_->change_row_bounds(instance_, count(changed_.size()), changed_.data(), first_.data(),
                                      second_.data()),
            "changeRowsBoundsBySet");
    for (std::size_t k = 0; k < changed_.size(); ++k) {
        sent_row_lower_[static_cast<std::size_t>(changed_[k])] = first_[k];
        sent_row_upper_[static_cast<std::size_t>(changed_[k])] = second_[k];
    }
    return true;
}

bool Solver::send_column_bounds() {
    changed_.clear();
    first_.clear();
    second_.clear();
    bool is_good = true;
    for (const std::int32_t column : plan_.column_bounds()) {
        const auto j = static_cast<std::size_t>(column);
        const double lower = current_.column_lower[j] / scaling_.column[j];
        const double upper = current_.column_upper[j] / scaling_.column[j];
        is_good &= lower <= upper;
        if (lower == sent_column_lower_[j] && upper == sent_column_upper_[j]) continue;
        changed_.push_back(column);
        first_.push_back(lower);
        second_.push_back(upper);
    }
    if (!is_good || changed_.empty()) return is_good;
    require(highs_->change_column_bounds(instance_, count(changed_.size()), changed_.data(), first_.data(),
                                         second_.data()),
            "changeColsBoundsBySet");
    for (std::size_t k = 0; k < changed_.size(); ++k) {
        sent_column_lower_[static_cast<std::size_t>(changed_[k])] = first_[k];
        sent_column_upper_[static_cast<std::size_t>(changed_[k])] = second_[k];
    }
    return true;
}

void Solver::send_costs() {
    changed_.clear();
    first_.clear();
    for (const std::int32_t column : plan_.column_costs()) {
        const auto j = static_cast<std::size_t>(column);
        const double cost = current_.cost[j] * scaling_.column[j] * scaling_.cost;
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
void Solver::begin_from(std::span<const std::uint8_t> basis) {
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

Outcome Solver::solve(const BatchInput& input, const BatchOutput& output,
                      const std::function<bool()>& is_interrupted) {
    Outcome outcome;
    StopWatch watch;
    std::int64_t asked_ns = now_ns();
    for (std::size_t index = 0; index < input.solves; ++index) {
        const std::size_t chain = index / input.chain_length;
        const std::size_t place = index % input.chain_length;
        outcome.solved = index;
        outcome.attempts = 1;
        if (place == 0) {
            restart();
            watch.lap(counters_.basis_ns);
            ++counters_.chains;
        }
        const auto parameters = input.parameters.subspan(index * plan_.n_parameters(), plan_.n_parameters());
        if (!plan_.apply(parameters, current_)) {
            outcome.status = Status::bad_parameter;
            return outcome;
        }
        const bool is_possible = send_changes();
        watch.lap(counters_.patch_ns);
        if (!is_possible) {
            outcome.status = Status::infeasible;
            return outcome;
        }
        if (place == 0 && !input.start_bases.empty()) {
            const std::size_t row = input.is_start_shared ? 0 : chain;
            begin_from(input.start_bases.subspan(row * input.start_width, input.start_width));
            watch.lap(counters_.basis_ns);
        }
        outcome.status = run(outcome.attempts);
        watch.lap(counters_.run_ns);
        ++counters_.solves;
        if (outcome.status != Status::optimal) return outcome;
        extract(index, output);
        if (!output.bases.empty() && place == input.basis_of)
            store_basis(output.bases.subspan(chain * basis_size(), basis_size()));
        const std::int64_t now = watch.lap(counters_.extract_ns);
        if (now - asked_ns > interrupt_interval_ns) {
            asked_ns = now;
            if (is_interrupted()) {
                outcome.status = Status::interrupted;
                return outcome;
            }
        }
    }
    outcome.solved = input.solves;
    return outcome;
}

void Solver::extract(std::size_t index, const BatchOutput& output) {
    const std::size_t n = template_.columns();
    const std::size_t m = template_.rows();
    const bool wants_reduced = !output.reduced_cost.empty();
    highs_->get_solution(instance_, primal_.data(), wants_reduced ? reduced_cost_.data() : nullptr, nullptr,
                         dual_.data());
    double objective = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
        primal_[j] = primal_[j] * scaling_.column[j] + 0.0;  // a zero of either sign is the same answer
        objective += current_.cost[j] * primal_[j];
    }
    output.objective[index] = objective;
    const double per_cost = 1.0 / scaling_.cost;
    double* primal = output.observed_primal.data() + index * observation_.columns.size();
    for (const std::int32_t column : observation_.columns) *primal++ = primal_[static_cast<std::size_t>(column)];
    double* dual = output.observed_dual.data() + index * observation_.rows.size();
    for (const std::int32_t row : observation_.rows) {
        const auto i = static_cast<std::size_t>(row);
        *dual++ = dual_[i] * scaling_.row[i] * per_cost + 0.0;
    }
    if (!output.cut_dual.empty()) {
        double* all = output.cut_dual.data() + index * cuts_.slots();
        std::fill_n(all, cuts_.slots(), 0.0);
        for (std::size_t k = 0; k < rows_of_cuts_.size(); ++k)
            all[rows_of_cuts_[k]] = dual_[m + k] * cut_scale_[k] * per_cost + 0.0;
    }
    if (!output.primal.empty()) std::copy_n(primal_.data(), n, output.primal.data() + index * n);
    if (!output.dual.empty())
        for (std::size_t i = 0; i < m; ++i)
            output.dual[index * m + i] = dual_[i] * scaling_.row[i] * per_cost + 0.0;
    if (wants_reduced)
        for (std::size_t j = 0; j < n; ++j)
            output.reduced_cost[index * n + j] = reduced_cost_[j] / scaling_.column[j] * per_cost + 0.0;
    HighsInt iterations = 0;
    highs_->get_int_info(instance_, "simplex_iteration_count", &iterations);
    counters_.iterations += iterations;
    if (!output.iterations.empty()) output.iterations[index] = iterations;
}

void Solver::store_basis(std::span<std::uint8_t> basis) {
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
