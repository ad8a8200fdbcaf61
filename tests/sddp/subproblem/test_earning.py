"""A study whose future earns money: cuts must be able to push the future cost far below zero."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.sddp.subproblem import build_stage_problems
from sddp.cases import make_case
from sddp.specs import UNIT_HOURS, BusSpec, ContractSpec, HydroSpec
from sddp.subproblem.dense import no_lags, parameters_of, solve_template

LEVELS = [(0.0, 0.0, 1.1, 0.0), (5.0, 0.0, 1.0, 0.0), (35.0, 0.0, 0.5, 0.0)]
"""Flows 50, 60, 70 give powers 55, 65, 70; between them by shares."""


def two_reservoirs():
    """Two full reservoirs in a cascade, no inflow, power sold at 1, 2 and 3 in three stages; spilling is dear."""
    plant = {
        "initial": 200.0,
        "max_storage": 200.0,
        "max_turbined": 70.0,
        "planes": LEVELS,
        "costs": {"spillage": 1000.0 / UNIT_HOURS},
    }
    prices = [-price / UNIT_HOURS for price in (1.0, 2.0, 3.0)]
    return make_case(
        3,
        buses=[BusSpec()],
        hydros=[HydroSpec(downstream=1, **plant), HydroSpec(**plant)],
        contracts=[ContractSpec(price=prices, max_mw=1000.0, is_import=False)],
        hours=UNIT_HOURS,
    )


def test_the_bound_rises_to_the_optimum_from_below():
    case = two_reservoirs()
    problems = build_stage_problems(case, no_lags(case))
    cuts: list[list[tuple[float, np.ndarray]]] = [[], [], []]
    bounds = []
    for _ in range(30):
        states = [case.initial.storage_hm3]
        for problem, known in zip(problems, cuts, strict=True):
            found = solve_template(problem.template, parameters_of(case, problem, storage=states[-1]), known)
            states.append(found.value(problem.template.cut_columns))
        for stage in (2, 1):
            problem = problems[stage]
            given = parameters_of(case, problem, storage=states[stage])
            found = solve_template(problem.template, given, cuts[stage])
            slope = found.dual(problem.template.observed_rows)
            constant = found.objective - float(np.sum(slope * states[stage]))
            cuts[stage - 1].append((constant, slope))
        first = parameters_of(case, problems[0])
        bounds.append(solve_template(problems[0].template, first, cuts[0]).objective)
    assert all(bound <= -835.0 + 1e-6 for bound in bounds)
    assert bounds[-1] == pytest.approx(-835.0, abs=1e-6)
