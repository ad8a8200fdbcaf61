"""One broken case for each numbered rule of the public Cobre 0.18: what is changed, and whether it is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from format_018.small import DATE, Case018

HYDRO_BOUNDS = "constraints/hydro_bounds.parquet"
GROUP_BOUNDS = "constraints/hydro_unit_group_bounds.parquet"
PARAMETERS = "constraints/generic_parameters.json"
MONTH = 730.0
Break = Callable[[Case018], Any]


def sound_case() -> Case018:
    """A case that breaks no rule, with something of everything."""
    case = Case018([[400.0, 330.0], [MONTH], [MONTH]], [60.0, 20.0])
    case.add_thermal(50.0, 100.0)
    case.add_thermal(70.0, 100.0, bus=1)
    case.add_hydro(40.0, 90.0, flow=80.0, inflow=[20.0] * 3, downstream=1)
    case.add_hydro(30.0, 60.0, least=5.0, flow=90.0, inflow=[10.0] * 3)
    case.add_source(30.0)
    case.documents["system/lines.json"]["lines"] = [
        {
            "id": 0,
            "name": "L",
            "operational_start_date": DATE,
            "source_bus_id": 0,
            "target_bus_id": 1,
            "capacity": {"direct_mw": 20.0, "reverse_mw": 20.0},
        }
    ]
    for hydro in case.documents["system/hydros.json"]["hydros"]:
        hydro["generation"]["max_generation_mw"] = hydro["unit_groups"][0]["max_generation_mw"] = 100.0
    stages = case.documents["stages.json"]
    stages["season_definitions"] = {
        "cycle_type": "monthly",
        "seasons": [{"id": month, "label": f"M{month}", "month_start": month + 1} for month in range(12)],
    }
    for index, stage in enumerate(stages["stages"]):
        stage["season_id"] = index
    return case


def hydro(case: Case018, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = case.documents["system/hydros.json"]["hydros"][number]
    return found


def with_lags(case: Case018, coefficient: float = 0.4, *, is_observed: bool = True) -> None:
    """An inflow model of order 1 for the first plant, and what it reads of December."""
    rows = case.all_tables()["scenarios/inflow_seasonal_stats.parquet"]
    rows = [{**row, "std_m3s": 4.0} for row in rows]
    case.tables["scenarios/inflow_seasonal_stats.parquet"] = [
        *rows,
        {"hydro_id": 0, "stage_id": -1, "mean_m3s": 20.0, "std_m3s": 4.0},
    ]
    case.tables["scenarios/inflow_ar_coefficients.parquet"] = [
        {"hydro_id": 0, "stage_id": stage, "lag": 1, "coefficient": coefficient} for stage in range(3)
    ]
    if is_observed:
        case.documents["initial_conditions.json"]["recent_observations"] = [observation()]
    for stage in case.documents["stages.json"]["stages"]:
        stage["state_variables"] = {"storage": True, "inflow_lags": True}


def observation(start: str = "2024-12-01", end: str = "2025-01-01", value: float = 21.0) -> dict[str, Any]:
    return {"hydro_id": 0, "start_date": start, "end_date": end, "value_m3s": value}


def pump(source: int = 0, destination: int = 1) -> dict[str, Any]:
    station = {
        "id": 0,
        "name": "P",
        "operational_start_date": DATE,
        "bus_id": 0,
        "source_hydro_id": source,
        "destination_hydro_id": destination,
        "consumption_mw_per_m3s": 0.5,
        "flow": {"min_m3s": 0.0, "max_m3s": 5.0},
    }
    return {"pumping_stations": [station]}


def fill(case: Case018, **changes: Any) -> None:
    """Let the second plant be filled until the last stage."""
    plant = hydro(case, 1)
    plant.update(entry_stage_id=2, filling={"start_stage_id": 0, "filling_min_rate_m3s": 6.0}, **changes)
    plant["reservoir"]["min_storage_hm3"] = 20.0
    initial = case.documents["initial_conditions.json"]
    initial["storage"] = [each for each in initial["storage"] if each["hydro_id"] != 1]
    initial["filling_storage"] = [{"hydro_id": 1, "value_hm3": 4.0}]


def parameter(case: Case018, **spec: Any) -> None:
    case.documents[PARAMETERS] = {"scalar_parameters": [{"id": 0, "name": "p", **spec}]}
    case.constrain("@p * thermal_generation(0)", [{"stage_id": 0, "bound_upper": 50.0}], 10.0)


def planes(case: Case018, *, has_planes: bool = True, has_productivity: bool = True) -> None:
    plant = hydro(case)
    plant["generation"]["model"] = "fpha"
    model = case.documents["system/hydro_production_models.json"]["production_models"][0]["stage_ranges"][0]
    del model["productivity_mw_per_m3s"]
    model.update(model="fpha", fpha_config={"source": "precomputed"})
    if has_planes:
        case.tables["system/fpha_hyperplanes.parquet"] = [
            {
                "hydro_id": 0,
                "stage_id": None,
                "plane_id": 0,
                "gamma_0": 0.0,
                "gamma_v": 0.01,
                "gamma_q": 0.9,
                "gamma_s": 0.0,
            }
        ]
    if has_productivity:
        case.tables["system/hydro_energy_productivity.parquet"] = [
            {
                "hydro_id": 0,
                "stage_id": None,
                "equivalent_productivity_mw_per_m3s": 0.9,
                "reference_outflow_m3s": None,
                "specific_productivity_mw_per_m3s_per_m": None,
            }
        ]


def external_loads(
    case: Case018, *, counts: tuple[int, ...] = (2, 2, 2), stage_ids: tuple[int, ...] = (0, 1, 2)
) -> None:
    case.tables["scenarios/external_load_scenarios.parquet"] = [
        {"stage_id": stage, "scenario_id": scenario, "bus_id": bus, "value_mw": 50.0 + scenario}
        for stage, count in zip(stage_ids, counts, strict=True)
        for scenario in range(count)
        for bus in (0, 1)
    ]
    use_external(case, "load")


def use_external(case: Case018, name: str) -> None:
    case.documents["config.json"]["training"]["scenario_source"] = {"seed": 3, name: {"scheme": "external"}}


def add_row(case: Case018, path: str, **row: Any) -> None:
    case.tables.setdefault(path, []).append(row)


def stages(case: Case018) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = case.documents["stages.json"]["stages"]
    return found


def constrain(text: str, **row: Any) -> Break:
    """A constraint in one row of bounds, of the first stage unless it says otherwise."""
    return lambda case: case.constrain(text, [{"stage_id": 0, **row}])


def put(path: str, **row: Any) -> Break:
    return lambda case: add_row(case, path, **row)


def price(**prices: float) -> Break:
    return lambda case: case.documents["penalties.json"]["hydro"].update(prices)


def _removed_file(case: Case018) -> None:
    case.documents["constraints/exchange_factors.json"] = {"exchange_factors": []}


def _inline_bound_without_rows(case: Case018) -> None:
    text = "thermal_generation(0) <= 30"
    entry = {"id": 0, "name": "x", "expression": text, "slack": {"enabled": False}}
    case.documents["constraints/generic_constraints.json"] = {"constraints": [entry]}


def _factors_of_no_stage(case: Case018) -> None:
    entry = {"ncs_id": 0, "stage_id": 9, "block_factors": [{"block_id": 0, "factor": 0.5}]}
    case.documents["scenarios/non_controllable_factors.json"] = {"non_controllable_factors": [entry]}


def _filling_starts_nowhere(case: Case018) -> None:
    fill(case)
    hydro(case, 1)["filling"]["start_stage_id"] = 8


def _filling_never_ends(case: Case018) -> None:
    fill(case)
    del hydro(case, 1)["entry_stage_id"]


def _filled_already(case: Case018) -> None:
    fill(case)
    case.documents["initial_conditions.json"]["filling_storage"][0]["value_hm3"] = 40.0


def _slow_filling(case: Case018) -> None:
    fill(case)
    hydro(case, 1)["filling"]["filling_min_rate_m3s"] = 0.5


def _pump_before_its_plant(case: Case018) -> None:
    case.documents["system/pumping_stations.json"] = pump()
    hydro(case)["entry_stage_id"] = 1


def _energy_and_productivity(case: Case018) -> None:
    case.documents[PARAMETERS] = {
        "scalar_parameters": [
            {"id": number, "name": name, "kind": "computed", "computed_spec": {"tag": tag, "hydro_id": 0}}
            for number, (name, tag) in enumerate(
                (("energy", "max_stored_energy"), ("below", "accumulated_productivity"))
            )
        ]
    }
    text = "@below * hydro_turbined(0) + @energy * thermal_generation(0)"
    case.constrain(text, [{"stage_id": 0, "bound_upper": 3e9}], 3.0)


def _annual_mean_of_other_seasons(case: Case018) -> None:
    with_lags(case)
    ends = ((1, 31), (2, 28), (12, 31))
    starts = (1, 2, 3)
    case.documents["stages.json"]["season_definitions"] = {
        "cycle_type": "custom",
        "seasons": [
            {
                "id": n,
                "label": str(n),
                "month_start": start,
                "day_start": 1,
                "month_end": month,
                "day_end": day,
            }
            for n, (start, (month, day)) in enumerate(zip(starts, ends, strict=True))
        ],
    }
    case.tables["scenarios/inflow_annual_component.parquet"] = [
        {
            "hydro_id": 0,
            "stage_id": stage,
            "annual_coefficient": 0.1,
            "annual_mean_m3s": 20.0,
            "annual_std_m3s": 3.0,
        }
        for stage in range(3)
    ]


def _observed_in_the_study(case: Case018) -> None:
    with_lags(case)
    observed = case.documents["initial_conditions.json"]["recent_observations"]
    observed.append(observation("2025-01-01", "2025-01-09"))


def _negative_record(case: Case018) -> None:
    with_lags(case)
    case.documents["initial_conditions.json"]["recent_observations"][0]["value_m3s"] = -3.0


def limit_a_block(case: Case018) -> None:
    limits = {"thermal_id": 0, "stage_id": 1, "block_id": 0, "max_generation_mw": 9.0}
    add_row(case, "constraints/thermal_bounds.parquet", **limits)


def _twice(case: Case018) -> None:
    for _ in range(2):
        limit_a_block(case)


def _groups_with_one_id(case: Case018) -> None:
    groups = hydro(case)["unit_groups"]
    groups.append({**groups[0], "max_turbined_m3s": 0.0, "max_generation_mw": 0.0})


def _mixed_correlation(case: Case018) -> None:
    group = {
        "name": "g",
        "entities": [{"type": "inflow", "id": 0}, {"type": "load", "id": 0}],
        "matrix": [[1.0, 0.2], [0.2, 1.0]],
    }
    profiles = {"default": {"correlation_groups": [group]}}
    case.documents["scenarios/correlation.json"] = {"method": "spectral", "profiles": profiles}


def _lags_off(case: Case018) -> None:
    with_lags(case)
    for stage in stages(case):
        stage["state_variables"]["inflow_lags"] = False


def _lags_without_seasons(case: Case018) -> None:
    with_lags(case)
    del case.documents["stages.json"]["season_definitions"]
    for stage in stages(case):
        del stage["season_id"]


def _different_counts(case: Case018) -> None:
    external_loads(case)
    case.tables["scenarios/external_ncs_scenarios.parquet"] = [
        {"stage_id": stage, "scenario_id": scenario, "ncs_id": 0, "availability_factor": 0.5}
        for stage in range(3)
        for scenario in range(3)
    ]
    case.documents["config.json"]["training"]["scenario_source"]["ncs"] = {"scheme": "external"}


def _incomplete_scenario(case: Case018) -> None:
    external_loads(case)
    case.tables["scenarios/external_load_scenarios.parquet"].pop()


def _constant_inflows_under_lags(case: Case018) -> None:
    with_lags(case)
    use_external(case, "inflow")
    case.tables["scenarios/external_inflow_scenarios.parquet"] = [
        {"stage_id": stage, "scenario_id": scenario, "hydro_id": number, "value_m3s": 20.0}
        for stage in range(3)
        for scenario in range(2)
        for number in range(2)
    ]


def _linear_head(case: Case018) -> None:
    models = case.documents["system/hydro_production_models.json"]["production_models"]
    models[0]["stage_ranges"][0]["model"] = "linearized_head"


def _planes_without_geometry(case: Case018) -> None:
    planes(case)
    case.tables.pop("system/hydro_geometry.parquet", None)


GROUP = {"hydro_id": 0, "hydro_unit_group_id": 0, "stage_id": 1, "block_id": None}
ERRORS: dict[str, Break] = {
    "structural.1": _removed_file,
    "referential.3": put(GROUP_BOUNDS, **{**GROUP, "hydro_unit_group_id": 7}, max_turbined_m3s=3.0),
    "referential.4": constrain("thermal_generation(0)"),
    "referential.5": constrain("thermal_generation(0)", bound_lower=9.0, bound_upper=3.0),
    "referential.6": _inline_bound_without_rows,
    "referential.7": put("constraints/ncs_bounds.parquet", ncs_id=0, stage_id=9, available_generation_mw=3.0),
    "referential.8": _factors_of_no_stage,
    "referential.10": constrain("hydro_generation(0, bus=1)", bound_upper=3.0),
    "dimensional.6": lambda case: planes(case, has_planes=False),
    "5a.7": _filling_starts_nowhere,
    "5a.7 without entry": _filling_never_ends,
    "5a.7a": _filled_already,
    "5a.19": lambda case: case.documents.update({"system/pumping_stations.json": pump(0, 0)}),
    "5a.20": constrain("thermal_generation(0, 1)", stage_id=1, bound_upper=3.0),
    "5a.29": _annual_mean_of_other_seasons,
    "5a.30": lambda case: with_lags(case, is_observed=False),
    "5a.32": _observed_in_the_study,
    "5a.35": put(
        "constraints/thermal_bounds.parquet", thermal_id=0, stage_id=1, block_id=1, max_generation_mw=9.0
    ),
    "5a.36": _twice,
    "5a.37": put(HYDRO_BOUNDS, hydro_id=0, stage_id=1, block_id=0, max_storage_hm3=9.0),
    "5a.39": _groups_with_one_id,
    "5a.40": lambda case: hydro(case)["unit_groups"][0].update(min_turbined_m3s=81.0),
    "5a.41": lambda case: hydro(case)["unit_groups"][0].update(max_turbined_m3s=200.0),
    "5a.43": put(HYDRO_BOUNDS, hydro_id=0, stage_id=1, block_id=None, max_turbined_m3s=900.0),
    "5a.44": lambda case: hydro(case)["generation"].update(min_turbined_m3s=7.0),
    "5a.45": put(GROUP_BOUNDS, **GROUP, max_turbined_m3s=900.0),
    "5a.46": put(HYDRO_BOUNDS, hydro_id=0, stage_id=1, block_id=None, min_diversion_m3s=9.0),
    "5a.49": put("constraints/line_bounds.parquet", line_id=0, stage_id=9, block_id=None, direct_mw=9.0),
    "5a.50": lambda case: hydro(case).update(evaporation={"coefficients_mm": [50.0] * 12}),
    "5a.52": _pump_before_its_plant,
    "5b.16a": _mixed_correlation,
    "5b.35.1": _lags_without_seasons,
    "5b.35.2": lambda case: with_lags(case, 1.3),
    "5b.41": lambda case: stages(case)[1].pop("num_openings"),
    "5b.44a": lambda case: use_external(case, "load"),
    "5b.45": _different_counts,
    "5b.46": _incomplete_scenario,
    "5b.47": lambda case: external_loads(case, counts=(2, 2, 2, 2), stage_ids=(0, 1, 2, 9)),
    "5b.50": _constant_inflows_under_lags,
    "5b.52": lambda case: stages(case)[1].update(blocks=[]),
    "scalar_parameters.A": lambda case: parameter(
        case, kind="computed", computed_spec={"tag": "max_storage", "hydro_id": 9}
    ),
    "scalar_parameters.B": lambda case: parameter(case, kind="per_stage", values=[[0, 1.0]]),
    "scalar_parameters.C": lambda case: parameter(
        case, kind="per_stage", values=[[0, 1.0], [0, 2.0], [1, 1.0]]
    ),
}
WARNINGS: dict[str, Break] = {
    "referential.11": constrain("thermal_generation(0) + contract_import(5)", bound_upper=300.0),
    "dimensional.7": _linear_head,
    "dimensional.7 planes": _planes_without_geometry,
    "5a.7b": lambda case: hydro(case).update(entry_stage_id=9),
    "5a.34a": _negative_record,
    "5a.51": _energy_and_productivity,
    "5b.8": lambda case: case.documents["penalties.json"]["bus"].update(
        deficit_segments=[{"depth_mw": None, "cost": 500.0}]
    ),
    "5b.9": price(spillage_cost=600.0),
    "5b.10": price(spillage_cost=0.0),
    "5b.33": _slow_filling,
    "5b.34": _lags_off,
    "5b.48": lambda case: external_loads(case, counts=(2, 3, 2)),
}
