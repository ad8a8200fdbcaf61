"""Every element of 0.18 in a case small enough to work out its optimum by hand, in the comment beside it."""

from __future__ import annotations

import pytest

import cobre
from format_018.small import NO_LIMIT, Case018, limits

MONTH = 730.0
HM3 = 0.0036 * MONTH
"""hm3 of 1 m3/s during a month of 730 hours."""
MWH = 1.0 / 0.0036
"""MWh of 1 hm3 at 1 MW per m3/s."""


def bound(case: Case018, folder) -> float:
    return cobre.train(case.write(folder / "case")).final_lower_bound


def two_months(load: float = 0.0, **more) -> Case018:
    return Case018([[MONTH], [MONTH]], [load], **more)


def test_a_band_is_violated_below_at_its_price(tmp_path):
    case = two_months(20.0)
    case.add_thermal(50.0, 30.0)
    rows = [{"stage_id": stage, "bound_lower": 35.0, "bound_upper": 100.0} for stage in (0, 1)]
    case.constrain("thermal_generation(0)", rows, 5000.0)
    # 30 MW at 50, 10 MW of them too much at .01, 5 MW below the band at 5000.
    assert bound(case, tmp_path) == pytest.approx(2 * MONTH * (30 * 50 + 10 * 0.01 + 5 * 5000))


def test_an_upper_bound_moves_load_to_the_deficit(tmp_path):
    case = two_months(20.0)
    case.add_thermal(50.0, 30.0)
    case.constrain(
        "thermal_generation(0)", [{"stage_id": stage, "bound_upper": 10.0} for stage in (0, 1)], 5000.0
    )
    assert bound(case, tmp_path) == pytest.approx(2 * MONTH * (10 * 50 + 10 * 1000))


def test_sources_enter_and_exit(tmp_path):
    case = Case018([[MONTH]] * 3, [80.0])
    case.add_thermal(10.0, 100.0)
    case.add_source(100.0, entry_stage_id=1)
    case.add_source(100.0, exit_stage_id=2)
    case.tables["scenarios/non_controllable_stats.parquet"] = [
        {"ncs_id": ncs, "stage_id": stage, "mean": 0.5, "std": 0.0} for ncs in (0, 1) for stage in range(3)
    ]
    # One source in the first and last month: 50 MW, thermal 30. Both in the second: 80 of 100 MW.
    power = 50.0 + 80.0 + 50.0
    assert bound(case, tmp_path) == pytest.approx(MONTH * (2 * 30 * 10 - 0.001 * power))


def test_a_source_that_must_run_fills_the_excess(tmp_path):
    case = two_months(60.0)
    case.documents["penalties.json"]["bus"]["excess_cost"] = 7.0
    case.add_thermal(10.0, 100.0)
    case.add_source(100.0, allow_curtailment=False)
    assert bound(case, tmp_path) == pytest.approx(2 * MONTH * (40 * 7.0 - 0.001 * 100))


def test_limits_of_a_thermal_by_block(tmp_path):
    case = Case018([[182.5, 547.5], [MONTH]], [150.0])
    case.add_thermal(0.0, 500.0)
    case.add_thermal(300.0, 500.0)
    case.tables["constraints/thermal_bounds.parquet"] = [
        {"thermal_id": 0, "stage_id": 0, "block_id": 0, "max_generation_mw": 100.0},
        {"thermal_id": 0, "stage_id": 0, "block_id": None, "max_generation_mw": 400.0},
    ]
    assert bound(case, tmp_path) == pytest.approx(182.5 * 50 * 300)


def test_a_reservoir_without_turbines_spills(tmp_path):
    case = two_months(80.0)
    case.documents["penalties.json"]["hydro"]["spillage_cost"] = 0.01
    case.add_thermal(50.0, 100.0)
    case.add_hydro(100.0, 200.0, flow=0.0, inflow=[40.0, 10.0])
    spilled = (100.0 + 50.0 * HM3 - 200.0) / HM3
    assert bound(case, tmp_path) == pytest.approx(MONTH * (2 * 80 * 50 + 0.01 * spilled))


def test_turbined_water_of_every_plant_has_a_price(tmp_path):
    case = two_months(80.0)
    case.documents["penalties.json"]["hydro"]["turbined_cost"] = 2.0
    case.add_thermal(50.0, 100.0)
    case.add_hydro(0.0, 0.0, inflow=[40.0, 10.0])
    assert bound(case, tmp_path) == pytest.approx(MONTH * (50 * (40 + 70) + 2 * 50))


