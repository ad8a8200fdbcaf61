#include "lp/solver.hpp"

#include <algorithm>
#include <cmath>

namespace cobre::lp {

namespace {

// Beyond this many rows the explicit inverse costs more than HiGHS's sparse factors.
constexpr std::size_t most_simplex_rows = 2000;

At at_of(std::uint8_t code) noexcept { return code <= 3 ? static_cast<At>(code) : At::lower; }

}  // namespace

Solver::Solver(std::shared_ptr<const HighsLibrary> highs, Model model, PatchPlan plan, Observation observation,
               Settings settings)
    : Solver(std::move(highs), std::move(model), std::move(plan), std::move(observation), settings, nullptr) {}

Solver::Solver(std::shared_ptr<const HighsLibrary> highs, Model model, PatchPlan plan, Observation observation,
               Settings settings, std::shared_ptr<SharedCuts> cuts)
    : library_(std::move(highs)),
      template_(std::move(model)),
      current_(template_),
      plan_(std::move(plan)),
      observation_(std::move(observation)),
      settings_(settings),
      scaling_(Scaling::of(template_, observation_.future_cost_column)),
      reduction_(Reduction::of(template_, plan_, scaling_, observation_.future_cost_column)),
      forced_(template_, plan_, scaling_, reduction_),
      cuts_(std::move(cuts)) {
    if (!cuts_)
        cuts_ = std::make_shared<SharedCuts>(
            CutPool(observation_.cut_columns.size()),
            CutMatrix(observation_.cut_columns, observation_.future_cost_column, reduction_, scaling_));
    solution_.primal.resize(template_.columns());
    solution_.reduced_cost.resize(template_.columns());
    solution_.dual.resize(template_.rows());
    row_side_.resize(template_.rows());
    left_cut_dual_.resize(template_.columns());
    program_.cost.resize(reduction_.columns.size());
    program_.column_lower.resize(reduction_.columns.size());
    program_.column_upper.resize(reduction_.columns.size());
    program_.row_lower.resize(reduction_.rows.size());
    program_.row_upper.resize(reduction_.rows.size());
    columns_at_.resize(reduction_.columns.size());
    rows_at_.resize(reduction_.rows.size());
    if (settings_.uses_simplex && reduction_.rows.size() <= most_simplex_rows)
        simplex_ = std::make_unique<DualSimplex>(reduction_, cuts_->matrix, program_,
                                                 settings_.feasibility_tolerance, settings_.iteration_limit);
}

std::unique_ptr<Solver> Solver::sibling() const {
    return std::unique_ptr<Solver>(new Solver(library_, template_, plan_, observation_, settings_, cuts_));
}

HighsProgram& Solver::highs() {
    if (!highs_)
        highs_ = std::make_unique<HighsProgram>(library_, template_, plan_, observation_, scaling_, cuts_->pool,
                                                settings_, counters_);
    return *highs_;
}

void Solver::append_cuts(std::span<const double> intercepts, std::span<const double> coefficients) {
    StopWatch watch;
    const std::size_t first = cuts_->pool.slots();
    cuts_->matrix.make_room(intercepts.size(), first + intercepts.size());
    cuts_->pool.append(intercepts, coefficients);
    cuts_->matrix.append(cuts_->pool, first);
    watch.lap(counters_.cuts_ns);
}

void Solver::share_cuts(std::span<const double> rows) {
    StopWatch watch;
    const std::size_t first = cuts_->pool.slots();
    const std::size_t slots = rows.size() / (1 + cuts_->pool.dimension());
    cuts_->matrix.make_room(slots - first, slots);  // before, so that nothing is half done where memory ends
    cuts_->pool.share(rows);
    cuts_->matrix.append(cuts_->pool, first);
    watch.lap(counters_.cuts_ns);
}

void Solver::set_active(std::span<const std::uint8_t> active) {
    StopWatch watch;
    cuts_->pool.set_active(active);
    cuts_->matrix.rebuild(cuts_->pool);
    watch.lap(counters_.cuts_ns);
}

void Solver::clear_cuts() {
    StopWatch watch;
    cuts_->pool.clear();
    cuts_->matrix.rebuild(cuts_->pool);
    watch.lap(counters_.cuts_ns);
}

// HiGHS moves bounds that cross by little; then it and we would no longer mean the same program.
bool Solver::are_bounds_in_order() const noexcept {
    bool is_good = true;
    for (const std::int32_t i : plan_.rows())
        is_good &= current_.row_lower[at_index(i)] <= current_.row_upper[at_index(i)];
    for (const std::int32_t j : plan_.column_bounds())
        is_good &= current_.column_lower[at_index(j)] <= current_.column_upper[at_index(j)];
    return is_good;
}

// False if a column that is determined has to be beyond its limits.
bool Solver::fill_program() {
    for (const auto& each : reduction_.determined)
        row_side_[at_index(each.row)] = current_.row_lower[at_index(each.row)] * scaling_.row[at_index(each.row)];
    if (!reduction_.determine(row_side_, solution_.primal, settings_.feasibility_tolerance)) return false;
    for (std::size_t k = 0; k < reduction_.rows.size(); ++k) {
        const std::size_t i = at_index(reduction_.rows[k]);
        const double given = reduction_.given_part(i, solution_.primal);
        program_.row_lower[k] = current_.row_lower[i] * scaling_.row[i] - given;
        program_.row_upper[k] = current_.row_upper[i] * scaling_.row[i] - given;
    }
    for (const auto& each : reduction_.dependent) {
        const std::size_t j = at_index(each.column), k = at_index(reduction_.row_place[at_index(each.row)]);
        const double constant = program_.row_lower[k] / each.coefficient;
        program_.row_lower[k] = current_.column_lower[j] / scaling_.column[j] - constant;
        program_.row_upper[k] = current_.column_upper[j] / scaling_.column[j] - constant;
        solution_.primal[j] = constant;  // `read_simplex` adds the rest
    }
    for (std::size_t k = 0; k < reduction_.columns.size(); ++k) {
        const std::size_t j = at_index(reduction_.columns[k]);
        program_.column_lower[k] = current_.column_lower[j] / scaling_.column[j];
        program_.column_upper[k] = current_.column_upper[j] / scaling_.column[j];
        program_.cost[k] = current_.cost[j] * scaling_.column[j] * scaling_.cost;
    }
    forced_.fix(program_, settings_.feasibility_tolerance);
    cuts_->matrix.open_sides(solution_.primal, program_.cut_lower);
    return true;
}

void Solver::begin_simplex(std::span<const std::uint8_t> basis, bool is_shared) {
    is_simplex_ready_ = true;
    if (basis.empty() || basis[0] == no_basis) {
        simplex_->begin_from_slacks();
        return;
    }
    const std::size_t version = cuts_->pool.version();
    if (is_shared && kept_version_ == version && std::ranges::equal(basis, kept_basis_) &&
        std::ranges::equal(forced_.rows(), kept_forced_)) {
        simplex_->begin(kept_);
        return;
    }
    const std::size_t n = template_.columns();
    const std::size_t m = template_.rows();
    for (std::size_t k = 0; k < reduction_.columns.size(); ++k)
        columns_at_[k] = at_of(basis[at_index(reduction_.columns[k])]);
    for (std::size_t k = 0; k < reduction_.rows.size(); ++k)
        rows_at_[k] = at_of(basis[n + at_index(reduction_.rows[k])]);
    for (const auto& each : reduction_.dependent) {
        At& at = rows_at_[at_index(reduction_.row_place[at_index(each.row)])];
        if (at != At::basic) at = at_of(basis[at_index(each.column)]);
        if (at == At::zero) at = At::basic;
    }
    forced_.leave(columns_at_, rows_at_);
    cuts_at_.resize(cuts_->matrix.size());
    for (std::size_t k = 0; k < cuts_at_.size(); ++k) {
        const std::size_t position = n + m + at_index(cuts_->matrix.slot(k));
        cuts_at_[k] = position < basis.size() ? at_of(basis[position]) : At::basic;
    }
    simplex_->begin(columns_at_, rows_at_, cuts_at_, is_shared ? &kept_ : nullptr);
    if (is_shared) {
        kept_basis_.assign(basis.begin(), basis.end());
        kept_forced_.assign(forced_.rows().begin(), forced_.rows().end());
        kept_version_ = version;
    }
}

Status Solver::solve_one(std::span<const std::uint8_t> start, bool is_shared, bool is_first, int& attempts,
                         StopWatch& watch) {
    if (simplex_) {
        const bool is_within = fill_program();
        watch.lap(counters_.patch_ns);
        if (is_within && (is_first || !is_simplex_ready_)) {
            begin_simplex(is_first ? start : std::span<const std::uint8_t>(handed_basis_), is_shared && is_first);
            watch.lap(counters_.basis_ns);
        } else if (!plan_.column_costs().empty()) {
            simplex_->costs_have_changed();
        }
        is_from_highs_ = !(is_within && (simplex_->solve() || simplex_->solve_from_slacks()));
        is_simplex_ready_ = !is_from_highs_;
        if (!is_from_highs_) return Status::optimal;
        ++counters_.handed_over;
    }
    is_from_highs_ = true;
    HighsProgram& highs = this->highs();
    const bool is_fresh = simplex_ || is_first;
    if (is_fresh) highs.restart();
    watch.lap(counters_.basis_ns);
    highs.update(current_);
    watch.lap(counters_.patch_ns);
    if (is_fresh) highs.begin_from(start);
    watch.lap(counters_.basis_ns);
    const Status status = highs.run(attempts);
    if (simplex_ && status == Status::optimal) {
        handed_basis_.resize(basis_size());
        highs.store_basis(handed_basis_);
    }
    return status;
}

Outcome Solver::solve(const BatchInput& input, const Block& block, const BatchOutput& output,
                      const std::function<bool()>& is_interrupted) {
    const Outcome outcome = solve_block(input, block, output, is_interrupted);
    if (simplex_) simplex_->release();
    return outcome;
}

Outcome Solver::solve_block(const BatchInput& input, const Block& block, const BatchOutput& output,
                            const std::function<bool()>& is_interrupted) {
    Outcome outcome;
    StopWatch watch;
    std::int64_t asked_ns = now_ns();
    std::span<const std::uint8_t> start = block.start;
    if (start.empty() && !input.start_bases.empty())
        start = input.start_bases.subspan((input.is_start_shared ? 0 : block.chain) * input.start_width,
                                          input.start_width);
    ++counters_.chains;
    for (std::size_t place = block.first; place < block.first + block.count; ++place) {
        const std::size_t row = input.order.empty() ? place : at_index(input.order[place]);
        const std::size_t index = block.chain * input.chain_length + row;
        outcome.solved = index;
        outcome.attempts = 1;
        const auto parameters = input.parameters.subspan(index * plan_.n_parameters(), plan_.n_parameters());
        if (!plan_.apply(parameters, current_)) {
            outcome.status = Status::bad_parameter;
            return outcome;
        }
        if (!are_bounds_in_order()) {
            outcome.status = Status::infeasible;
            return outcome;
        }
        outcome.status = solve_one(start, input.is_start_shared, place == block.first, outcome.attempts, watch);
        watch.lap(counters_.run_ns);
        ++counters_.solves;
        if (outcome.status != Status::optimal) return outcome;
        extract(index, output);
        if (!output.bases.empty() && row == input.basis_of)
            store_basis(output.bases.subspan(block.chain * basis_size(), basis_size()));
        const std::int64_t now = watch.lap(counters_.extract_ns);
        if (now - asked_ns > interrupt_interval_ns) {
            asked_ns = now;
            if (is_interrupted()) {
                outcome.status = Status::interrupted;
                return outcome;
            }
        }
    }
    return outcome;
}

// The columns and rows that were left out get their values and duals from the others.
void Solver::read_simplex(bool wants_reduced) {
    Solution& s = solution_;
    for (std::size_t k = 0; k < reduction_.columns.size(); ++k)
        s.primal[at_index(reduction_.columns[k])] = simplex_->primal()[k];
    for (std::size_t k = 0; k < reduction_.rows.size(); ++k)
        s.dual[at_index(reduction_.rows[k])] = simplex_->dual(k);
    forced_.find_duals(simplex_->reduced_cost(), [&](std::int32_t row, double dual) {
        s.dual[at_index(reduction_.rows[at_index(row)])] += dual;
    });
    for (const auto& each : reduction_.dependent)
        s.primal[at_index(each.column)] +=
            simplex_->row_activity()[at_index(reduction_.row_place[at_index(each.row)])];
    s.cut_dual.clear();
    for (const auto& each : reduction_.determined) s.dual[at_index(each.row)] = 0.0;
    const CutMatrix& cuts = cuts_->matrix;
    const auto left = cuts.left_columns();
    for (const std::int32_t j : left) left_cut_dual_[at_index(j)] = 0.0;
    simplex_->for_each_tight_cut([&](std::size_t k, double dual) {
        if (dual == 0.0) return;
        s.cut_dual.emplace_back(cuts.slot(k), dual * cuts.scale(k));
        for (std::size_t j = 0; j < left.size(); ++j)
            left_cut_dual_[at_index(left[j])] += dual * cuts.left_entry(j, k);
    });
    for (const auto& each : reduction_.dependent)
        s.dual[at_index(each.row)] =
            -(s.dual[at_index(each.row)] + left_cut_dual_[at_index(each.column)]) / each.coefficient;
    for (std::size_t k = reduction_.determined.size(); k-- > 0;) {
        const auto& each = reduction_.determined[k];
        const std::size_t j = at_index(each.column);
        double left = current_.cost[j] * scaling_.column[j] * scaling_.cost - left_cut_dual_[j];
        for (const Entry* e = reduction_.given_by_column.begin(j); e != reduction_.given_by_column.end(j); ++e)
            left -= e->value * s.dual[at_index(e->index)];
        s.dual[at_index(each.row)] = left / each.coefficient;
    }
    if (wants_reduced) {
        std::fill(s.reduced_cost.begin(), s.reduced_cost.end(), 0.0);
        for (std::size_t k = 0; k < reduction_.columns.size(); ++k)
            if (simplex_->column_at(k) != At::basic)
                s.reduced_cost[at_index(reduction_.columns[k])] = simplex_->reduced_cost()[k];
        forced_.each_reduced([&](std::int32_t column, double by) {
            s.reduced_cost[at_index(reduction_.columns[at_index(column)])] += by;
        });
        for (const auto& each : reduction_.dependent)
            s.reduced_cost[at_index(each.column)] =
                simplex_->dual(at_index(reduction_.row_place[at_index(each.row)]));
    }
    s.iterations = simplex_->iterations();
}

void Solver::extract(std::size_t index, const BatchOutput& output) {
    const std::size_t n = template_.columns();
    const std::size_t m = template_.rows();
    const bool wants_reduced = !output.reduced_cost.empty();
    if (is_from_highs_) highs().read(solution_, wants_reduced);
    else read_simplex(wants_reduced);
    double objective = 0.0;
    const auto primal_of = [&](std::size_t j) {
        return solution_.primal[j] * scaling_.column[j] + 0.0;  // a zero of either sign is the same answer
    };
    for (std::size_t j = 0; j < n; ++j) objective += current_.cost[j] * primal_of(j);
    output.objective[index] = objective;
    const double per_cost = 1.0 / scaling_.cost;
    double* primal = output.observed_primal.data() + index * observation_.columns.size();
    for (const std::int32_t column : observation_.columns) *primal++ = primal_of(at_index(column));
    double* dual = output.observed_dual.data() + index * observation_.rows.size();
    for (const std::int32_t row : observation_.rows)
        *dual++ = solution_.dual[at_index(row)] * scaling_.row[at_index(row)] * per_cost + 0.0;
    if (!output.cut_dual.empty()) {
        double* all = output.cut_dual.data() + index * cuts().slots();
        std::fill_n(all, cuts().slots(), 0.0);
        for (const auto& [slot, value] : solution_.cut_dual) all[slot] = value * per_cost + 0.0;
    }
    if (!output.primal.empty())
        for (std::size_t j = 0; j < n; ++j) output.primal[index * n + j] = primal_of(j);
    if (!output.dual.empty())
        for (std::size_t i = 0; i < m; ++i)
            output.dual[index * m + i] = solution_.dual[i] * scaling_.row[i] * per_cost + 0.0;
    if (wants_reduced)
        for (std::size_t j = 0; j < n; ++j)
            output.reduced_cost[index * n + j] = solution_.reduced_cost[j] / scaling_.column[j] * per_cost + 0.0;
    counters_.iterations += solution_.iterations;
    if (!output.iterations.empty()) output.iterations[index] = solution_.iterations;
}

void Solver::store_basis(std::span<std::uint8_t> basis) {
    if (is_from_highs_) {
        highs().store_basis(basis);
        return;
    }
    const std::size_t n = template_.columns();
    std::fill(basis.begin(), basis.end(), basic);
    for (const auto& each : reduction_.determined)
        basis[n + at_index(each.row)] = static_cast<std::uint8_t>(At::lower);
    for (std::size_t k = 0; k < reduction_.columns.size(); ++k) columns_at_[k] = simplex_->column_at(k);
    for (std::size_t k = 0; k < reduction_.rows.size(); ++k) rows_at_[k] = simplex_->row_at(k);
    forced_.enter(columns_at_, rows_at_);
    for (std::size_t k = 0; k < reduction_.columns.size(); ++k)
        basis[at_index(reduction_.columns[k])] = static_cast<std::uint8_t>(columns_at_[k]);
    for (std::size_t k = 0; k < reduction_.rows.size(); ++k)
        basis[n + at_index(reduction_.rows[k])] = static_cast<std::uint8_t>(rows_at_[k]);
    for (const auto& each : reduction_.dependent) {
        std::uint8_t& of_row = basis[n + at_index(each.row)];
        basis[at_index(each.column)] = of_row;
        of_row = static_cast<std::uint8_t>(At::lower);
    }
    simplex_->for_each_tight_cut([&](std::size_t k, double) {
        basis[n + template_.rows() + at_index(cuts_->matrix.slot(k))] = static_cast<std::uint8_t>(At::lower);
    });
}

}  // namespace cobre::lp
