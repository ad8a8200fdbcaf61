// `_native.lp`: calls that are about the solvers of several stages.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "bindings/bound_solver.hpp"
#include "bindings/gil.hpp"
#include "bindings/lp.hpp"
#include "lp/paths.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

using Solvers = std::vector<BoundSolver*>;
using Blocks = nb::ndarray<double, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Starts = std::vector<std::optional<Matrix<std::uint8_t>>>;

// All solvers, for as long as this exists.
class Turns {
public:
    explicit Turns(const Solvers& solvers) {
        Solvers each = solvers;
        std::sort(each.begin(), each.end());
        if (std::adjacent_find(each.begin(), each.end()) != each.end())
            throw std::invalid_argument("two stages have the same solver\n  fix: give each stage its own");
        for (BoundSolver* solver : each) turns_.emplace_back(solver->busy());
    }

private:
    std::deque<Turn> turns_;
};

void require(bool is_right, const char* text) {
    if (!is_right) throw std::invalid_argument(text);
}

std::tuple<lp::Status, std::size_t, std::size_t, int> follow_paths(
    const Solvers& solvers, const Blocks& parameters, const Matrix<double>& low, const Matrix<double>& high,
    const Starts& start_bases, const MatrixOut<double>& objective, const MatrixOut<double>& next,
    const Blocks& states, const std::vector<MatrixOut<std::uint8_t>>& bases) {
    const Turns turns(solvers);
    const std::size_t n_stages = solvers.size(), paths = parameters.shape(1), width = parameters.shape(2);
    const std::size_t dimension = low.shape(1);
    require(parameters.shape(0) == n_stages && start_bases.size() == n_stages && bases.size() == n_stages,
            "parameters, start bases and bases are not those of as many stages as there are solvers");
    require(states.shape(0) == n_stages && states.shape(1) == paths && states.shape(2) == dimension,
            "states must be (stage, path, component)");
    require(low.shape(0) == n_stages && high.shape(0) == n_stages && high.shape(1) == dimension,
            "limits must be (stage, component)");
    const std::span<double> objectives = output<double>(std::optional(objective), "objective", n_stages, paths);
    const std::span<double> nexts = output<double>(std::optional(next), "next", n_stages, paths);
    std::vector<lp::PathStage> stages(n_stages);
    for (std::size_t s = 0; s < n_stages; ++s) {
        lp::PathStage& stage = stages[s];
        BoundSolver& solver = *solvers[s];
        stage.solver = &solver.solver();
        require(stage.solver->pool() == stages[0].solver->pool(),
                "the solvers have threads of different pools\n  fix: make all of them with the same ThreadPool");
        solver.check_parameters(width);
        require(dimension <= width && stage.solver->last().observation().columns.size() > dimension,
                "a solver must take the state first, and observe the outgoing one and a column more");
        stage.parameters = {parameters.data() + s * paths * width, paths * width};
        if (start_bases[s]) {
            require(start_bases[s]->shape(0) == paths, "give one start basis per path");
            stage.start_width = solver.check_start(*start_bases[s], paths);
            stage.start_bases = {start_bases[s]->data(), start_bases[s]->size()};
        }
        stage.low = {low.data() + s * dimension, dimension};
        stage.high = {high.data() + s * dimension, dimension};
        stage.objective = objectives.subspan(s * paths, paths);
        stage.next = nexts.subspan(s * paths, paths);
        stage.states = {states.data() + s * paths * dimension, paths * dimension};
        stage.bases = output<std::uint8_t>(std::optional(bases[s]), "bases", paths, solver.basis_size());
    }
    lp::PathOutcome found;
    {
        const WithoutGil released;
        found = lp::follow_paths(stages, paths, has_python_interrupt);
    }
    if (found.outcome.status == lp::Status::interrupted) throw nb::python_error();
    return {found.outcome.status, found.stage, found.outcome.solved, found.outcome.attempts};
}

// out[solver] = its counters in the order of `cobre.solver.COUNTED`, then how many cuts are active.
void count_all(const Solvers& solvers, const MatrixOut<double>& out) {
    constexpr std::size_t width = BoundSolver::n_counted + 1;
    require(out.shape(0) == solvers.size() && out.shape(1) == width, "the array must be (solver, 15)");
    double* place = out.data();
    for (BoundSolver* solver : solvers) {
        for (const std::int64_t number : solver->counted()) *place++ = static_cast<double>(number);
        *place++ = static_cast<double>(solver->active_cuts());
    }
}

}  // namespace

void bind_lp_paths(nb::module_& m) {
    m.def("follow_paths", &follow_paths, "solvers"_a, "parameters"_a.noconvert(), "low"_a, "high"_a,
          "start_bases"_a, "objective"_a.noconvert(), "next"_a.noconvert(), "states"_a.noconvert(), "bases"_a,
          "Solve all stages for all paths, each from the state that the stage before left. Return (status, stage, "
          "path, attempts of the last one). The GIL is released.");
    m.def("count_all", &count_all, "solvers"_a, "out"_a.noconvert(),
          "Fill out with what each solver counted and its active cuts.");
}

}  // namespace cobre::bindings