def test_units_at_two_buses_feed_their_own(tmp_path):
    case = Case018([[MONTH], [MONTH]], [30.0, 80.0])
    case.add_thermal(50.0, 500.0)
    case.add_thermal(90.0, 500.0, bus=1)
    plant = case.add_hydro(0.0, 0.0, productivity=0.5, inflow=[200.0, 100.0])
    plant["generation"] = {"model": "constant_productivity", **limits(180.0, 100.0)}
    plant["unit_groups"] = [
        {"id": 0, "name": "A", "bus_id": 0, **limits(40.0, 30.0)},  # 40 m3/s: 20 MW
        {"id": 1, "name": "B", "bus_id": 1, **limits(60.0, 12.0)},  # 24 m3/s: 12 MW
        {"id": 2, "name": "C", "bus_id": 1, **limits(70.0, 58.0)},  # 70 m3/s: 35 MW
    ]
    # The dear bus first: 47 MW of 94 m3/s; what is left of the water, 40 and 6 m3/s, feeds the other.
    thermal = 50 * (30 - 20) + 90 * (80 - 47) + 50 * (30 - 3) + 90 * (80 - 47)
    assert bound(case, tmp_path) == pytest.approx(MONTH * thermal)


def test_least_flow_of_unit_groups_costs_once_per_bus(tmp_path):
    case = Case018([[MONTH], [MONTH]], [0.0, 0.0])
    plant = case.add_hydro(0.0, 0.0, inflow=[10.0, 10.0])
    plant["unit_groups"] = [
        {"id": 0, "name": "A", "bus_id": 0, **limits(100.0, 100.0, least=4.0)},
        {"id": 1, "name": "B", "bus_id": 1, **limits(100.0, 100.0, least=9.0)},
    ]
    plant["generation"] = {"model": "constant_productivity", **limits(200.0, 200.0)}
    case.tables["constraints/hydro_unit_group_bounds.parquet"] = [
        {"hydro_id": 0, "hydro_unit_group_id": 1, "stage_id": 1, "block_id": 0, "min_turbined_m3s": 6.0}
    ]
    # 10 of 13 m3/s in the first month, 10 of 10 in the second; power is not needed.
    assert bound(case, tmp_path) == pytest.approx(MONTH * (3 * 450 + 2 * 10 * 0.01))


def test_an_absent_plant_lets_water_pass(tmp_path):
    case = Case018([[MONTH]] * 3, [100.0])
    case.add_thermal(50.0, 200.0)
    upper = case.add_hydro(50.0, 60.0, inflow=[40.0] * 3, downstream=1, entry_stage_id=2)
    upper["outflow"]["min_outflow_m3s"] = 5.0  # nothing is charged while it is not there
    case.add_hydro(0.0, 0.0, inflow=[20.0] * 3)
    # Months 1 and 2: 60 MW of the lower plant. Month 3: 40 m3/s and 50 hm3 through both, 20 through one.
    last = 2 * (40.0 + 50.0 / HM3) + 20.0
    thermal = 2 * (100 - 60) + max(0.0, 100 - last)
    assert bound(case, tmp_path) == pytest.approx(MONTH * 50 * thermal)


def test_a_plant_that_leaves_keeps_its_water(tmp_path):
    case = Case018([[MONTH]] * 3, [100.0])
    case.add_thermal(50.0, 200.0)
    case.add_hydro(50.0, 60.0, least=30.0, inflow=[0.0] * 3, exit_stage_id=1)
    assert bound(case, tmp_path) == pytest.approx(MONTH * 50 * (300 - 20.0 / HM3))


def test_a_reservoir_is_filled_to_its_dead_volume(tmp_path):
    case = Case018([[MONTH]] * 4, [50.0])
    case.add_thermal(50.0, 200.0)
    case.add_hydro(
        0.0,
        200.0,
        least=60.0,
        inflow=[0.0, 10.0, 10.0, 10.0],
        entry_stage_id=3,
        filling={"start_stage_id": 1, "filling_min_rate_m3s": 5.0},
    )
    # Two months of 10 m3/s bring 52.56 hm3, 7.44 short of 60; a month before, 20.58 are missing of 60 - 13.14.
    missing = (60.0 - 5.0 * HM3 - 10.0 * HM3) + (60.0 - 20.0 * HM3)
    # In the last month 1 hm3 makes 278 MWh, 13,889 $ instead of thermal power: more than the 9000 $ of keeping it.
    expected = 6000.0 * missing + 9000.0 * 60.0 + MONTH * 50 * (200 - 30)
    assert bound(case, tmp_path) == pytest.approx(expected)


