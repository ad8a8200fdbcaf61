"""What the files say arrives in the study: ids as indices, defaults filled in, overrides applied in order."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest

from cobre.core.config import BoundStalling, IterationLimit
from cobre.core.entities import ConstraintTerm, DeficitSegment
from cobre.core.horizon import RiskMeasure
from cobre.io.loading import load, validate


@pytest.fixture
def study(case):
    return load(case.write())


def test_ids_become_indices_in_id_order(case):
    case.documents["system/buses.json"]["buses"][0]["id"] = 50
    for name, key in (("hydros", "bus_id"), ("lines", "source_bus_id")):
        for entity in case.documents[f"system/{name}.json"][name]:
            entity[key] = 50 if entity[key] == 0 else entity[key]
    case.documents["system/pumping_stations.json"]["pumping_stations"][0]["bus_id"] = 50
    case.documents["system/energy_contracts.json"]["contracts"][1]["bus_id"] = 50
    for entry in case.documents["scenarios/load_factors.json"]["load_factors"]:
        entry["bus_id"] = 50 if entry["bus_id"] == 0 else entry["bus_id"]
    load_table = case.tables["scenarios/load_seasonal_stats.parquet"]
    load_table["bus_id"] = [50 if value == 0 else value for value in load_table["bus_id"]]
    study = load(case.write())
    assert [bus.name for bus in study.system.buses] == ["SOUTH", "EAST", "NORTH"]
    assert [hydro.bus for hydro in study.system.hydros] == [2, 2, 1]
    assert study.system.lines[0].source_bus == 2
    assert study.system.pumping_stations[0].bus == 2
    assert study.tables.bus.load_mean_mw[2, 0] == 187.2


def test_the_network(study):
    assert study.name == "case"
    assert study.system.buses[0].deficit_segments == (
        DeficitSegment(100.0, 1500.0),
        DeficitSegment(None, 5000.0),
    )
    assert study.system.buses[2].deficit_segments == (DeficitSegment(None, 2500.0),)
    assert [line.efficiency for line in study.system.lines] == [0.98, 0.99]
    assert (study.system.lines[1].source_bus, study.system.lines[1].target_bus) == (1, 2)


def test_line_capacities_take_bounds_factors_and_lifetime(study):
    table, horizon = study.tables.line, study.horizon
    stage_7 = horizon.blocks_of(7)
    assert table.direct_mw[0, stage_7].tolist() == [500.0, 450.0, 500.0]
    assert table.reverse_mw[0, stage_7].tolist() == [300.0, 240.0, 300.0]
    alive = [bool(table.direct_mw[1, horizon.blocks_of(stage)].all()) for stage in range(12)]
    assert alive == [2 <= stage < 10 for stage in range(12)]
    assert table.exchange_cost_per_mwh[0].tolist() == [0.5] * 5 + [0.9] + [0.5] * 6
    assert table.exchange_cost_per_mwh[1].tolist() == [0.75] * 12


def test_thermals_take_bounds_and_lifetime(study):
    table = study.tables.thermal
    assert table.min_generation_mw[0, 5:8].tolist() == [40.0, 10.0, 40.0]
    assert table.max_generation_mw[1, 5:8].tolist() == [220.0, 150.0, 220.0]
    assert table.cost_per_mwh[0, 5:8].tolist() == [82.0, 90.0, 82.0]
    assert table.max_generation_mw[2].tolist() == [0.0] + [150.0] * 10 + [0.0]


def test_hydros_and_their_bounds(study):
    upper, lower, side = study.system.hydros
    assert (upper.downstream, lower.downstream, side.downstream) == (1, None, None)
    assert upper.diversion.downstream == 2
    assert [hydro.has_evaporation for hydro in study.system.hydros] == [True, False, False]
    table = study.tables.hydro
    expected = {
        "min_storage_hm3": (300.0, 500.0),
        "max_storage_hm3": (3200.0, 3000.0),
        "min_turbined_m3s": (0.0, 2.0),
        "max_turbined_m3s": (460.0, 400.0),
        "min_outflow_m3s": (20.0, 25.0),
        "max_outflow_m3s": (math.inf, 900.0),
        "min_generation_mw": (0.0, 5.0),
        "max_generation_mw": (437.0, 350.0),
        "max_diversion_m3s": (15.0, 9.0),
    }
    for name, (base, last) in expected.items():
        values = getattr(table, name)[0]
        assert (values[10], values[11]) == (base, last), name
    assert table.withdrawal_m3s[0].tolist() == [4.0] * 12
    assert table.withdrawal_m3s[1:].tolist() == [[0.0] * 12] * 2
    assert table.max_diversion_m3s[1].tolist() == [0.0] * 12
    assert table.max_outflow_m3s[2, 0] == 200.0


def test_production_by_stage_and_season(study):
    table = study.tables.hydro
    assert table.productivity_mw_per_m3s[0].tolist() == [0.95] * 2 + [0.9] * 3 + [0.95] * 7
    assert table.productivity_mw_per_m3s[1].tolist() == [0.62] * 12
    assert table.productivity_mw_per_m3s[2, 6] == 0.7
    assert np.isnan(np.delete(table.productivity_mw_per_m3s[2], 6)).all()


def test_planes_of_a_stage_win_and_kappa_scales_the_constant_only(study):
    table = study.tables.hydro
    assert table.planes_of(2, 9).tolist() == [[3.0, 0.02, 0.75, 0.0]]
    assert table.planes_of(2, 0).tolist() == [[1.0, 0.01, 0.8, 0.0], [1.0, 0.005, 0.7, -0.01]]
    assert table.planes_of(2, 6).shape == (0, 4)
    assert table.planes_of(0, 0).shape == (0, 4)


def test_evaporation_is_linear_around_the_middle_of_the_reservoir(study):
    # 1750 hm3 lies between 1000 (62 km2) and 2000 (90 km2): slope 0.028, area 83; January has 140 mm and 744 h.
    slope = 140.0 * 0.028 / (3.6 * 744.0)
    assert study.tables.hydro.evaporation_slope[0, 0] == pytest.approx(slope, rel=1e-12)
    assert study.tables.hydro.evaporation_base_m3s[0, 0] == pytest.approx(
        140.0 * 83.0 / (3.6 * 744.0) - slope * 1750.0, rel=1e-12
    )
    assert not study.tables.hydro.evaporation_slope[1:].any()
    assert not study.tables.hydro.evaporation_base_m3s[1:].any()


@pytest.mark.parametrize(
    ("volume", "area", "slope"),
    [
        (1000.0, 62.0, 0.028),  # at a point, the segment to its right
        (3200.0, 118.0, 28.0 / 1200.0),  # at the last point, the last segment
        (5000.0, 118.0, 28.0 / 1200.0),  # beyond the table the area stays
        (100.0, 38.0, 24.0 / 700.0),
    ],
)
def test_reference_volumes_move_the_point_of_linearisation(case, volume, area, slope):
    evaporation = case.documents["system/hydros.json"]["hydros"][0]["evaporation"]
    evaporation["reference_volumes_hm3"] = [volume] * 12
    table = load(case.write()).tables.hydro
    factor = 140.0 / (3.6 * 744.0)
    assert table.evaporation_slope[0, 0] == pytest.approx(factor * slope, rel=1e-12)
    assert table.evaporation_base_m3s[0, 0] == pytest.approx(factor * (area - slope * volume), rel=1e-12)


def test_hydro_prices_come_from_the_most_specific_place(study):
    costs = study.tables.hydro_costs
    assert costs.spillage[0].tolist() == [0.01] * 12
    assert costs.spillage[1].tolist() == [0.02] * 6 + [0.5] + [0.02] * 5
    assert costs.evaporation_above[0].tolist() == [5000.0] * 6 + [7000.0] + [5000.0] * 5
    assert costs.evaporation_below[0].tolist() == [5000.0] * 12
    assert costs.evaporation_above[1].tolist() == costs.evaporation_below[1].tolist() == [4000.0] * 12
    assert costs.withdrawal_above[0].tolist() == [2000.0] * 6 + [1500.0] + [2000.0] * 5
    assert costs.withdrawal_below[0].tolist() == costs.withdrawal_above[0].tolist()
    assert costs.negative_inflow.tolist() == [[3000.0] * 12] * 3
    for name, value in (
        ("diversion", 0.1),
        ("turbined_below", 1000.0),
        ("outflow_below", 1000.0),
        ("outflow_above", 1000.0),
        ("generation_below", 1000.0),
    ):
        assert getattr(costs, name).tolist() == [[value] * 12] * 3, name
    # In 0.5.1 only plants with planes pay for turbined water; SIDE has none in July.
    assert costs.turbined.tolist() == [[0.0] * 12, [0.0] * 12, [0.05] * 6 + [0.0] + [0.05] * 5]


def test_one_sided_prices_of_the_system_yield_to_two_sided_ones_of_a_plant(case):
    hydro = case.documents["penalties.json"]["hydro"]
    hydro.update(evaporation_violation_pos_cost=11.0, evaporation_violation_neg_cost=12.0)
    del hydro["inflow_nonnegativity_cost"]
    costs = load(case.write()).tables.hydro_costs
    assert (costs.evaporation_above[0, 0], costs.evaporation_below[0, 0]) == (11.0, 12.0)
    assert (costs.evaporation_above[1, 0], costs.evaporation_below[1, 0]) == (4000.0, 4000.0)
    assert costs.negative_inflow[0, 0] == 1000.0


def test_buses_take_load_factors_and_prices(study):
    table = study.tables.bus
    assert table.load_mean_mw[1, 0] == pytest.approx(560.0 * 1.04)
    assert table.load_std_mw[1, 0] == pytest.approx(0.03 * 560.0 * 1.04)
    assert table.load_factor.tolist() == [[1.22, 1.03, 0.86] * 12] * 3
    assert table.excess_cost_per_mwh[1].tolist() == [0.1] * 4 + [0.4] + [0.1] * 7


def test_non_controllable_sources(study):
    table = study.tables.non_controllable
    assert [source.id for source in study.system.non_controllables] == [0, 5]
    assert table.installed_mw[0].tolist() == [220.0, 180.0] + [220.0] * 10
    assert table.installed_mw[1].tolist() == [0.0] * 3 + [50.0] * 9
    assert table.curtailment_cost_per_mwh[0].tolist() == [0.01] * 8 + [0.3] + [0.01] * 3
    assert table.curtailment_cost_per_mwh[1].tolist() == [0.02] * 12
    assert table.mean[0, :3].tolist() == [0.26, 0.24, 0.27]
    assert table.mean[1].tolist() == [1.0] * 12
    assert table.std[:, 0].tolist() == [0.1, 0.0]
    assert table.factor[1, study.horizon.blocks_of(4)].tolist() == [1.3, 1.0, 0.4]
    assert table.has_statistics.tolist() == [True, False]


def test_pumps_and_contracts(study):
    pump = study.system.pumping_stations[0]
    assert (pump.source_hydro, pump.destination_hydro, pump.consumption_mw_per_m3s) == (1, 0, 0.8)
    assert study.tables.pumping.min_flow_m3s[0, 1:4].tolist() == [0.0, 1.0, 0.0]
    assert study.tables.pumping.max_flow_m3s[0, 1:4].tolist() == [25.0, 12.0, 25.0]
    assert [contract.is_import for contract in study.system.contracts] == [True, False]
    contract = study.tables.contract
    assert contract.min_mw[0, 2:5].tolist() == [0.0, 5.0, 0.0]
    assert contract.max_mw[0, 2:5].tolist() == [80.0, 70.0, 80.0]
    assert contract.price_per_mwh[0, 2:5].tolist() == [140.0, 155.0, 140.0]
    assert contract.price_per_mwh[1, 0] == -15.0


def test_generic_constraints_and_their_rows(study):
    north, reserve = study.system.generic_constraints
    assert north.terms == (
        ConstraintTerm(1.0, "hydro_generation", 0),
        ConstraintTerm(1.0, "hydro_generation", 1),
        ConstraintTerm(-0.5, "line_exchange", 0, 1),
    )
    assert (north.slack_penalty, reserve.slack_penalty) == (700.0, None)
    rows, none = study.tables.constraint, float("inf")
    assert list(zip(rows.constraint, rows.stage, rows.block, rows.lower, rows.upper, strict=True)) == [
        (0, 1, 0, -none, 600.0),
        (0, 1, 1, -none, 600.0),
        (0, 1, 2, -none, 600.0),
        (0, 2, 0, -none, 580.0),
        (1, 11, 0, 800.0, none),
    ]


def test_the_horizon(study):
    horizon = study.horizon
    assert horizon.n_stages == 12
    first = horizon.stages[0]
    assert (first.start_date, first.end_date) == (dt.date(2026, 1, 1), dt.date(2026, 2, 1))
    assert [block.name for block in first.blocks] == ["PEAK", "MIDDLE", "LIGHT"]
    assert first.hours == pytest.approx(744.0)
    assert first.discount == 1.08 ** (-31 / 365.25)
    assert horizon.stages[5].discount == 1.12 ** (-30 / 365.25)
    assert horizon.stages[3].risk == RiskMeasure(weight=0.5, tail=0.25)
    assert horizon.stages[4].sampling_method == "lhs"
    assert [stage.season_id for stage in horizon.stages] == list(range(12))
    assert {stage.n_openings for stage in horizon.stages} == {8}
    assert [stage.id for stage in horizon.pre_study_stages] == [-1]
    assert horizon.season_definitions.cycle_type == "monthly"
    assert horizon.season_definitions.seasons[2].month_start == 3


def test_statistics_lags_and_correlation(study):
    inflow, lags = study.scenarios.inflow, study.scenarios.lags
    assert inflow.stage_id[:3].tolist() == [-1, 0, 1]
    assert inflow.mean_m3s[:3].tolist() == [300.0, 380.0, 410.0]
    assert inflow.std_m3s[1] == pytest.approx(0.32 * 380.0)
    assert len(lags.lag) == 25
    assert (lags.hydro[-1], lags.coefficient[-1], lags.residual_std_ratio[-1]) == (2, 0.3, 0.95)
    profile = study.scenarios.correlation
    assert profile.default_profile == "default"
    (group,) = profile.profiles["default"]
    assert group.entities == (("inflow", 0), ("inflow", 1))
    assert group.matrix == ((1.0, 0.7), (0.7, 1.0))


def test_a_schedule_of_correlations_is_by_stage_index(case):
    document = case.documents["scenarios/correlation.json"]
    document["profiles"]["dry"] = {"correlation_groups": []}
    document["schedule"] = [{"stage_id": 7, "profile_name": "dry"}, {"stage_id": 6, "profile_name": "dry"}]
    correlation = load(case.write()).scenarios.correlation
    assert correlation.profile_of_stage == {6: "dry", 7: "dry"}
    assert sorted(correlation.profiles) == ["default", "dry"]


def test_given_noises_and_scenarios(case):
    noises = [(s, o, e, s + o / 10 + e / 100) for s in range(12) for o in range(8) for e in range(7)]
    case.tables["scenarios/noise_openings.parquet"] = {
        name: [row[column] for row in noises]
        for column, name in enumerate(("stage_id", "opening_index", "entity_index", "value"))
    }
    case.tables["scenarios/external_load_scenarios.parquet"] = {
        "stage_id": [1, 0], "scenario_id": [0, 0], "bus_id": [2, 2], "value_mw": [5.0, 4.0]
    }  # fmt: skip
    report = validate(case.write())
    assert report.valid, [str(error) for error in report.errors]
    assert "is not used" in report.warnings[0].message
    scenarios = load(case.write()).scenarios
    assert len(scenarios.openings.value) == 12 * 8 * 7
    assert scenarios.openings.value[8] == pytest.approx(0.11)
    assert scenarios.external_load.stage.tolist() == [0, 1]
    assert scenarios.external_load.value.tolist() == [4.0, 5.0]


def test_the_initial_state(study):
    assert study.initial.storage_hm3.tolist() == [1900.0, 450.0, 60.0]
    assert [past.values_m3s for past in study.initial.past_inflows] == [(290.0,), (108.0,), (20.0,)]


def test_settings_and_their_defaults(case):
    training = load(case.write()).config.training
    assert training.forward_passes == 8
    assert set(training.stopping_rules) == {IterationLimit(60), BoundStalling(10, 1e-3)}
    assert training.retries.max_attempts == 5
    case.documents["config.json"] = {"training": {}}
    config = load(case.write()).config
    assert config.training.stopping_rules == (IterationLimit(100),)
    assert (config.training.forward_passes, config.training.tree_seed) == (1, 42)
    assert config.training.cut_selection.method is None
    assert config.inflow_non_negativity == "penalty"


def test_every_setting_arrives(case):
    case.documents["config.json"] = {
        "training": {
            "forward_passes": 3,
            "stopping_mode": "all",
            "stopping_rules": [{"type": "time_limit", "seconds": 2}, {"type": "iteration_limit", "limit": 5}],
            "tree_seed": -7,
            "scenario_source": {"seed": 9, "inflow": {"scheme": "out_of_sample"}},
            "cut_selection": {
                "enabled": True,
                "method": "lml1",
                "check_frequency": 2,
                "threshold": 3,
                "cut_activity_tolerance": 1e-6,
                "max_active_per_stage": 50,
            },
            "solver": {"retry_max_attempts": 2, "retry_time_budget_seconds": 1.5},
        },
        "modeling": {"inflow_non_negativity": {"method": "truncation"}},
    }
    config = load(case.write()).config
    training = config.training
    assert training.stop_when_all
    assert training.tree_seed == 7
    assert (training.scenario_source.seed, training.scenario_source.inflow) == (9, "out_of_sample")
    assert training.scenario_source.load == "in_sample"
    selection = training.cut_selection
    assert (selection.method, selection.check_frequency, selection.threshold) == ("lml1", 2, 3)
    assert (selection.memory_window, selection.domination_epsilon) == (3, 3.0)
    assert (selection.activity_tolerance, selection.max_active_per_stage) == (1e-6, 50)
    assert (training.retries.max_attempts, training.retries.time_budget_seconds) == (2, 1.5)
    assert config.inflow_non_negativity == "truncation"


def test_a_small_case_without_optional_files_is_a_study(case):
    keep = (
        "config penalties stages initial_conditions system/buses system/lines system/hydros system/thermals"
    )
    case.documents = {f"{name}.json": case.documents[f"{name}.json"] for name in keep.split()}
    case.documents["system/hydros.json"]["hydros"] = []
    case.documents["initial_conditions.json"] = {"storage": [], "filling_storage": []}
    case.tables = {}
    study = load(case.write())
    assert study.tables.hydro.planes.shape == (0, 4)
    assert study.tables.bus.load_mean_mw.tolist() == [[0.0] * 12] * 3
    assert len(study.scenarios.inflow.hydro) == 0
