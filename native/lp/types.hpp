// What the solvers of linear programs share: settings, outcomes, counters and the solution of one program.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace cobre::lp {

enum class Status : std::uint8_t {
    optimal,
    infeasible,
    unbounded,
    failed,
    out_of_time,
    bad_parameter,
    interrupted
};

// The first byte of a stored basis that says: begin from the slack basis.
inline constexpr std::uint8_t no_basis = 255;
// How long solves run between two checks for a stop request.
inline constexpr std::int64_t interrupt_interval_ns = 20'000'000;
// What a stored basis holds for a cut that is not in the program, and what a cut unknown to it begins as.
inline constexpr std::uint8_t basic = 1;

struct Observation {
    std::vector<std::int32_t> cut_columns;
    std::int32_t future_cost_column = -1;
    std::vector<std::int32_t> columns;
    std::vector<std::int32_t> rows;
};

struct Settings {
    double feasibility_tolerance = 1e-9;
    int max_attempts = 5;
    double retry_seconds = 30.0;
    int iteration_limit = 0;   // of one attempt; 0 leaves it to the size of the program
    bool uses_simplex = true;  // false: HiGHS solves everything
};

struct Counters {
    std::int64_t patch_ns = 0, basis_ns = 0, run_ns = 0, extract_ns = 0, cuts_ns = 0;
    std::int64_t solves = 0;
    std::int64_t chains = 0;
    std::int64_t iterations = 0;
    std::int64_t retries = 0;
    std::int64_t handed_over = 0;  // solves that HiGHS did because the dual simplex method had no answer
    // Solves that needed retries and then succeeded, by the attempt that did: 2, 3, ... in places 0, 1, ...
    std::array<std::int64_t, 6> recovered{};
};

// In scaled units, by index of the template; the cuts that bind with their duals, by slot.
struct Solution {
    std::vector<double> primal;
    std::vector<double> reduced_cost;
    std::vector<double> dual;
    std::vector<std::pair<std::int32_t, double>> cut_dual;
    int iterations = 0;
};

}  // namespace cobre::lp