def test_a_reservoir_that_was_filled_keeps_water_that_is_dear(tmp_path):
    case = Case018([[MONTH]] * 3, [50.0])
    case.add_thermal(10.0, 200.0)
    filling = {"start_stage_id": 0}
    case.add_hydro(20.0, 200.0, least=60.0, inflow=[10.0] * 3, entry_stage_id=2, filling=filling)
    # Without a rate the target is 60 hm3 in both months: 13.72 hm3 are missing, then nothing. What is above 60 hm3
    # in the end is turbined, since 1 hm3 is worth 2778 $ as power and 9000 $ as storage.
    missing = 60.0 - 20.0 - 10.0 * HM3
    turbined = (20.0 + 30.0 * HM3 - 60.0) / HM3
    assert bound(case, tmp_path) == pytest.approx(6000 * missing + MONTH * 10 * (150 - turbined))


def test_water_that_is_returned_may_be_held_back_at_a_price(tmp_path):
    case = two_months(100.0)
    case.add_thermal(50.0, 200.0)
    case.add_hydro(0.0, 0.0, inflow=[30.0, 30.0])
    case.tables["constraints/hydro_bounds.parquet"] = [
        {"hydro_id": 0, "stage_id": 0, "water_withdrawal_m3s": -5.0},
        {"hydro_id": 0, "stage_id": 1, "water_withdrawal_m3s": 40.0},
    ]
    # 35 MW in the first month. In the second 10 m3/s of the withdrawal are missing at 900.
    assert bound(case, tmp_path) == pytest.approx(MONTH * (50 * 65 + 50 * 100 + 10 * 900))


def test_spillage_and_diversion_have_limits(tmp_path):
    case = two_months(0.0)
    plant = case.add_hydro(0.0, 0.0, flow=0.0, inflow=[30.0, 30.0])
    plant["diversion"] = {"downstream_id": 1, "max_flow_m3s": 50.0}
    plant["outflow"]["max_outflow_m3s"] = 10.0  # diverted water is not counted
    case.add_hydro(0.0, 0.0, flow=0.0)
    case.documents["penalties.json"]["hydro"].update(diversion_cost=3.0, spillage_cost=1.0)
    case.tables["constraints/hydro_bounds.parquet"] = [
        {"hydro_id": 0, "stage_id": 0, "block_id": 0, "min_diversion_m3s": 12.0, "max_spillage_m3s": 100.0},
        {"hydro_id": 0, "stage_id": 1, "max_spillage_m3s": 8.0},
    ]
    # Month 1: spilling beyond 10 costs 540, so 20 are diverted and spilled below. Month 2: 8 and 22.
    first, second = 10 * 1 + 20 * (3 + 1), 8 * 1 + 22 * (3 + 1)
    assert bound(case, tmp_path) == pytest.approx(MONTH * (first + second))


def test_a_pump_takes_water_and_power(tmp_path):
    case = two_months(50.0)
    case.add_thermal(10.0, 500.0)
    case.add_hydro(0.0, 0.0, inflow=[20.0, 20.0])
    case.add_hydro(0.0, 0.0, productivity=3.0, inflow=[0.0, 0.0])
    case.add_pump(0, 1, 0, 0.5, (2.0, 60.0))
    case.tables["constraints/pumping_bounds.parquet"] = [
        {"pumping_station_id": 0, "stage_id": 1, "block_id": 0, "max_m3s": 4.0}
    ]
    # 1 m3/s gives 3 - 1 - 0.5 MW more: 50 MW need 20 of them pumped; 4 in the second month: 28 - 2 MW.
    first, second = 50.0 - min(50.0, 20.0 * 2.5), 50.0 - (16.0 + 12.0 - 2.0)
    assert bound(case, tmp_path) == pytest.approx(MONTH * 10 * (first + second))


def test_a_stage_has_its_own_discount_rate(tmp_path):
    case = two_months(10.0)
    case.add_thermal(10.0, 100.0)
    graph, stages = (case.documents["stages.json"][key] for key in ("policy_graph", "stages"))
    graph["annual_discount_rate"] = 0.5
    graph["transitions"] = [
        {"source_id": 0, "target_id": 1, "probability": 1.0, "annual_discount_rate_override": 0.3}
    ]
    stages[0]["annual_discount_rate_override"] = 0.1
    factor = 1.1 ** (-31 / 365.25)
    assert bound(case, tmp_path) == pytest.approx(MONTH * 100 * (1 + factor))


