"""One solve of a stage problem by HiGHS itself, and a dense LP to compare it with."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from cobre.core.case import Case
from cobre.sddp.subproblem import StageProblem, build_stage_problems
from cobre.solver import LpTemplate, Target


@dataclass
class Lags:
    """An inflow model of given lag coefficients ``[hydro, lag]``, the same in all of ``n_stages``."""

    coefficients: np.ndarray
    n_stages: int

    @property
    def psi(self) -> np.ndarray:
        """``[stage, lag, hydro]``."""
        return np.repeat(np.asarray(self.coefficients, dtype=float).T[None], self.n_stages, axis=0)


@dataclass
class Solution:
    """What HiGHS found; ``value`` reads columns and ``dual`` rows by their numbers."""

    objective: float
    columns: np.ndarray
    duals: np.ndarray

    def value(self, columns: np.ndarray | int) -> np.ndarray:
        """Values of columns; 0 for those that are absent."""
        numbers = np.asarray(columns)
        return np.where(numbers < 0, 0.0, self.columns[numbers])

    def dual(self, rows: np.ndarray | int) -> np.ndarray:
        return self.duals[np.asarray(rows)]


def no_lags(case: Case) -> Lags:
    return Lags(np.zeros((len(case.system.hydros), 0)), case.horizon.n_stages)


def stage_problem(case: Case, stage: int = 0, psi=None, transition=None) -> StageProblem:
    lags = no_lags(case) if psi is None else Lags(psi, case.horizon.n_stages)
    return build_stage_problems(case, lags, transition)[stage]


def parameters_of(case: Case, problem: StageProblem, **given) -> np.ndarray:
    """The parameter vector of the case's initial storage and mean values, except for what is given by name."""
    stage, tables = problem.stage, case.tables
    sources = tables.non_controllable
    values = {
        "storage": case.initial.storage_hm3,
        "lags": 0.0,
        "inflow": case.scenarios.inflow.mean_m3s.reshape(-1, case.horizon.n_stages)[:, stage],
        "load": tables.bus.load_mean_mw[:, stage],
        "available": sources.installed_mw[:, stage] * sources.mean[:, stage],
    }
    assert given.keys() <= values.keys()
    vector = np.zeros(problem.parameters.size)
    for name, value in {**values, **given}.items():
        vector[getattr(problem.parameters, name)] = np.ravel(value)
    return vector


def solve_stage(
    case: Case, stage: int = 0, psi=None, cuts=(), transition=None, **given
) -> tuple[StageProblem, Solution]:
    """Solves one stage; ``cuts`` are (intercept, gradient over the outgoing state)."""
    problem = stage_problem(case, stage, psi, transition)
    return problem, solve_template(problem.template, parameters_of(case, problem, **given), cuts)


PATCHED = {
    Target.ROW_EQUAL: ("row_lower", "row_upper"),
    Target.ROW_LOWER: ("row_lower",),
    Target.ROW_UPPER: ("row_upper",),
    Target.COLUMN_LOWER: ("column_lower",),
    Target.COLUMN_UPPER: ("column_upper",),
    Target.COLUMN_COST: ("column_cost",),
}


def patched(template: LpTemplate, parameters: np.ndarray) -> dict[str, np.ndarray]:
    """Bounds and costs by the book: those of the template with the sums of its patches in their places."""
    arrays = {name: getattr(template, name).copy() for names in PATCHED.values() for name in names}
    values: dict[tuple[int, int], float] = {}
    patches = template.patches
    for target, index, source, offset, factor in zip(
        patches.target, patches.index, patches.source, patches.offset, patches.factor, strict=True
    ):
        key = (int(target), int(index))
        values[key] = values.get(key, 0.0) + offset + factor * parameters[source]
    for (target, index), value in values.items():
        for name in PATCHED[Target(target)]:
            arrays[name][index] = value
    return arrays


def solve_template(template: LpTemplate, parameters: np.ndarray, cuts=()) -> Solution:
    """Patches the template by the book and solves it."""
    arrays = patched(template, parameters)
    cost, lower, upper = (arrays[f"column_{name}"] for name in ("cost", "lower", "upper"))
    n_rows, n_columns = arrays["row_lower"].size, cost.size
    matrix = np.zeros((n_rows + len(cuts), n_columns))
    for row in range(n_rows):
        part = slice(template.row_starts[row], template.row_starts[row + 1])
        matrix[row, template.column_indices[part]] = template.values[part]
    for row, (_, gradient) in enumerate(cuts, start=n_rows):
        matrix[row, template.future_cost_column] = 1.0
        matrix[row, template.cut_columns] -= gradient
    row_lower = np.append(arrays["row_lower"], [intercept for intercept, _ in cuts])
    row_upper = np.append(arrays["row_upper"], [np.inf] * len(cuts))
    return solve_dense(cost, lower, upper, matrix, row_lower, row_upper)


def solve_dense(cost, lower, upper, matrix, row_lower, row_upper) -> Solution:
    """``min cost.x`` subject to ``row_lower <= matrix x <= row_upper`` and the column bounds."""
    matrix = np.asarray(matrix, dtype=float).reshape(len(row_lower), len(cost))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(row_lower)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = (np.asarray(x, dtype=float) for x in (cost, lower, upper))
    lp.row_lower_, lp.row_upper_ = np.asarray(row_lower, dtype=float), np.asarray(row_upper, dtype=float)
    rows, columns = np.nonzero(matrix)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(rows, np.arange(len(row_lower) + 1)).astype(np.int32)
    lp.a_matrix_.index_ = columns.astype(np.int32)
    lp.a_matrix_.value_ = matrix[rows, columns]
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.passModel(lp) == highspy.HighsStatus.kOk
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(solver.modelStatusToString(status))
    found = solver.getSolution()
    return Solution(
        solver.getInfo().objective_function_value, np.array(found.col_value), np.array(found.row_dual)
    )
