#include "lp_passes_checks.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "lp/expected_cuts.hpp"
#include "lp/paths.hpp"
#include "lp/stop_watch.hpp"

namespace cobre::tests {

namespace {

using namespace cobre::lp;
using Vector = std::vector<double>;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t n_state = 3, n_stages = 6, n_paths = 9, n_openings = 4;
constexpr std::size_t n_parameters = 2 * n_state + 1;  // state, inflows, limit of the plant

const std::function<bool()> never = [] { return false; };

bool is_same(const Vector& a, const Vector& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Reservoirs that release to one load, which a plant and a shortage without limit serve as well. Columns: outgoing
// state, incoming state, release, future cost, plant, shortage.
std::unique_ptr<Solver> stage(double load, double price) {
    const auto place = [](std::size_t part, std::size_t h) {
        return static_cast<std::int32_t>(part * n_state + h);
    };
    const std::int32_t future = place(3, 0), plant = future + 1, shortage = future + 2;
    Model model;
    for (std::size_t h = 0; h < n_state; ++h) model.column_upper.push_back(40.0 + 7.0 * static_cast<double>(h));
    model.column_upper.resize(2 * n_state, INFINITY);
    model.column_upper.resize(3 * n_state, 20.0);
    model.column_upper.insert(model.column_upper.end(), {INFINITY, 10.0, INFINITY});
    model.column_lower.assign(model.column_upper.size(), 0.0);
    for (std::size_t h = 0; h < n_state; ++h) model.column_lower[n_state + h] = -INFINITY;
    model.cost.assign(model.column_upper.size(), 0.0);
    model.cost[3 * n_state] = 1.0;
    model.cost[3 * n_state + 1] = price;
    model.cost[3 * n_state + 2] = 500.0;
    const auto add_row = [&model](double low, double high,
                                  const std::vector<std::pair<std::int32_t, double>>& row) {
        model.row_starts.push_back(static_cast<std::int32_t>(model.values.size()));
        for (const auto& [column, value] : row) {
            model.column_indices.push_back(column);
            model.values.push_back(value);
        }
        model.row_lower.push_back(low);
        model.row_upper.push_back(high);
    };
    std::vector<Patch> patches;
    for (std::size_t h = 0; h < n_state; ++h) {
        add_row(0.0, 0.0, {{place(1, h), 1.0}});
        patches.push_back({Target::row_equal, place(0, h), place(0, h), 0.0, 1.0});
    }
    for (std::size_t h = 0; h < n_state; ++h) {  // what is more than the reservoir holds is lost
        add_row(-INFINITY, 0.0, {{place(0, h), 1.0}, {place(1, h), -1.0}, {place(2, h), 1.0}});
        patches.push_back({Target::row_upper, place(1, h), place(1, h), 0.0, 1.0});
    }
    std::vector<std::pair<std::int32_t, double>> supply;
    for (std::size_t h = 0; h < n_state; ++h) supply.emplace_back(place(2, h), 0.7 + 0.1 * static_cast<double>(h));
    supply.insert(supply.end(), {{plant, 1.0}, {shortage, 1.0}});
    add_row(load, load, supply);
    model.row_starts.push_back(static_cast<std::int32_t>(model.values.size()));
    patches.push_back({Target::column_upper, plant, static_cast<std::int32_t>(2 * n_state), 0.0, 1.0});
    Observation observed;
    for (std::size_t h = 0; h < n_state; ++h) {
        observed.cut_columns.push_back(place(0, h));
        observed.rows.push_back(place(0, h));
    }
    observed.columns = observed.cut_columns;
    observed.columns.push_back(future);
    observed.future_cost_column = future;
    PatchPlan plan(patches, model, n_parameters);
    return std::make_unique<Solver>(nullptr, std::move(model), std::move(plan), std::move(observed), Settings{});
}

std::vector<ParallelSolver> study(std::shared_ptr<ThreadPool> pool) {
    std::vector<ParallelSolver> solvers;
    for (std::size_t s = 0; s < n_stages; ++s)
        solvers.emplace_back(stage(30.0 + 4.0 * static_cast<double>(s), 20.0 + 9.0 * static_cast<double>(s)),
                             pool);
    return solvers;
}

struct Results {
    Vector parameters = Vector(n_stages * n_paths * n_parameters);
    Vector objective = Vector(n_stages * n_paths), next = objective;
    Vector states = Vector(n_stages * n_paths * n_state);
    std::vector<Bytes> bases;
    PathOutcome outcome;

    Results(std::mt19937_64& random, std::size_t bad_path) {
        std::uniform_real_distribution<double> draw(0.0, 12.0);
        for (double& each : parameters) each = draw(random);
        if (bad_path < n_paths) parameters[(2 * n_paths + bad_path) * n_parameters + 2 * n_state] = -1.0;
    }

    void follow(std::vector<ParallelSolver>& solvers, const std::function<bool()>& is_interrupted) {
        static const Vector low(n_state, 0.0), high(n_state, 45.0);
        std::vector<PathStage> stages(n_stages);
        bases.clear();
        for (ParallelSolver& solver : solvers) bases.emplace_back(n_paths * solver.last().basis_size());
        for (std::size_t s = 0; s < n_stages; ++s) {
            PathStage& at = stages[s];
            at.solver = &solvers[s];
            at.parameters = std::span(parameters).subspan(s * n_paths * n_parameters, n_paths * n_parameters);
            at.low = low;
            at.high = high;
            at.objective = std::span(objective).subspan(s * n_paths, n_paths);
            at.next = std::span(next).subspan(s * n_paths, n_paths);
            at.states = std::span(states).subspan(s * n_paths * n_state, n_paths * n_state);
            at.bases = bases[s];
        }
        outcome = follow_paths(stages, n_paths, is_interrupted);
    }
};

void check_paths(Report& report, std::size_t threads) {
    std::vector<ParallelSolver> alone = study(nullptr), together = study(std::make_shared<ThreadPool>(threads));
    std::mt19937_64 random(threads);
    for (std::size_t round = 0; round < 40; ++round) {
        const std::size_t bad_path = round % 8 == 7 ? random() % n_paths : n_paths;
        Results expected(random, bad_path), found = expected;
        expected.follow(alone, never);
        found.follow(together, never);
        report.expect(found.outcome.stage == expected.outcome.stage &&
                          found.outcome.outcome.status == expected.outcome.outcome.status &&
                          found.outcome.outcome.solved == expected.outcome.outcome.solved,
                      "threads tell the same outcome of a pass");
        if (bad_path < n_paths) {
            report.expect(found.outcome.outcome.status == Status::infeasible && found.outcome.stage == 2 &&
                              found.outcome.outcome.solved == bad_path,
                          "the path without a solution is told");
            continue;
        }
        report.expect(is_same(found.objective, expected.objective) && is_same(found.next, expected.next) &&
                          is_same(found.states, expected.states) && found.bases == expected.bases,
                      "threads that take paths find the same bits");
        for (std::size_t s = 0; s + 1 < n_stages; ++s) {
            const double* state = found.states.data() + s * n_paths * n_state;
            const Vector slopes{-3.0 - static_cast<double>(round % 5), -1.0, -2.0};
            const Vector intercept{50.0 + state[0]};
            alone[s].append_cuts(intercept, slopes);
            together[s].append_cuts(intercept, slopes);
        }
    }
}

// A caller that has nothing left to do still looks at signals while another thread works.
void check_looks(Report& report) {
    for (const std::size_t threads : {2U, 5U}) {
        ThreadPool pool(threads);
        std::atomic<bool> has_looked{false}, has_ended{false};
        std::atomic<std::int64_t> looks{0};
        for (int round = 0; round < 50; ++round) {
            has_looked = has_ended = false;
            looks = 0;
            const std::int64_t end = now_ns() + 60'000'000'000;
            pool.run(
                [&](std::size_t thread) {
                    if (thread != 1) return;
                    while (!has_looked && now_ns() < end) {
                        std::this_thread::sleep_for(std::chrono::microseconds(50));
                        pool.wake_caller();
                    }
                    has_ended = true;
                },
                [&] { has_looked = ++looks >= 3; });
            report.expect(has_looked, "the caller looks again and again");
            report.expect(has_ended, "all threads have ended");
        }
    }
}

void check_claims(Report& report) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> draw(0.0, 12.0);
    Vector states(n_paths * n_state), openings(n_openings * (n_state + 1)), weights(n_openings, 0.25);
    for (Vector* each : {&states, &openings})
        for (double& number : *each) number = draw(random);
    TrialInput trial;
    trial.states = states;
    trial.points = n_paths;
    trial.openings = openings;
    trial.weights = weights;
    trial.block_length = n_openings;
    Vector expected(n_paths * (1 + n_state)), found = expected;
    ParallelSolver alone(stage(40.0, 30.0), nullptr);
    report.expect(make_expected_cuts(alone, trial, expected, never).status == Status::optimal, "cuts are made");
    for (int round = 0; round < 20; ++round) {
        alignas(8) std::int64_t counter = 0;
        std::fill(found.begin(), found.end(), 0.0);
        std::vector<std::thread> claimants;
        std::atomic<int> failed{0};
        for (int k = 0; k < 4; ++k)
            claimants.emplace_back([&] {
                ParallelSolver own(stage(40.0, 30.0), nullptr);
                if (make_claimed_cuts(own, trial, found, std::atomic_ref(counter), never).status !=
                    Status::optimal)
                    ++failed;
            });
        for (std::thread& each : claimants) each.join();
        report.expect(failed == 0 && is_same(found, expected), "claimed points give the same bits");
        report.expect(counter == static_cast<std::int64_t>(n_paths) + 4, "each point is claimed once");
    }
}

}  // namespace

void check_passes(Report& report) {
    for (const std::size_t threads : {2U, 3U, 8U}) check_paths(report, threads);
    check_claims(report);
    check_looks(report);
}

}  // namespace cobre::tests
