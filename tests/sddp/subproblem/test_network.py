"""Buses, thermals, lines, non-controllable sources and contracts: each optimum is worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sddp.cases import make_case
from sddp.specs import BusSpec, ContractSpec, LineSpec, SourceSpec, ThermalSpec
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
    assert found.dual(problem.rows.load_balance)[0, 0] / 2.0 == pytest.approx(500.0)  # $/MWh


def test_the_least_power_of_a_thermal_is_a_hard_bound():
    case = make_case(
        buses=[BusSpec(load=10.0, excess_cost=3.0)],
        thermals=[ThermalSpec(min_mw=14.0, max_mw=20.0, cost=7.0)],
    )
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(14 * 7 + 4 * 3)
    assert found.value(problem.columns.network.excess).item() == pytest.approx(4.0)


@pytest.mark.parametrize(("stage", "cost"), [(0, 10 * 5 + 40 * 100), (1, 20 * 6 + 30 * 100), (2, 50 * 7)])
def test_bounds_and_costs_of_thermals_vary_by_stage(stage, cost):
    case = make_case(
        3,
        buses=[BusSpec(load=50.0, deficit=[(None, 100.0)])],
        thermals=[ThermalSpec(max_mw=[10.0, 20.0, 90.0], cost=[5.0, 6.0, 7.0])],
    )
    assert solve_stage(case, stage)[1].objective == pytest.approx(cost)


def test_the_least_power_of_a_thermal_varies_by_stage():
    case = make_case(2, buses=[BusSpec()], thermals=[ThermalSpec(min_mw=[0.0, 4.0], cost=9.0)])
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx([0.0, 36.0])


def test_deficit_segments_fill_up_to_their_depth_whatever_their_order():
    segments = [(20.0, 300.0), (10.0, 100.0), (None, 900.0)]
    case = make_case(buses=[BusSpec(load=35.0, deficit=segments)], hours=3.0)
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(3.0 * (10 * 100 + 20 * 300 + 5 * 900))
    assert found.value(problem.columns.network.deficit).ravel().tolist() == [20.0, 10.0, 5.0]


def test_each_bus_has_deficit_segments_of_its_own():
    case = make_case(
        buses=[
            BusSpec(load=5.0, deficit=[(None, 7.0)]),
            BusSpec(load=4.0, deficit=[(3.0, 11.0), (None, 13.0)]),
        ]
    )
    problem, found = solve_stage(case)
    assert problem.columns.network.deficit_bus.tolist() == [0, 1, 1]
    assert found.objective == pytest.approx(5 * 7 + 3 * 11 + 1 * 13)


def test_the_price_of_excess_varies_by_stage():
    case = make_case(2, thermals=[ThermalSpec(min_mw=2.0, cost=0.0)], buses=[BusSpec(excess_cost=[1.0, 5.0])])
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx([2.0, 10.0])


def test_each_block_has_its_hours_and_its_load():
    case = make_case(
        buses=[BusSpec(load=100.0, load_factor=[0.5, 1.5, 1.0])],
        thermals=[ThermalSpec(max_mw=120.0, cost=10.0)],
        hours=[1.0, 2.0, 4.0],
    )
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(1 * 50 * 10 + 2 * (120 * 10 + 30 * 1000) + 4 * 100 * 10)
    assert found.value(problem.columns.network.thermal).tolist() == [[50.0, 120.0, 100.0]]


def test_load_factors_belong_to_their_stage_and_block():
    case = make_case(
        2,
        buses=[BusSpec(load=10.0, load_factor=[1.0, 2.0, 3.0, 4.0])],
        thermals=[ThermalSpec(cost=1.0)],
        hours=[1.0, 10.0],
    )
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx([210.0, 430.0])


def test_random_load_is_scaled_by_the_block_factors():
    case = make_case(
        buses=[BusSpec(load=10.0, load_std=5.0, load_factor=[0.5, 2.0])],
        thermals=[ThermalSpec(cost=1.0)],
        hours=[3.0, 1.0],
    )
    assert solve_stage(case, load=[40.0])[1].objective == pytest.approx(3 * 20 + 80)


def two_buses(**line):
    return make_case(
        buses=[BusSpec(), BusSpec(load=90.0, deficit=[(None, 1000.0)])],
        thermals=[ThermalSpec(max_mw=500.0, cost=10.0)],
        lines=[LineSpec(**line)],
    )


@pytest.mark.parametrize(
    ("line", "cost"),
    [
        ({}, 90 * 10),
        ({"direct_mw": 40.0}, 40 * 10 + 50 * 1000),
        ({"cost": 2.0}, 90 * 12),
        ({"losses_percent": 10.0}, 100 * 10),
        ({"losses_percent": 10.0, "direct_mw": 50.0, "cost": 3.0}, 50 * 13 + 45 * 1000),
        ({"source": 1, "target": 0, "reverse_mw": 40.0}, 40 * 10 + 50 * 1000),
        ({"source": 1, "target": 0, "losses_percent": 10.0, "direct_mw": 0.0}, 100 * 10),
        (
            {"source": 1, "target": 0, "reverse_mw": 95.0, "losses_percent": 20.0, "cost": 1.0},
            95 * 11 + 14 * 1000,
        ),
    ],
    ids=[
        "free",
        "limit",
        "cost",
        "losses",
        "losses of what is sent",
        "reverse",
        "reverse losses",
        "reverse all",
    ],
)
def test_lines_carry_power_at_their_cost_limit_and_losses(line, cost):
    assert solve_stage(two_buses(**line))[1].objective == pytest.approx(cost)


def test_line_limits_differ_by_block_and_costs_by_stage():
    case = make_case(
        2,
        buses=[BusSpec(), BusSpec(load=10.0, deficit=[(None, 100.0)])],
        thermals=[ThermalSpec(cost=1.0)],
        lines=[LineSpec(direct_mw=[2.0, 4.0, 6.0, 8.0], cost=[1.0, 2.0])],
        hours=[1.0, 10.0],
    )
    expected = [
        1 * (2 * 2 + 8 * 100) + 10 * (4 * 2 + 6 * 100),
        1 * (6 * 3 + 4 * 100) + 10 * (8 * 3 + 2 * 100),
    ]
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx(expected)


def test_a_line_with_losses_lowers_the_price_at_the_sending_end():
    problem, found = solve_stage(two_buses(losses_percent=20.0, direct_mw=200.0))
    prices = found.dual(problem.rows.load_balance).ravel()
    assert prices == pytest.approx([10.0, 12.5])


def test_a_source_is_rewarded_for_what_it_gives_up_to_what_nature_offers():
    case = make_case(
        buses=[BusSpec(load=30.0, deficit=[(None, 100.0)])],
        sources=[SourceSpec(installed=20.0, mean=0.5, cost=4.0, factor=[1.0, 0.6])],
        hours=[1.0, 2.0],
    )
    problem, found = solve_stage(case)
    assert found.value(problem.columns.network.non_controllable).tolist() == [[10.0, 6.0]]
    assert found.objective == pytest.approx(1 * (20 * 100 - 10 * 4) + 2 * (24 * 100 - 6 * 4))


def test_a_source_is_curtailed_where_excess_costs_more():
    spec = {"installed": 20.0, "cost": 4.0}
    curtailed = make_case(buses=[BusSpec(load=5.0, excess_cost=9.0)], sources=[SourceSpec(**spec)])
    assert solve_stage(curtailed)[1].objective == pytest.approx(-5 * 4)
    thrown_away = make_case(buses=[BusSpec(load=5.0, excess_cost=3.0)], sources=[SourceSpec(**spec)])
    assert solve_stage(thrown_away)[1].objective == pytest.approx(-20 * 4 + 15 * 3)


def test_available_power_is_a_parameter_of_the_solve():
    case = make_case(buses=[BusSpec(load=50.0)], sources=[SourceSpec(), SourceSpec(factor=0.5)])
    problem, found = solve_stage(case, available=[7.0, 8.0])
    assert found.value(problem.columns.network.non_controllable).ravel().tolist() == [7.0, 4.0]


def test_rewards_and_installed_power_of_sources_vary_by_stage():
    case = make_case(
        2, buses=[BusSpec(load=9.0)], sources=[SourceSpec(installed=[9.0, 0.0], cost=[2.0, 5.0])]
    )
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx([-18.0, 9000.0])


def test_importing_feeds_the_bus_at_the_price_of_the_contract():
    case = make_case(
        buses=[BusSpec(load=30.0, deficit=[(None, 100.0)])],
        contracts=[ContractSpec(price=8.0, max_mw=20.0)],
        hours=[1.0, 2.0],
    )
    assert solve_stage(case)[1].objective == pytest.approx(3.0 * (20 * 8 + 10 * 100))


def test_exporting_earns_its_price_as_long_as_that_pays():
    export = {"is_import": False, "max_mw": 20.0}
    case = make_case(
        buses=[BusSpec(load=30.0)],
        thermals=[ThermalSpec(max_mw=45.0, cost=5.0)],
        contracts=[ContractSpec(price=-8.0, **export), ContractSpec(price=-4.0, **export)],
    )
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(45 * 5 - 15 * 8)
    assert found.value(problem.columns.network.contract).ravel().tolist() == [15.0, 0.0]


def test_the_lower_limit_of_a_contract_is_hard():
    case = make_case(
        thermals=[ThermalSpec(cost=5.0)],
        contracts=[
            ContractSpec(price=7.0, min_mw=3.0),
            ContractSpec(price=-1.0, min_mw=4.0, is_import=False),
        ],
    )
    assert solve_stage(case)[1].objective == pytest.approx(3 * 7 - 4 * 1 + 1 * 5)


def test_limits_and_prices_of_contracts_vary_by_stage():
    case = make_case(
        2,
        buses=[BusSpec(load=10.0, deficit=[(None, 100.0)])],
        contracts=[ContractSpec(price=[1.0, 2.0], max_mw=[4.0, 6.0], min_mw=[0.0, 6.0])],
    )
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx([604.0, 412.0])


def test_plants_feed_the_bus_they_are_at():
    case = make_case(
        buses=[BusSpec(load=10.0), BusSpec(load=20.0), BusSpec(load=30.0)],
        thermals=[ThermalSpec(bus=2, cost=1.0)],
        sources=[SourceSpec(bus=1, installed=50.0)],
        contracts=[ContractSpec(bus=0, price=2.0)],
    )
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(10 * 2 + 30 * 1)
    assert np.all(found.value(problem.columns.network.deficit) == 0.0)
