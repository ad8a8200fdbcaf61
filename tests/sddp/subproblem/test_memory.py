"""Past inflows as the stochastic layer hands them on: the LP must reach the very same states."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from cobre.sddp.subproblem import build_stage_problems
from cobre.stochastic import InflowModel, LagTransition
from sddp.cases import make_case
from sddp.specs import BusSpec, HydroSpec, ThermalSpec
from sddp.subproblem.dense import parameters_of, solve_template


def autoregressive(stages):
    return make_case(
        stages,
        buses=[BusSpec(load=50.0)],
        thermals=[ThermalSpec()],
        hydros=[
            HydroSpec(initial=50.0, max_storage=500.0, inflow=30.0, inflow_std=8.0, lags=[0.5, 0.2]),
            HydroSpec(initial=20.0, max_storage=500.0, inflow=9.0, inflow_std=2.0, lags=[0.3]),
        ],
        hours=168.0,
    )


def weekly():
    """Nine weeks from New Year on, the weeks of a month sharing its season."""
    case = autoregressive(9)
    first = dt.date(2030, 1, 1)
    stages = []
    for week, stage in enumerate(case.horizon.stages):
        start = first + dt.timedelta(weeks=week)
        end = start + dt.timedelta(weeks=1)
        stages.append(replace(stage, start_date=start, end_date=end, season_id=start.month - 1))
    return replace(case, horizon=replace(case.horizon, stages=tuple(stages)))


@pytest.mark.parametrize(
    ("case", "n_states"), [(autoregressive(4), 6), (weekly(), 8)], ids=["monthly", "weekly"]
)
def test_the_outgoing_state_of_the_lp_is_that_of_the_transition(case, n_states):
    horizon, scenarios = case.horizon, case.scenarios
    model = InflowModel.build(horizon.stages, 2, scenarios.inflow, scenarios.lags)
    transition = LagTransition.build(horizon.stages, model.n_lags, horizon.season_definitions)
    rng = np.random.default_rng(7)
    storage, lags = case.initial.storage_hm3, rng.uniform(5.0, 40.0, (transition.n_components, 2))
    for stage, problem in enumerate(build_stage_problems(case, model, transition)):
        assert problem.parameters.state_dimension == n_states
        eta = rng.standard_normal(2)
        noise = model.noise_term(stage, eta)
        found = solve_template(
            problem.template, parameters_of(case, problem, storage=storage, lags=lags, inflow=noise)
        )
        inflow = model.inflow(stage, lags[: model.n_lags], eta)
        assert found.value(problem.columns.state.inflow) == pytest.approx(inflow)
        lags = transition.advance(stage, lags, inflow)
        outgoing = found.value(problem.template.cut_columns)
        assert outgoing[2:] == pytest.approx(lags.ravel())
        storage = outgoing[:2]
