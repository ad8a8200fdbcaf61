"""``quantiles``: any column by entities and times, against the tables themselves."""

from __future__ import annotations

import numpy as np
import pytest

import cobre
from simulation.hand_cases import one_hydro, short_and_long
from simulation.test_columns import N as N_FULL
from simulation.test_columns import run

N = 30


@pytest.fixture(scope="module")
def blocks():
    case = short_and_long()
    return cobre.simulate(case, cobre.train(case).policy, scenarios=3)


@pytest.fixture(scope="module")
def hydro():
    case = one_hydro()
    return cobre.simulate(case, cobre.train(case).policy, scenarios=N)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Every kind of entity, three blocks, twelve stages in twelve seasons."""
    return cobre.load_results(run(tmp_path_factory.mktemp("full"), "by_table")).simulation


def rows(table, *keys):
    return {tuple(row[key] for key in keys): row for row in table.to_pylist()}


def test_storage_by_hydro_and_stage(hydro):
    found = hydro.quantiles("storage_final_hm3", by=("hydro", "stage"))
    assert found.column_names == [
        "hydro_id",
        "hydro_name",
        "stage_id",
        "mean",
        "p5",
        "p25",
        "p50",
        "p75",
        "p95",
    ]
    finals = np.array([row["storage_final_hm3"] for row in hydro.hydros.to_pylist() if row["stage_id"] == 1])
    second = rows(found, "hydro_id", "stage_id")[0, 1]
    assert second["mean"] == pytest.approx(finals.mean())
    for share in (5, 25, 50, 75, 95):
        assert second[f"p{share}"] == pytest.approx(np.quantile(finals, share / 100))
    assert rows(found, "hydro_id", "stage_id")[0, 0]["p95"] == pytest.approx(3.0)
    assert set(found["hydro_name"].to_pylist()) == {"H0"}


def test_prices_are_averaged_by_the_hours_of_blocks(blocks):
    found = rows(blocks.quantiles("spot_price", by=("bus", "stage"), shares=()), "bus_id", "stage_id")
    assert found[0, 0]["mean"] == pytest.approx((10.0 * 100 + 5.0 * 630) / 730)
    assert found[0, 1]["mean"] == pytest.approx((1000.0 * 100 + 10.0 * 630) / 730)
    by_block = rows(blocks.quantiles("spot_price", by=("bus", "stage", "block")), "stage_id", "block_id")
    assert by_block[1, 0]["p50"] == pytest.approx(1000.0)
    assert by_block[1, 1]["p50"] == pytest.approx(10.0)


def test_prices_over_all_stages_are_averaged_by_hours(full):
    """Every stage has its own hours; what each is worth in the mean follows from stages.csv."""
    prices = full.table("buses", ["scenario_id", "stage_id", "block_id", "bus_id", "spot_price"], names=False)
    hours = full._kept().calendar().block_hours
    total, sums = sum(hours.values()), {}
    for row in prices.to_pylist():
        key = (row["bus_id"], row["scenario_id"])
        weight = hours[row["stage_id"], row["block_id"]] / total
        sums[key] = sums.get(key, 0.0) + row["spot_price"] * weight
    for row in full.quantiles("spot_price", by=("bus",), shares=(0.5,)).to_pylist():
        of_bus = [value for (bus, _), value in sums.items() if bus == row["bus_id"]]
        assert len(of_bus) == N_FULL
        assert row["mean"] == pytest.approx(np.mean(of_bus))
        assert row["p50"] == pytest.approx(np.median(of_bus))


def test_energy_and_money_add_up(blocks):
    found = rows(blocks.quantiles("generation_mwh", by=("thermal",), shares=(0.5,)), "thermal_id")
    assert found[0,]["mean"] == pytest.approx(100 * (15 + 15 + 2) + 630 * (10 + 15 + 2))
    assert found[1,]["p50"] == pytest.approx(100 * (5 + 15) + 630 * 5)
    cost = blocks.quantiles("immediate_cost", by=(), shares=(), table="costs")
    assert cost.to_pylist() == [{"mean": pytest.approx(blocks.mean_cost)}]


def test_power_of_blocks_is_averaged_and_of_plants_added_up(blocks):
    found = rows(blocks.quantiles("generation_mw", by="stage", shares=(), table="thermals"), "stage_id")
    assert found[0,]["mean"] == pytest.approx((20.0 * 100 + 10.0 * 630) / 730)


def test_the_cost_of_scenarios(hydro):
    found = hydro.quantiles("discounted_immediate_cost", by=(), shares=(0.05, 0.5, 0.95)).to_pylist()
    statistics = hydro.statistics
    assert found == [
        {
            "mean": pytest.approx(statistics["mean_cost"]),
            "p5": pytest.approx(statistics["p5"]),
            "p50": pytest.approx(statistics["p50"]),
            "p95": pytest.approx(statistics["p95"]),
        }
    ]


def test_a_storage_is_not_added_up_over_stages(full):
    over_all = full.quantiles("storage_final_hm3", by=(), shares=(), table="stage_summary")["mean"][0].as_py()
    of_stages = full.quantiles("storage_final_hm3", by=("stage",), shares=(), table="stage_summary")["mean"]
    assert min(of_stages.to_pylist()) <= over_all <= max(of_stages.to_pylist())
    by_plant = full.quantiles("storage_final_hm3", by=("hydro", "stage"), shares=())
    first = sum(row["mean"] for row in by_plant.to_pylist() if row["stage_id"] == 0)
    assert of_stages[0].as_py() == pytest.approx(first)


def test_values_of_a_stage_count_once_however_many_blocks_it_has(full):
    found = rows(
        full.quantiles("storage_final_hm3", by=("hydro", "stage"), shares=()), "hydro_id", "stage_id"
    )
    table = full.table("hydros", names=False).to_pylist()
    for plant, stage in ((0, 0), (2, 11)):
        finals = [
            row["storage_final_hm3"]
            for row in table
            if (row["hydro_id"], row["stage_id"], row["block_id"]) == (plant, stage, 0)
        ]
        assert found[plant, stage]["mean"] == pytest.approx(np.mean(finals))


def test_seasons(full):
    stages = full.quantiles("load_mwh", by=("stage",), shares=(), table="stage_summary")
    seasons = full.quantiles("load_mwh", by=("season",), shares=(), table="stage_summary")
    assert seasons.column_names == ["season", "mean"]
    assert sum(seasons["mean"].to_pylist()) == pytest.approx(sum(stages["mean"].to_pylist()))
    assert seasons.num_rows == 12


def test_a_null_is_left_out(full):
    evaporation = full.quantiles("evaporation_m3s", by=("hydro", "stage"), shares=())
    having = {row["hydro_id"] for row in full.hydros.to_pylist() if row["evaporation_m3s"] is not None}
    assert set(evaporation["hydro_id"].to_pylist()) == having
    assert having


def test_past_inflows_by_lag(full):
    found = full.quantiles("inflow_m3s", by=("hydro", "stage", "lag"), shares=(), table="inflow_lags")
    first = rows(found, "hydro_id", "stage_id", "lag_index")[2, 0, 1]
    assert first["mean"] == pytest.approx(20.0)


def test_the_table_follows_from_the_entities_that_are_named(full):
    lags = full.quantiles("inflow_m3s", by=("hydro", "stage", "lag"), shares=())
    assert lags.equals(
        full.quantiles("inflow_m3s", by=("hydro", "stage", "lag"), shares=(), table="inflow_lags")
    )
    total = full.quantiles("storage_final_hm3", shares=())
    by_plant = full.quantiles("storage_final_hm3", shares=(), table="hydros")
    assert total["mean"].to_pylist() == pytest.approx(by_plant["mean"].to_pylist())


def test_violations_by_constraint(full):
    found = full.quantiles("slack_value", by=("constraint", "stage", "block"), shares=())
    wanted = {}
    for row in full.violations.to_pylist():
        key = (row["constraint_id"], row["stage_id"], row["block_id"])
        wanted[key] = wanted.get(key, 0.0) + row["slack_value"] / N_FULL
    means = rows(found, "constraint_id", "stage_id", "block_id")
    assert means.keys() == wanted.keys()
    assert all(means[key]["mean"] == pytest.approx(wanted[key], abs=1e-9) for key in wanted)


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        ({"column": "storage"}, "there is no column 'storage'", "variables.csv"),
        ({"column": "storage_final"}, "no column 'storage_final'", "use 'storage_final_hm3', or look at"),
        (
            {"column": "storage_final_hm3", "table": "thermals"},
            "table thermals has no column",
            "generation_mw",
        ),
        ({"column": "load_mw", "table": "bus"}, "there is no table 'bus'", "buses"),
        ({"column": "generation_mwh"}, "several tables have a column 'generation_mwh'", "table="),
        (
            {"column": "load_mw", "by": ("hydro",)},
            "buses cannot be grouped by 'hydro'",
            "bus, stage, block, season",
        ),
        ({"column": "load_mw", "by": ("years",)}, "cannot be grouped by 'years'", "bus"),
        ({"column": "spot_price"}, "spot_price of several entities", "add 'bus' to by"),
        ({"column": "water_value_per_hm3", "by": ("stage",)}, "several entities", "add 'hydro' to by"),
        ({"column": "inflow_m3s", "by": ("hydro",), "table": "inflow_lags"}, "several lags", "add 'lag'"),
        ({"column": "generation_mw", "by": ("bus",)}, "several tables", "table="),
        ({"column": "slack_value", "by": ("stage",)}, "units of its constraint", "add 'constraint' to by"),
        ({"column": "probability", "by": ()}, "probability has no values", "another column"),
        ({"column": "anticipated_decision_mw", "by": ("thermal",)}, "has no values in table thermals", ""),
        ({"column": "storage_binding_code", "by": ("hydro",)}, "is no quantity", "count its rows"),
        ({"column": "is_anticipated", "by": ("thermal",)}, "is no quantity", "thermals"),
        ({"column": "load_mw", "by": ("bus",), "shares": (0.5, 1.5)}, "no quantile 1.5", "from 0 to 1"),
        ({"column": "load_mw", "by": ("bus",), "shares": (float("nan"),)}, "no quantile nan", "from 0 to 1"),
        ({"column": "load_mw", "by": ("bus",), "shares": ("a",)}, "no quantile 'a'", "from 0 to 1"),
    ],
)
def test_a_question_that_cannot_be_answered(full, arguments, message, fix):
    with pytest.raises(cobre.ValidationError, match=message) as caught:
        full.quantiles(**arguments)
    assert fix in caught.value.suggestion


def test_one_share_need_not_be_in_a_tuple(full):
    found = full.quantiles("load_mw", by="bus", shares=0.5)
    assert found.equals(full.quantiles("load_mw", by=("bus",), shares=(0.5,)))


def test_an_unknown_column_of_a_table(full):
    with pytest.raises(cobre.ValidationError, match="table hydros has no column 'storage'") as caught:
        full.table("hydros", ["stage_id", "storage"])
    assert "storage_final_hm3" in caught.value.suggestion


def test_a_table_that_the_case_has_not(hydro):
    with pytest.raises(cobre.IOError, match="no table 'exchanges'") as caught:
        _ = hydro.exchanges
    assert "hydros" in caught.value.suggestion
    with pytest.raises(AttributeError, match="hydroz"):
        _ = hydro.hydroz
