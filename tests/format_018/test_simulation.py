"""Tables of a simulation: plants at several buses, plants that are filled, rows of whole stages."""

from __future__ import annotations

import csv

import pyarrow.parquet as pq
import pytest

import cobre
from format_018.random_cases import case_with
from format_018.small import Case018, limits
from simulation.balances import assert_energy, assert_money, assert_water, rows

MONTH = 730.0


@pytest.fixture
def simulated(tmp_path):
    case = Case018([[365.0, 365.0]] * 3, [30.0, 60.0])
    case.add_thermal(50.0, 500.0)
    case.add_thermal(90.0, 500.0, bus=1)
    plant = case.add_hydro(40.0, 90.0, productivity=0.5, inflow=[20.0, 10.0, 5.0])
    plant["generation"] = {"model": "constant_productivity", **limits(200.0, 100.0)}
    plant["unit_groups"] = [
        {"id": 0, "name": "A", "bus_id": 1, **limits(100.0, 50.0, least=3.0)},
        {"id": 1, "name": "B", "bus_id": 0, **limits(100.0, 50.0)},
    ]
    filling = {"start_stage_id": 0, "filling_min_rate_m3s": 1.0}
    case.add_hydro(10.0, 90.0, least=30.0, inflow=[2.0] * 3, entry_stage_id=2, filling=filling)
    case.constrain("hydro_storage(0)", [{"stage_id": 1, "bound_lower": 45.0}], 4.0)
    study = cobre.load_case(case.write(tmp_path / "case"))
    return study, cobre.simulate(study, cobre.train(study).policy, scenarios=1)


def test_energy_water_and_money_balance(simulated):
    for check in (assert_energy, assert_water, assert_money):
        check(*simulated, 1e-6)


def test_a_plant_makes_what_its_units_make(simulated):
    _, result = simulated
    total: dict[tuple[int, ...], list[float]] = {}
    for row in rows(result, "hydro_bus_generation"):
        key = (row["stage_id"], row["block_id"], row["hydro_id"])
        found = total.setdefault(key, [0.0, 0.0])
        found[0] += row["generation_mw"]
        found[1] += row["turbined_m3s"]
    of_plants = {
        (row["stage_id"], row["block_id"], row["hydro_id"]): [row["generation_mw"], row["turbined_m3s"]]
        for row in rows(result, "hydros")
    }
    assert total == of_plants
    assert {row["bus_id"] for row in rows(result, "hydro_bus_generation") if row["hydro_id"] == 0} == {0, 1}


def test_missed_filling_targets_are_reported_and_paid(simulated):
    _, result = simulated
    missed = {
        row["stage_id"]: (row["filling_target_violation_hm3"], row["operative_state_code"])
        for row in rows(result, "hydros")
        if row["hydro_id"] == 1
    }
    month = 0.0036 * MONTH
    first, second = 30.0 - month - 10.0 - 2.0 * month, 30.0 - 10.0 - 4.0 * month
    assert missed[0] == (pytest.approx(first), 1)
    assert missed[1] == (pytest.approx(second), 1)
    assert missed[2] == (0.0, 2)
    paid = {row["stage_id"]: row["filling_target_cost"] for row in rows(result, "costs")}
    assert paid[0] == pytest.approx(6000.0 * first)


def test_a_row_of_the_whole_stage_has_no_block(simulated):
    _, result = simulated
    found = rows(result, "violations/generic")
    assert [(row["stage_id"], row["block_id"]) for row in found] == [(1, None)]


def test_a_load_of_external_scenarios_needs_no_statistics(tmp_path):
    """A single scenario of 123 MW comes about, in the openings of the training, too."""
    case = Case018([[MONTH]] * 2, [0.0])
    case.add_thermal(50.0, 500.0)
    case.tables["scenarios/load_seasonal_stats.parquet"] = []
    case.tables["scenarios/external_load_scenarios.parquet"] = [
        {"stage_id": stage, "scenario_id": 0, "bus_id": 0, "value_mw": 123.0} for stage in (0, 1)
    ]
    case.documents["config.json"]["training"]["scenario_source"] = {"seed": 3, "load": {"scheme": "external"}}
    study = cobre.load_case(case.write(tmp_path / "case"))
    trained = cobre.train(study)
    assert trained.final_lower_bound == pytest.approx(2 * 123.0 * 50.0 * MONTH, rel=1e-12)
    found = rows(cobre.simulate(study, trained.policy, scenarios=3), "buses")
    assert {row["load_mw"] for row in found} == {123.0}