def test_a_parameter_and_a_named_expression_are_their_hand_written_twins(tmp_path):
    def with_constraint(expression: str, folder: str, **files) -> float:
        case = two_months(100.0, documents=files)
        case.add_thermal(50.0, 200.0)
        case.add_thermal(80.0, 200.0)
        case.add_hydro(30.0, 60.0, inflow=[20.0, 5.0], productivity=0.9)
        case.documents.setdefault("constraints/generic_constraints.json", {"constraints": []})
        rows = [{"stage_id": 0, "bound_lower": 4.0, "bound_upper": 9.0}, {"stage_id": 1, "bound_upper": 8.0}]
        case.constrain(expression, rows, 60.0)
        return bound(case, tmp_path / folder)

    parameters = {
        "constraints/generic_parameters.json": {
            "scalar_parameters": [
                {"id": 4, "name": "w", "kind": "per_stage", "values": [[0, 0.5], [1, 0.5]]},
                {
                    "id": 2,
                    "name": "rho",
                    "kind": "computed",
                    "computed_spec": {"tag": "equivalent_productivity", "hydro_id": 0},
                },
            ]
        },
        "constraints/generic_constraints.json": {
            "expressions": [{"name": "mix", "expression": "@w * thermal_generation(1) - 2"}],
            "constraints": [],
        },
    }
    plain = with_constraint(
        "thermal_generation(0) + 0.5*thermal_generation(1) - 0.9*hydro_turbined(0) - 30", "a"
    )
    named = with_constraint(
        "thermal_generation(0) + @mix - @rho * hydro_turbined(0) <= 28", "b", **parameters
    )
    assert named == pytest.approx(plain, rel=1e-12)


def test_two_terms_on_one_column_add_up(tmp_path):
    case = two_months(20.0)
    case.add_thermal(50.0, 30.0)
    case.add_thermal(90.0, 30.0)
    rows = [{"stage_id": stage, "bound_upper": 30.0} for stage in (0, 1)]
    case.constrain("thermal_generation(0) + 2 * thermal_generation(0)", rows)
    assert bound(case, tmp_path) == pytest.approx(2 * MONTH * (10 * 50 + 10 * 90))


def test_a_stage_row_and_a_block_row_both_hold(tmp_path):
    case = Case018([[365.0, 365.0], [MONTH]], [20.0])
    case.add_thermal(50.0, 30.0)
    rows = [
        {"stage_id": 0, "bound_lower": 25.0},
        {"stage_id": 0, "block_id": 1, "bound_lower": 28.0},
    ]
    case.constrain("thermal_generation(0)", rows, 40.0)
    # Without violation 25 MW cost 5 * (50 + .01); violating costs 40 per MW and row. In block 1 both rows count: 80.
    first = 365.0 * (20 * 50 + 5 * 40)
    second = 365.0 * (20 * 50 + 5 * 50.01 + 3 * 40)
    assert bound(case, tmp_path) == pytest.approx(first + second + MONTH * 20 * 50)


def test_a_row_about_storage_exists_once(tmp_path):
    case = Case018([[365.0, 365.0], [MONTH]], [0.0])
    case.add_hydro(10.0, 60.0)
    case.constrain(
        "hydro_useful_volume_final(0) - hydro_storage_initial(0)", [{"stage_id": 0, "bound_lower": 7.0}], 3.0
    )
    assert bound(case, tmp_path) == pytest.approx(7 * 3 * MONTH)


def test_a_line_named_by_its_buses(tmp_path):
    case = Case018([[MONTH], [MONTH]], [0.0, 50.0])
    case.add_thermal(10.0, 100.0)
    case.add_thermal(90.0, 100.0, bus=1)
    case.documents["system/lines.json"]["lines"] = [
        {
            "id": 3,
            "name": "L",
            "operational_start_date": "2000-01-01",
            "source_bus_id": 1,
            "target_bus_id": 0,
            "capacity": {"direct_mw": NO_LIMIT, "reverse_mw": NO_LIMIT},
            "exchange_cost": 1e-9,
        }
    ]
    case.constrain("line_exchange(source_bus=0, target_bus=1)", [{"stage_id": 0, "bound_upper": 20.0}])
    assert bound(case, tmp_path) == pytest.approx(MONTH * (20 * 10 + 30 * 90 + 50 * 10))


