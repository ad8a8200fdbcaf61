"""The state: what its duals mean, lags in the LP, the future cost and its bound, discounting."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pytest

from cobre.errors import ValidationError
from cobre.sddp.subproblem import build_stage_problem, build_stage_problems
from sddp.cases import make_case
from sddp.specs import UNIT_HOURS, BusSpec, ContractSpec, HydroSpec, SourceSpec, StageSpec, ThermalSpec
from sddp.subproblem.dense import Lags, no_lags, parameters_of, solve_stage, solve_template, stage_problem

H = UNIT_HOURS


def cascade(stages=2, **rest):
    return make_case(
        stages,
        buses=[BusSpec(load=60.0, deficit=[(None, 500.0)])],
        thermals=[ThermalSpec(max_mw=15.0, cost=10.0), ThermalSpec(max_mw=15.0, cost=37.0)],
        hydros=[
            HydroSpec(initial=20.0, inflow=3.0, productivity=0.6, downstream=1, max_turbined=12.0),
            HydroSpec(initial=10.0, inflow=4.0, productivity=0.9, max_turbined=35.0),
        ],
        hours=H,
        **rest,
    )


PSI = np.array([[0.5, 0.2, 0.0], [0.3, 0.0, 0.1]])
LAGS = np.array([[4.0, 6.0], [2.0, 8.0], [1.0, 3.0]])


def test_parameters_lie_in_the_documented_order():
    case = make_case(
        buses=[BusSpec(), BusSpec()], hydros=[HydroSpec(), HydroSpec()], sources=[SourceSpec()] * 3
    )
    layout = stage_problem(case, psi=np.zeros((2, 3))).parameters
    assert (layout.storage, layout.lags, layout.state) == (slice(0, 2), slice(2, 8), slice(0, 8))
    assert (layout.inflow, layout.load, layout.available) == (slice(8, 10), slice(10, 12), slice(12, 15))
    assert layout.size == 15


def test_lags_feed_the_inflow_in_the_lp():
    problem, found = solve_stage(cascade(), psi=PSI, lags=LAGS, inflow=[1.0, 2.0])
    assert found.value(problem.columns.state.inflow) == pytest.approx(
        [1.0 + 0.5 * 4 + 0.2 * 2, 2.0 + 0.3 * 6 + 0.1 * 3]
    )


def test_lags_are_ordered_by_lag_then_hydro():
    problem, found = solve_stage(cascade(), psi=PSI, lags=LAGS)
    assert found.value(problem.columns.state.incoming_lags).tolist() == LAGS.tolist()
    assert problem.template.observed_rows.tolist() == [
        *problem.rows.incoming_storage,
        *problem.rows.incoming_lags.ravel(),
    ]


def test_duals_of_the_observed_rows_are_the_slope_of_the_cost_in_each_state():
    case = cascade()
    problem = stage_problem(case, psi=PSI)
    cuts = [(9e6, np.array([-5e4, -3e4, -2e4, -1e4, -1e3, 0.0, -500.0, -100.0]))]
    start = parameters_of(case, problem, lags=LAGS)
    found = solve_template(problem.template, start, cuts)
    slopes = found.dual(problem.template.observed_rows)
    for position in range(problem.parameters.state_dimension):
        step = np.zeros_like(start)
        step[position] = 1e-3
        above, below = (
            solve_template(problem.template, start + sign * step, cuts).objective for sign in (1, -1)
        )
        assert slopes[position] == pytest.approx((above - below) / 2e-3, rel=1e-6, abs=1e-2)
    assert np.count_nonzero(np.abs(slopes) > 1.0) >= 6


def test_cuts_see_end_storage_then_this_inflow_then_older_ones():
    problem, found = solve_stage(cascade(), psi=PSI, lags=LAGS, inflow=[1.0, 2.0])
    outgoing = found.value(problem.template.cut_columns)
    inflow = found.value(problem.columns.state.inflow)
    assert outgoing[:2] == pytest.approx(found.value(problem.columns.state.storage))
    assert outgoing[2:] == pytest.approx([*inflow, *LAGS[0], *LAGS[1]])
    assert problem.template.observed_columns.tolist() == [
        *problem.template.cut_columns,
        problem.columns.state.future_cost,
    ]


@dataclass
class Weeks:
    """Two stages share a season: the first gathers a quarter of it, the second closes it and begins the next."""

    source = np.array([[0, 1, 2], [2, 0, -1]])
    weight = np.array([[0.0, 0.0, 0.25], [0.75, 0.0, 0.125]])


@pytest.mark.parametrize("stage", [0, 1])
def test_cuts_see_what_the_lag_transition_hands_on(stage):
    lags = np.array([[4.0, 6.0], [2.0, 8.0], [1.0, 3.0]])
    given = {"psi": PSI[:, :2], "lags": lags, "inflow": [1.0, 2.0], "transition": Weeks()}
    problem, found = solve_stage(cascade(), stage, **given)
    z = np.array([1.0 + 0.5 * 4 + 0.2 * 2, 2.0 + 0.3 * 6])
    assert found.value(problem.columns.state.inflow) == pytest.approx(z)
    expected = [
        [lags[0], lags[1], lags[2] + 0.25 * z],
        [lags[2] + 0.75 * z, lags[0], 0.125 * z],
    ][stage]
    assert found.value(problem.template.cut_columns)[2:] == pytest.approx(np.ravel(expected))
    assert problem.parameters.state_dimension == 8


def test_a_lag_that_starts_anew_goes_out_as_zero():
    class Closing:
        source = np.array([[2, 0, -1]] * 2)
        weight = np.array([[0.5, 0.0, 0.0]] * 2)

    problem, found = solve_stage(cascade(), psi=PSI[:, :2], lags=LAGS, transition=Closing())
    assert found.value(problem.template.cut_columns)[-2:].tolist() == [0.0, 0.0]


def test_without_lags_the_state_is_storage_alone():
    problem, found = solve_stage(cascade())
    assert problem.template.cut_columns.tolist() == problem.columns.state.storage.tolist()
    assert found.value(problem.columns.state.inflow) == pytest.approx([3.0, 4.0])


def test_the_future_cost_is_discounted_and_weighs_stored_water():
    # Using one hm3 now saves 10 (H hours); keeping it saves 15 from the next stage on, worth 0.6 or 0.8 of it.
    for discount, kept in ((0.6, 0.0), (0.8, 30.0)):
        case = make_case(
            [StageSpec(H, discount=discount), StageSpec(H)],
            buses=[BusSpec(load=100.0)],
            thermals=[ThermalSpec(cost=10.0)],
            hydros=[HydroSpec(initial=30.0)],
        )
        problem, found = solve_stage(case, cuts=[(1000.0 * H, np.array([-15.0 * H]))])
        assert found.value(problem.columns.state.storage).item() == pytest.approx(kept)
        theta = (1000.0 - 15.0 * kept) * H
        assert found.value(problem.columns.state.future_cost).item() == pytest.approx(theta)
        assert found.objective == pytest.approx((100 - (30 - kept)) * 10 * H + discount * theta)


def test_after_the_last_stage_nothing_costs():
    problem = stage_problem(cascade(), stage=1)
    theta = problem.columns.state.future_cost
    assert (problem.template.column_lower[theta], problem.template.column_upper[theta]) == (0.0, 0.0)
    first = stage_problem(cascade(), stage=0)
    assert (first.template.column_lower[theta], first.template.column_upper[theta]) == (0.0, np.inf)
    assert first.least_cost == 0.0


def test_the_future_cost_may_be_as_low_as_all_later_earnings():
    case = make_case(
        [StageSpec([1.0, 2.0], discount=0.5), StageSpec([1.0, 2.0], discount=0.25), StageSpec([1.0, 2.0])],
        sources=[SourceSpec(installed=[5.0, 7.0, 11.0], cost=2.0, factor=[1.0, 0.5] * 3, mean=0.3)],
        contracts=[
            ContractSpec(is_import=False, price=[-1.0, -3.0, 4.0], max_mw=6.0),
            ContractSpec(price=9.0, min_mw=1.0),
        ],
        thermals=[ThermalSpec(min_mw=3.0, cost=5.0)],
    )
    last = -2 * (11 * 1 + 5.5 * 2)
    second = -2 * (7 * 1 + 3.5 * 2) - 3 * 6 * 3
    problems = build_stage_problems(case, no_lags(case))
    bounds = [p.template.column_lower[p.columns.state.future_cost] for p in problems]
    assert bounds == pytest.approx([second + 0.25 * last, last, 0.0])


def test_the_bound_of_the_future_cost_holds_where_the_future_earns():
    case = make_case(
        2, buses=[BusSpec(load=4.0)], sources=[SourceSpec(installed=10.0, cost=3.0)], thermals=[ThermalSpec()]
    )
    costs = [solve_stage(case, stage)[1].objective for stage in (0, 1)]
    problem, found = solve_stage(case, 0, cuts=[(costs[1], np.zeros(0))])
    assert costs[1] == pytest.approx(-30.0)
    assert found.value(problem.columns.state.future_cost).item() == pytest.approx(-30.0)
    assert found.objective == pytest.approx(-60.0)


def test_earnings_without_limit_are_refused_by_name():
    case = make_case(2, hydros=[HydroSpec(costs={"spillage": -1.0})])
    with pytest.raises(
        ValidationError, match=r"stage 1 could earn money without limit: spillage\[H0,block0\]"
    ):
        build_stage_problems(case, no_lags(case))


def test_one_stage_can_be_built_alone():
    case = cascade()
    together = build_stage_problems(case, Lags(PSI, 2))[0]
    alone = build_stage_problem(case, Lags(PSI, 2), 0)
    assert np.array_equal(together.template.values, alone.template.values)
    assert list(together.template.column_names) == list(alone.template.column_names)


def test_a_system_without_hydros_has_an_empty_state():
    case = make_case(2, buses=[BusSpec(load=3.0)], thermals=[ThermalSpec(cost=2.0)])
    problem, found = solve_stage(case)
    assert problem.parameters.state_dimension == 0
    assert problem.template.observed_rows.size == 0
    assert found.objective == pytest.approx(6.0)


def test_read_only_tables_are_enough():
    """Ranks of one node read the same memory."""
    case = cascade()
    for part in fields(case.tables):
        table = getattr(case.tables, part.name)
        for column in () if table is None else fields(table):
            if (array := getattr(table, column.name)) is not None:
                array.flags.writeable = False
    built = stage_problem(case).template
    assert not np.shares_memory(built.column_upper, case.tables.hydro.max_storage_hm3)
    assert built.column_upper.flags.writeable
