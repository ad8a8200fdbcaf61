"""Simulated values against arithmetic by hand, for every scenario."""

from __future__ import annotations

import math
from functools import cache

import pytest

import cobre
from sddp.specs import UNIT_HOURS as U
from simulation.hand_cases import cascade, one_hydro, opening_of, rows_by, short_and_long, thermal_dispatch

N = 40


@cache
def simulated(make_case):
    case = make_case()
    return cobre.simulate(case, cobre.train(case).policy, scenarios=N)


def assert_row(row, **expected):
    found = {name: row[name] for name in expected}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-7), row


def test_thermal_dispatch_in_merit_order():
    """15 MW at 5 $/MWh and the missing 5 MW at 10 $/MWh, which sets the price."""
    dispatch = simulated(thermal_dispatch)
    plants = rows_by(dispatch, "thermals", "scenario_id", "stage_id", "thermal_id")
    buses = rows_by(dispatch, "buses", "scenario_id", "stage_id")
    costs = rows_by(dispatch, "costs", "scenario_id", "stage_id")
    assert len(plants) == 4 * N
    assert len(buses) == len(costs) == 2 * N
    for scenario in range(N):
        for stage in range(2):
            for plant, power, price in ((0, 15.0, 5.0), (1, 5.0, 10.0)):
                assert_row(
                    plants[scenario, stage, plant],
                    generation_mw=power,
                    generation_mwh=power * 730.0,
                    generation_cost=power * 730.0 * price,
                    operative_state_code=2,
                    is_anticipated=False,
                )
            assert_row(
                buses[scenario, stage],
                load_mw=20.0,
                load_mwh=14600.0,
                deficit_mw=0.0,
                excess_mw=0.0,
                spot_price=10.0,
            )
            row = costs[scenario, stage]
            future = 91250.0 * (stage == 0)
            assert_row(
                row,
                immediate_cost=91250.0,
                thermal_cost=91250.0,
                future_cost=future,
                total_cost=91250.0 + future,
                discount_factor=1.0,
            )
            others = {name for name in row if name.endswith("_cost")} - {
                "immediate_cost", "thermal_cost", "future_cost", "total_cost"
            }  # fmt: skip
            assert len(others) == 20
            assert all(row[name] == 0.0 for name in others)


def test_statistics_of_a_study_without_uncertainty():
    dispatch = simulated(thermal_dispatch)
    found = dispatch.statistics
    for name in ("mean_cost", "min_cost", "max_cost", "p5", "p50", "p95", "cvar_95"):
        assert found[name] == pytest.approx(182500.0, rel=1e-12), name
    assert found["std_cost"] == pytest.approx(0.0, abs=1e-6)
    assert found["deficit_frequency"] == found["total_deficit_mwh"] == found["total_spillage_hm3"] == 0.0
    assert found["categories"]["resource"]["frequency"] == 1.0
    assert found["categories"]["recourse"] == {"mean": 0.0, "max": 0.0, "frequency": 0.0}


def test_prices_deficits_and_excess_by_block():
    """Each stage and block by itself: there is nothing to store.

    Stage 0: 20 MW as above; 10 MW from the first plant alone. Stage 1: 40 MW is 10 MW too much; 20 MW. Stage 2: 2 MW,
    which the first plant must give anyway, and 1 MW, of which it gives 1 MW too much: one MWh more of load saves 3 $.
    """
    blocks = simulated(short_and_long)
    expected = {  # stage, block: load, first plant, second plant, deficit, excess, price
        (0, 0): (20.0, 15.0, 5.0, 0.0, 0.0, 10.0),
        (0, 1): (10.0, 10.0, 0.0, 0.0, 0.0, 5.0),
        (1, 0): (40.0, 15.0, 15.0, 10.0, 0.0, 1000.0),
        (1, 1): (20.0, 15.0, 5.0, 0.0, 0.0, 10.0),
        (2, 1): (1.0, 2.0, 0.0, 0.0, 1.0, -3.0),
    }
    hours = (100.0, 630.0)
    buses = rows_by(blocks, "buses", "scenario_id", "stage_id", "block_id")
    plants = rows_by(blocks, "thermals", "scenario_id", "stage_id", "block_id", "thermal_id")
    for scenario in range(N):
        for (stage, block), (load, first, second, deficit, excess, price) in expected.items():
            assert_row(
                buses[scenario, stage, block],
                load_mw=load,
                load_mwh=load * hours[block],
                deficit_mw=deficit,
                deficit_mwh=deficit * hours[block],
                excess_mw=excess,
                excess_mwh=excess * hours[block],
                spot_price=price,
            )
            for plant, power in enumerate((first, second)):
                assert_row(
                    plants[scenario, stage, block, plant],
                    generation_mw=power,
                    generation_mwh=power * hours[block],
                    generation_cost=power * hours[block] * (5.0, 10.0)[plant],
                )
    costs = rows_by(blocks, "costs", "scenario_id", "stage_id")
    for scenario in range(N):
        assert costs[scenario, 1]["block_id"] is None
        assert_row(costs[scenario, 0], thermal_cost=125.0 * 100.0 + 50.0 * 630.0, immediate_cost=44000.0)
        assert_row(costs[scenario, 1], thermal_cost=225.0 * 100.0 + 125.0 * 630.0, deficit_cost=1e6)
        assert_row(costs[scenario, 2], thermal_cost=7300.0, excess_cost=1890.0, immediate_cost=9190.0)
    assert blocks.statistics["deficit_frequency"] == 1.0
    assert blocks.statistics["total_deficit_mwh"] == pytest.approx(1000.0)


