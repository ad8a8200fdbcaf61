// What happens when HiGHS does not find an optimum at the first attempt.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "lp/highs_program.hpp"

namespace cobre::lp {

namespace {

// Each way begins from the slack basis, in this order, the same on every machine and in every run.
struct Way {
    HighsInt simplex_strategy;
    const char* presolve;
    const char* solver;
    double tolerance_factor;
};

constexpr HighsInt dual_simplex = 1;
constexpr HighsInt primal_simplex = 4;
constexpr Way ways[] = {
    {dual_simplex, "off", "simplex", 1.0},   {primal_simplex, "off", "simplex", 1.0},
    {dual_simplex, "on", "simplex", 1.0},    {dual_simplex, "on", "ipm", 1.0},
    {dual_simplex, "off", "simplex", 100.0}, {primal_simplex, "on", "simplex", 100.0},
};

bool has_no_optimum(Status status) noexcept { return status == Status::infeasible || status == Status::unbounded; }

}  // namespace

Status HighsProgram::run_once() {
    const HighsInt answer = highs_->run(instance_);
    if (answer < 0) return Status::failed;
    switch (highs_->get_model_status(instance_)) {
        case ModelStatus::optimal: return Status::optimal;
        case ModelStatus::infeasible: return Status::infeasible;
        case ModelStatus::unbounded: return Status::unbounded;
        default: return Status::failed;
    }
}

Status HighsProgram::run(int& attempts) {
    const Status status = run_once();
    return status == Status::optimal ? status : retry(status, attempts);
}

// "No optimum" counts once a second way confirms it. Time may end the search, but never choose its result.
Status HighsProgram::retry(Status first, int& attempts) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const auto spent = [begin] { return std::chrono::duration<double>(clock::now() - begin).count(); };
    Status status = first;
    for (const Way& way : ways) {
        if (status == Status::optimal || attempts >= settings_.max_attempts) break;
        const double left = settings_.retry_seconds - spent();
        if (left <= 0.0) break;
        ++attempts;
        ++counters_.retries;
        restart();
        highs_->set_int_option(instance_, "simplex_strategy", way.simplex_strategy);
        highs_->set_string_option(instance_, "presolve", way.presolve);
        highs_->set_string_option(instance_, "solver", way.solver);
        const double tolerance = settings_.feasibility_tolerance * way.tolerance_factor;
        highs_->set_double_option(instance_, "primal_feasibility_tolerance", tolerance);
        highs_->set_double_option(instance_, "dual_feasibility_tolerance", tolerance);
        highs_->set_double_option(instance_, "time_limit", highs_->get_run_time(instance_) + left);
        const Status before = status;
        status = run_once();
        if (has_no_optimum(status) && status == before) break;
    }
    if (attempts > 1) set_base_options();
    if (attempts > 1 && status == Status::optimal)
        ++counters_.recovered[std::min<std::size_t>(static_cast<std::size_t>(attempts) - 2,
                                                    counters_.recovered.size() - 1)];
    if (status == Status::failed && spent() >= settings_.retry_seconds) return Status::out_of_time;
    return status;
}

}  // namespace cobre::lp