def test_order_of_declaration_and_dates_do_not_change_the_bound(tmp_path):
    bounds = []
    for shuffled in (False, True):
        case = two_months(100.0)
        case.add_thermal(50.0, 60.0)
        case.add_thermal(70.0, 60.0)
        case.add_hydro(40.0, 60.0, inflow=[20.0, 5.0], downstream=1)
        case.add_hydro(10.0, 20.0, inflow=[3.0, 2.0], productivity=0.4)
        if shuffled:
            for path, key in (("system/thermals.json", "thermals"), ("system/hydros.json", "hydros")):
                case.documents[path][key].reverse()
            case.documents["system/hydros.json"]["hydros"][0]["operational_start_date"] = "1990-05-01"
        bounds.append(bound(case, tmp_path / str(shuffled)))
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "row", "least", "most"),
    [
        ("<= 5", {"bound_upper": 10.0}, 0.0, 15.0),
        ("<= 50", {"bound_lower": 30.0}, 30.0, 50.0),
        (">= 5", {"bound_upper": 10.0}, 5.0, 10.0),
        (">= 5", {"bound_lower": 30.0}, 35.0, 100.0),
        ("== 5", {"bound_upper": 10.0}, 5.0, 15.0),
        ("== 5", {"bound_lower": 30.0, "bound_upper": 40.0}, 35.0, 45.0),
        ("<= 5", {}, 0.0, 5.0),
        ("- 3 <= 5", {"bound_upper": 10.0}, 0.0, 18.0),
        (">= thermal_generation(1) + 4", {"bound_lower": 1.0}, 5.0, 100.0),
    ],
)
def test_an_operator_says_which_bound_its_number_moves(tmp_path, text, row, least, most):
    """What the public program writes as the bounds of these rows."""
    case = two_months(20.0)
    case.add_thermal(50.0, 100.0)
    case.add_thermal(90.0, 100.0)
    case.constrain(f"thermal_generation(0) {text}", [{"stage_id": 0, **row}], 7.0)
    # Beyond the load, power costs its price and .01; below it the other plant steps in. Violating costs 7 a MW.
    cheap = min(20.0, most)
    missing, other = max(least - 20.0, 0.0), 20.0 - cheap
    if other:
        cheap, other, above = 20.0, 0.0, 20.0 - most  # 7 is less than the 40 that the other plant costs more
        expected = 50 * cheap + 7 * above
    else:
        expected = 50 * 20.0 + 7 * missing
    assert bound(case, tmp_path) == pytest.approx(MONTH * (expected + 50 * 20.0))


@pytest.mark.parametrize(("site", "passing"), [(0, 8.0), (1, 13.0)])
def test_the_inflow_at_a_plant_that_is_not_there_is_what_passes(tmp_path, site, passing):
    case = two_months(0.0)
    case.documents["penalties.json"]["bus"]["excess_cost"] = 0.0
    case.add_hydro(50.0, 100.0, flow=9.0, inflow=[8.0, 8.0], downstream=1)
    case.add_hydro(50.0, 100.0, flow=9.0, inflow=[4.0, 4.0])
    case.documents["system/hydros.json"]["hydros"][site]["entry_stage_id"] = 1
    case.constrain(f"hydro_inflow({site})", [{"stage_id": 0, "bound_lower": 1000.0}], 7.0)
    case.tables["constraints/hydro_bounds.parquet"] = [
        {"hydro_id": 0, "stage_id": 0, "block_id": None, "max_spillage_m3s": 0.0}
    ]
    assert bound(case, tmp_path) == pytest.approx(MONTH * 7 * (1000.0 - passing), rel=1e-6)


def test_a_deficit_has_all_segments_of_its_bus(tmp_path):
    case = Case018([[MONTH], [MONTH]], [20.0, 20.0])
    first, second = case.documents["system/buses.json"]["buses"]
    second["deficit_segments"] = [{"depth_mw": 5.0, "cost": 100.0}, {"depth_mw": None, "cost": 900.0}]
    case.add_thermal(50.0, 100.0)
    case.constrain("bus_deficit(1)", [{"stage_id": 0, "bound_upper": 8.0}], 7.0)
    # Bus 1 has no plant: 5 MW at 100, 15 MW at 900, and 12 MW more than the constraint allows.
    shed = 5 * 100 + 15 * 900
    assert first.get("deficit_segments") is None
    assert bound(case, tmp_path) == pytest.approx(MONTH * (2 * (20 * 50 + shed) + 7 * 12))