def test_one_reservoir_over_all_scenarios():
    """By hand, in units of U = UNIT_HOURS.

    Second stage with v hm3 in the reservoir. Without inflow v MW of hydro power, 2 MW of thermal power and a deficit
    of 4 - v: 20 + 1000 (4 - v). With 10 hm3: 6 MW, nothing spilled, no cost. With 20 hm3: v + 20 - 6 of which 10 stay
    and v + 4 are spilled: 0.3 (v + 4). So one hm3 more saves (1000 - 0.3) / 3, seen from the first stage 0.9 of that,
    which is 299.91 and dearer than thermal power: all 2 MW run in the first stage, the reservoir gives 4 MW and
    ends with 3 hm3.
    """
    hydro = simulated(one_hydro)
    costs = rows_by(hydro, "costs", "scenario_id", "stage_id")
    plants = rows_by(hydro, "hydros", "scenario_id", "stage_id")
    buses = rows_by(hydro, "buses", "scenario_id", "stage_id")
    thermals = rows_by(hydro, "thermals", "scenario_id", "stage_id")
    future = 0.9 * (1020.0 + 0.0 + 2.1) / 3.0
    second = {  # opening: inflow, turbined, spilled, final storage, limit, thermal, deficit, price, cost
        0: (0.0, 3.0, 0.0, 0.0, 1, 2.0, 1.0, 1000.0, 1020.0),
        1: (10.0, 6.0, 0.0, 7.0, 0, 0.0, 0.0, 0.0, 0.0),
        2: (20.0, 6.0, 7.0, 10.0, 2, 0.0, 0.0, -0.3, 2.1),
    }
    for scenario in range(N):
        met = opening_of(scenario, 1, 3)
        inflow, turbined, spilled, final, limit, thermal, deficit, price, cost = second[met]
        assert_row(
            plants[scenario, 0],
            incremental_inflow_m3s=0.0,
            turbined_m3s=4.0,
            spillage_m3s=0.0,
            outflow_m3s=4.0,
            storage_initial_hm3=7.0,
            storage_final_hm3=3.0,
            storage_binding_code=0,
            generation_mw=4.0,
            generation_mwh=4.0 * U,
            water_value_per_hm3=299.91 * U,
            stored_energy_final_mwh=3.0 * U,
            equivalent_productivity_mw_per_m3s=1.0,
        )
        assert_row(
            plants[scenario, 1],
            incremental_inflow_m3s=inflow,
            inflow_m3s=inflow,
            turbined_m3s=turbined,
            spillage_m3s=spilled,
            outflow_m3s=turbined + spilled,
            storage_initial_hm3=3.0,
            storage_final_hm3=final,
            storage_binding_code=limit,
            generation_mw=turbined,
            spillage_cost=0.3 * spilled * U,
            water_value_per_hm3=price * U,
        )
        assert_row(buses[scenario, 0], spot_price=299.91, deficit_mw=0.0)
        assert_row(buses[scenario, 1], spot_price=price, deficit_mw=deficit, deficit_mwh=deficit * U)
        assert_row(thermals[scenario, 0], generation_mw=2.0)
        assert_row(thermals[scenario, 1], generation_mw=thermal)
        assert_row(
            costs[scenario, 0],
            immediate_cost=20.0 * U,
            future_cost=future * U,
            total_cost=(20.0 + future) * U,
            discount_factor=1.0,
        )
        assert_row(
            costs[scenario, 1],
            immediate_cost=cost * U,
            future_cost=0.0,
            thermal_cost=10.0 * thermal * U,
            deficit_cost=1000.0 * deficit * U,
            spillage_cost=0.3 * spilled * U,
            discount_factor=0.9,
        )


