"""Stage problems through the package's own solver: it must find what HiGHS finds on the written-out LP."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.solver import LpSolver, Status
from sddp.cases import make_case
from sddp.specs import UNIT_HOURS, BusSpec, HydroSpec, ThermalSpec
from sddp.subproblem.dense import parameters_of, solve_template, stage_problem
from sddp.subproblem.test_reference import N_LAGS, random_case


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_agrees_with_single_solves(seed):
    rng = np.random.default_rng(100 + seed)
    case = random_case(rng)
    problem = stage_problem(case, psi=rng.uniform(-0.1, 0.5, (4, N_LAGS)))
    parameters = np.array(
        [
            parameters_of(
                case,
                problem,
                storage=rng.uniform(30, 150, 4),
                lags=rng.uniform(0, 80, (N_LAGS, 4)),
                inflow=rng.uniform(0, 60, 4),
                load=rng.uniform(20, 150, 3),
                available=rng.uniform(0, 30, 2),
            )
            for _ in range(7)
        ]
    )
    cuts = [(rng.uniform(1e6, 5e6), -rng.uniform(0, 2e4, 12)) for _ in range(6)]
    solver = LpSolver(problem.template)
    solver.append_cuts([intercept for intercept, _ in cuts], np.array([gradient for _, gradient in cuts]))
    output = solver.allocate(7, chain_length=7)
    assert solver.solve_batch(parameters, output, chain_length=7).is_optimal
    for row, found in enumerate(solve_template(problem.template, values, cuts) for values in parameters):
        assert output.objective[row] == pytest.approx(found.objective, rel=1e-9)


def test_limits_that_contradict_each_other_are_named():
    case = make_case(
        buses=[BusSpec(load=10.0)],
        thermals=[ThermalSpec()],
        hydros=[HydroSpec(initial=3.0, inflow=-5.0), HydroSpec(initial=3.0)],
        hours=UNIT_HOURS,
    )
    problem = stage_problem(case)
    solver = LpSolver(problem.template)
    output = solver.allocate(1)
    outcome = solver.solve_batch(parameters_of(case, problem)[None], output)
    assert outcome.status is Status.INFEASIBLE
    names = {violation.name for violation in solver.explain_infeasibility()}
    assert names & {"water_balance[H0]", "inflow_model[H0]", "fix_storage[H0]", "storage[H0]"}
    assert not any("H1" in name for name in names)
