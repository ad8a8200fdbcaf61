from __future__ import annotations

import pytest

from cobre.sddp.subproblem import build_stage_problem  # noqa: F401
from sddp.cases import BusSpec, LineSpec, ThermalSpec, make_case
from sddp.subproblem.dense import solve_stage


def test_thermals_are_used_in_order_of_cost_and_the_rest_is_deficit():
    case = make_case(
        buses=[BusSpec(load=100.0, deficit=[(None, 500.0)])],
        thermals=[ThermalSpec(max_mw=60.0, cost=20.0), ThermalSpec(max_mw=30.0, cost=10.0)],
        hours=2.0,
    )
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(2.0 * (30 * 10 + 60 * 20 + 10 * 500))
    assert found.value(problem.columns.network.thermal).tolist() == [[60.0], [30.0]]
    assert found.dual(problem.rows.load_balance)[0, 0] / 2.0 == pytest.approx(500.0)


def test_lines():
    case = make_case(
        buses=[BusSpec(), BusSpec(load=9.0)],
        thermals=[ThermalSpec(cost=10.0)],
        lines=[LineSpec(losses_percent=10.0)],
    )
    assert solve_stage(case)[1].objective == pytest.approx(100.0)