@pytest.mark.parametrize(
    ("bounds", "slack"),
    [
        ({"bound_lower": 35.0, "bound_upper": 40.0}, 5.0),
        ({"bound_lower": 20.0, "bound_upper": 25.0}, -5.0),
        ({"bound_lower": 35.0}, 5.0),
        ({"bound_upper": 25.0}, 5.0),
    ],
)
def test_a_violation_has_a_sign_where_a_row_has_two_bounds(tmp_path, bounds, slack):
    """As the public Cobre writes it: what is missing from the lower bound less what is beyond the upper one."""
    case = Case018([[MONTH]], [30.0])
    case.add_thermal(50.0, 500.0)
    case.constrain("thermal_generation(0)", [{"stage_id": 0, **bounds}], 0.001)
    study = cobre.load_case(case.write(tmp_path / "case"))
    (row,) = rows(cobre.simulate(study, cobre.train(study).policy, scenarios=1), "violations/generic")
    assert row["slack_value"] == pytest.approx(slack)
    assert row["slack_cost"] == pytest.approx(5.0 * 0.001 * MONTH)


def test_dictionaries_list_the_units_of_plants(tmp_path):
    case = Case018([[365.0, 365.0]] * 2, [30.0, 60.0])
    case.add_thermal(50.0, 500.0)
    plant = case.add_hydro(40.0, 90.0, productivity=0.5, inflow=[20.0, 10.0])
    plant["generation"] = {"model": "constant_productivity", **limits(200.0, 100.0)}
    plant["unit_groups"] = [
        {"id": 4, "name": "B", "bus_id": 0, **limits(100.0, 50.0)},
        {"id": 0, "name": "A", "bus_id": 1, **limits(80.0, 40.0, least=3.0)},
    ]
    row = {"hydro_id": 0, "hydro_unit_group_id": 4, "stage_id": 1, "block_id": 1, "max_turbined_m3s": 30.0}
    case.tables["constraints/hydro_unit_group_bounds.parquet"] = [row]
    cobre.train(case.write(tmp_path / "case"), output=tmp_path / "out")
    root = tmp_path / "out/training/dictionaries"
    with (root / "entities.csv").open(newline="") as file:
        units = [line for line in csv.reader(file) if line[0] == "8"]
    assert units == [["8", "0", "0/A", "1", "0"], ["8", "4", "0/B", "0", "0"]]
    found = [
        (
            row["entity_id"],
            row["hydro_id"],
            row["stage_id"],
            row["block_id"],
            row["bound_type_code"],
            row["bound_value"],
        )
        for row in pq.read_table(root / "bounds.parquet").to_pylist()
        if row["entity_type_code"] == 8
    ]
    of_a = [
        (0, 0, s, None, kind, value)
        for s in (0, 1)
        for kind, value in ((2, 3.0), (3, 80.0), (6, 0.0), (7, 40.0))
    ]
    assert [each for each in found if each[0] == 0] == of_a
    most = [(stage, block, value) for unit, _, stage, block, kind, value in found if (unit, kind) == (4, 3)]
    assert most == [(0, None, 100.0), (1, 0, 100.0), (1, 1, 30.0)]


def test_lags_before_the_study_are_those_observed_for_every_plant(tmp_path):
    """Also those that the model of the plant does not read, but that of another one does."""
    case = case_with(1, "lags")  # of order 0, 2 and 1
    orders = {row["hydro_id"]: row["lag"] for row in case.tables["scenarios/inflow_ar_coefficients.parquet"]}
    assert len({orders.get(number, 0) for number in case.inflows}) > 1
    observed = {
        (row["hydro_id"], 1 if row["end_date"] == "2025-01-01" else 2): row["value_m3s"]
        for row in case.documents["initial_conditions.json"]["recent_observations"]
    }
    study = cobre.load_case(case.write(tmp_path / "case"))
    simulated = cobre.simulate(study, cobre.train(study).policy, scenarios=2)
    shown = {
        (row["hydro_id"], row["lag_index"]): row["inflow_m3s"]
        for row in rows(simulated, "inflow_lags")
        if row["stage_id"] == 0
    }
    assert len(shown) == len(case.inflows) * max(orders.values())
    assert shown == pytest.approx({place: observed[place] for place in shown})