def test_statistics_of_one_reservoir():
    """From how often each opening is met; costs are discounted, categories are not."""
    hydro = simulated(one_hydro)
    met = [opening_of(scenario, 1, 3) for scenario in range(N)]
    dry, wet = met.count(0), met.count(2)
    assert wet > 0
    assert 0 < dry < N
    costs = sorted((20.0 + 0.9 * (1020.0, 0.0, 2.1)[opening]) * U for opening in met)
    mean = math.fsum(costs) / N
    deviation = math.sqrt(math.fsum((cost - mean) ** 2 for cost in costs) / (N - 1))
    found = hydro.statistics
    expected = {
        "n_scenarios": N,
        "mean_cost": mean,
        "std_cost": deviation,
        "ci_95": 1.96 * deviation / math.sqrt(N),
        "min_cost": 20.0 * U,
        "max_cost": 938.0 * U,
        "cvar_95": math.fsum(costs[-2:]) / 2,  # 40 - floor(38) scenarios
        "p50": (costs[19] + costs[20]) / 2,
        "deficit_frequency": dry / N,
        "total_deficit_mwh": dry * U / N,
        "total_spillage_hm3": 7.0 * wet / N,
        "total_spillage_mwh": 7.0 * U * wet / N,
        "total_curtailment_mwh": 0.0,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    categories = {
        "resource": {"mean": (20.0 + 20.0 * dry / N) * U, "max": 40.0 * U, "frequency": 1.0},
        "recourse": {"mean": 1000.0 * dry / N * U, "max": 1000.0 * U, "frequency": dry / N},
        "regularization": {"mean": 2.1 * wet / N * U, "max": 2.1 * U, "frequency": wet / N},
        "violation": {"mean": 0.0, "max": 0.0, "frequency": 0.0},
        "imputed": {"mean": 0.0, "max": 0.0, "frequency": 0.0},
    }
    assert found["categories"].keys() == categories.keys()
    for name, values in categories.items():
        assert found["categories"][name] == pytest.approx(values, rel=1e-9, abs=1e-9), name


def test_a_cascade_over_all_scenarios():
    """By hand, in units of U.

    Second stage, dry, with 2 hm3 above and none below: 2 MW and 4 MW, 6 MW of thermal power at 50; one hm3 more is
    worth 150 above and 100 below. Wet: 22 hm3 above, of which 10 stay, 5 are turbined and 7 spilled (2.1); below,
    12 hm3 arrive and 3.5 give the 7 MW that miss; power costs nothing, and one hm3 more above is spilled: -0.3.
    First stage: water saved is worth (150 - 0.3) / 2 = 74.85 above and 50 below, but saves thermal power now at 30
    each MW: 90 above, 60 below. So both turbine all they can, 2 and 4 m3/s, and 2 MW are thermal. One hm3 more above
    cannot be turbined, and spilled it would save 60 - 0.3: it is kept, for 74.85. One more below saves 60.
    """
    river = simulated(cascade)
    costs = rows_by(river, "costs", "scenario_id", "stage_id")
    plants = rows_by(river, "hydros", "scenario_id", "stage_id", "hydro_id")
    buses = rows_by(river, "buses", "scenario_id", "stage_id")
    thermals = rows_by(river, "thermals", "scenario_id", "stage_id")
    first = {  # plant: inflow, turbined, spilled, initial, final, water value
        0: (0.0, 2.0, 0.0, 4.0, 2.0, 74.85),
        1: (2.0, 4.0, 0.0, 2.0, 0.0, 60.0),
    }
    second = {
        0: {0: (0.0, 2.0, 0.0, 2.0, 0.0, 150.0), 1: (2.0, 2.0, 0.0, 0.0, 0.0, 100.0)},
        1: {0: (20.0, 5.0, 7.0, 2.0, 10.0, -0.3), 1: (12.0, 3.5, 0.0, 0.0, 8.5, 0.0)},
    }
    seen = set()
    for scenario in range(N):
        met = opening_of(scenario, 1, 2)
        seen.add(met)
        for stage, values in ((0, first), (1, second[met])):
            for plant, (inflow, turbined, spilled, initial, final, value) in values.items():
                assert_row(
                    plants[scenario, stage, plant],
                    inflow_m3s=inflow,
                    incremental_inflow_m3s=inflow if plant == 0 else 0.0,
                    turbined_m3s=turbined,
                    spillage_m3s=spilled,
                    storage_initial_hm3=initial,
                    storage_final_hm3=final,
                    generation_mw=turbined * (1.0, 2.0)[plant],
                    water_value_per_hm3=value * U,
                    accumulated_productivity_mw_per_m3s=(3.0, 2.0)[plant],
                    stored_energy_final_mwh=final * (3.0, 2.0)[plant] * U,
                    stored_energy_final_mw=final * (3.0, 2.0)[plant],
                    incremental_inflow_energy_mw=3.0 * inflow if plant == 0 else 0.0,
                )
        assert_row(buses[scenario, 0], spot_price=30.0)
        assert_row(buses[scenario, 1], spot_price=(50.0, 0.0)[met])
        assert_row(thermals[scenario, 0], generation_mw=2.0)
        assert_row(thermals[scenario, 1], generation_mw=(6.0, 0.0)[met])
        assert_row(costs[scenario, 0], immediate_cost=60.0 * U, future_cost=151.05 * U)
        assert_row(costs[scenario, 1], immediate_cost=(300.0, 2.1)[met] * U, future_cost=0.0)
    assert seen == {0, 1}


def test_entities_of_all_scenarios_have_names():
    river = simulated(cascade)
    assert set(river.hydros["hydro_name"].to_pylist()) == {"H0", "H1"}
    assert set(river.hydro_bus_generation["bus_name"].to_pylist()) == {"B0"}
    assert river.hydro_bus_generation.num_rows == N * 4
