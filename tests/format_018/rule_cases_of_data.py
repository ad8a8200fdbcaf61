"""Broken cases for more numbered rules of the public Cobre 0.18: files, shapes, plants, noise, histories, lags."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any

from case_breakers import several
from format_018.rule_cases import add_row, hydro, planes, stages, with_lags
from format_018.small import Case018

Break = Callable[[Case018], Any]
STAGES, INITIAL = "stages.json", "initial_conditions.json"
GEOMETRY = "system/hydro_geometry.parquet"
INFLOWS = "scenarios/inflow_seasonal_stats.parquet"
LOADS = "scenarios/load_seasonal_stats.parquet"
HISTORY = "scenarios/inflow_history.parquet"


def tables_without(path: str, **row: Any) -> Break:
    """Without the rows that have these values."""

    def change(case: Case018) -> None:
        rows = case.all_tables()[path]
        case.tables[path] = [each for each in rows if any(each[key] != value for key, value in row.items())]

    return change


def correlation(*, matrix: list[list[float]], kind: str = "inflow", profile: str = "default") -> Break:
    def change(case: Case018) -> None:
        entities = [{"type": kind, "id": 0}, {"type": kind, "id": 1}]
        group = {"name": "g", "entities": entities, "matrix": matrix}
        case.documents["scenarios/correlation.json"] = {
            "method": "spectral",
            "profiles": {"default": {"correlation_groups": [group]}},
            "schedule": [{"stage_id": 1, "profile_name": profile}],
        }

    return change


SOUND = [[1.0, 0.2], [0.2, 1.0]]


def geometry(*rows: tuple[float, float, float]) -> Break:
    def change(case: Case018) -> None:
        for volume, height, area in rows:
            add_row(case, GEOMETRY, hydro_id=0, volume_hm3=volume, height_m=height, area_km2=area)

    return change


def plane_of_first_stage_only(case: Case018) -> None:
    planes(case)
    case.tables["system/fpha_hyperplanes.parquet"][0]["stage_id"] = 0


def wrong_plane(**changes: float) -> Break:
    def change(case: Case018) -> None:
        planes(case)
        case.tables["system/fpha_hyperplanes.parquet"][0].update(changes)

    return change


def history(*, years: int = 31, hydros: tuple[int, ...] = (0, 1), months: Any = range(1, 13)) -> Break:
    """Inflows to fit in place of the statistics, one record a month."""

    def change(case: Case018) -> None:
        case.tables[INFLOWS] = []
        rows, draw = [], Random(3)
        for number in hydros:
            for year in range(2025 - years, 2025):
                for month in months:
                    end = dt.date(year + month // 12, month % 12 + 1, 1)
                    rows.append(
                        {
                            "hydro_id": number,
                            "start_date": dt.date(year, month, 1),
                            "end_date": end,
                            "value_m3s": draw.uniform(15.0, 30.0),
                        }
                    )
        case.tables[HISTORY] = rows

    return change


def without_seasons(case: Case018) -> None:
    del case.documents[STAGES]["season_definitions"]
    for stage in stages(case):
        del stage["season_id"]


def productivity_in_two_files(case: Case018) -> None:
    planes(case)
    model = case.documents["system/hydro_production_models.json"]["production_models"][0]["stage_ranges"][0]
    model.clear()
    model.update(
        start_stage_id=0, end_stage_id=None, model="constant_productivity", productivity_mw_per_m3s=1.0
    )
    hydro(case)["generation"]["model"] = "constant_productivity"
    del case.tables["system/fpha_hyperplanes.parquet"]


def no_productivity(case: Case018) -> None:
    model = case.documents["system/hydro_production_models.json"]["production_models"][0]["stage_ranges"][0]
    del model["productivity_mw_per_m3s"]


def observed_partly(case: Case018) -> None:
    """The study starts on the tenth, and of January three days are known."""
    with_lags(case)
    first = stages(case)[0]
    first["start_date"] = "2025-01-10"
    first["blocks"] = [{"id": 0, "name": "B", "hours": 528.0}]
    case.documents[INITIAL]["recent_observations"].append(
        {"hydro_id": 0, "start_date": "2025-01-01", "end_date": "2025-01-04", "value_m3s": 9.0}
    )


def observed_too_short(case: Case018) -> None:
    """The second plant reads two lags, of the first only the one that it reads is known."""
    with_lags(case)
    case.tables[INFLOWS].append({"hydro_id": 1, "stage_id": -1, "mean_m3s": 20.0, "std_m3s": 4.0})
    case.tables["scenarios/inflow_ar_coefficients.parquet"] += [
        {"hydro_id": 1, "stage_id": stage, "lag": lag, "coefficient": 0.2}
        for stage in range(3)
        for lag in (1, 2)
    ]
    window = {"hydro_id": 1, "start_date": "2024-11-01", "end_date": "2025-01-01", "value_m3s": 9.0}
    case.documents[INITIAL]["recent_observations"].append(window)


def a_first_day_without_season(case: Case018) -> None:
    with_lags(case)
    definitions = case.documents[STAGES]["season_definitions"]
    definitions["cycle_type"] = "custom"
    definitions["seasons"] = [
        {"id": 5, "label": "late", "month_start": 2, "day_start": 1, "month_end": 12, "day_end": 31}
    ]
    for stage in stages(case):
        del stage["season_id"]


def weeks_of_one_season(case: Case018) -> None:
    """A week and the rest of the month."""
    first, second = stages(case)[:2]
    first["end_date"] = second["start_date"] = "2025-01-08"
    first["blocks"] = [{"id": 0, "name": "B", "hours": 168.0}]
    second["end_date"] = stages(case)[2]["start_date"] = "2025-02-01"
    second["blocks"][0]["hours"] = 576.0
    second["season_id"] = 0


def openings_that_are_alike(case: Case018) -> None:
    stages(case)[1].update(sampling_method="qmc_sobol", num_openings=3)


def interior_gap(case: Case018) -> None:
    history()(case)
    case.tables[HISTORY] = [row for row in case.tables[HISTORY] if row["start_date"].year != 2010]


def no_lines(case: Case018) -> None:
    del case.documents["system/lines.json"]


def leaves_before_it_comes(file: str, key: str) -> Break:
    def change(case: Case018) -> None:
        case.documents[file][key][0].update(entry_stage_id=2, exit_stage_id=1)

    return change


def limits_of(part: str, **limits: float) -> Break:
    return lambda case: hydro(case)[part].update(limits)


def without_lags(case: Case018) -> None:
    case.documents["config.json"]["estimation"] = {"max_order": 0}


def unknown_block(case: Case018) -> None:
    factors = {"bus_id": 0, "stage_id": 1, "block_factors": [{"block_id": 3, "factor": 1.0}]}
    case.documents["scenarios/load_factors.json"] = {"load_factors": [factors]}


def thermal(**changes: Any) -> Break:
    return lambda case: case.documents["system/thermals.json"]["thermals"][0].update(changes)


ERRORS: dict[str, Break] = {
    "structural.2": no_lines,
    "referential.2": correlation(matrix=SOUND, kind="wind"),
    "referential.9": lambda case: case.constrain(
        "thermal_generation(7)", [{"stage_id": 0, "bound_upper": 3.0}]
    ),
    "thermals.bus_id.MissingReference": thermal(bus_id=9),
    "dimensional.3": correlation(matrix=[[1.0, 0.2]]),
    "dimensional.4": correlation(matrix=[[1.0, 0.2], [0.2]]),
    "dimensional.5": correlation(matrix=SOUND, profile="other"),
    "5a.1": lambda case: hydro(case, 1).update(downstream_id=0),
    "5a.2": limits_of("reservoir", min_storage_hm3=99.0),
    "5a.3": limits_of("generation", min_turbined_m3s=99.0),
    "5a.4": limits_of("outflow", min_outflow_m3s=9.0, max_outflow_m3s=3.0),
    "5a.5": limits_of("generation", min_generation_mw=999.0),
    "5a.6 line": leaves_before_it_comes("system/lines.json", "lines"),
    "5a.6 thermal": leaves_before_it_comes("system/thermals.json", "thermals"),
    "5a.6 hydro": leaves_before_it_comes("system/hydros.json", "hydros"),
    "5a.6 source": leaves_before_it_comes("system/non_controllable_sources.json", "non_controllable_sources"),
    "5a.8": geometry((1.0, 1.0, 1.0), (1.0, 2.0, 2.0)),
    "5a.9": geometry((1.0, 3.0, 1.0), (2.0, 2.0, 2.0)),
    "5a.10": geometry((1.0, 1.0, 3.0), (2.0, 2.0, 2.0)),
    "5a.11": plane_of_first_stage_only,
    "5a.12 volume": wrong_plane(gamma_v=-0.1),
    "5a.12 spill": wrong_plane(gamma_s=0.1),
    "5a.13": thermal(generation={"min_mw": 500.0, "max_mw": 100.0}),
    "5b.11 plant": lambda case: hydro(case).update(penalties={"turbined_cost": -1.0}),
    "5b.11": lambda case: case.documents["penalties.json"]["hydro"].update(turbined_cost=-1.0),
    "5b.14": correlation(matrix=[[1.0, 0.2], [0.3, 1.0]]),
    "5b.15": correlation(matrix=[[0.9, 0.2], [0.2, 1.0]]),
    "5b.16": correlation(matrix=[[1.0, 1.2], [1.2, 1.0]]),
    "5b.17": unknown_block,
    "5b.19": several(history(), without_seasons),
    "5b.21": history(hydros=(0,)),
    "5b.27": lambda case: stages(case)[1].update(season_id=77),
    "5b.28": history(months=(1, 4, 7, 10)),
    "5b.29": weeks_of_one_season,
    "5b.31.2": interior_gap,
    "productivity_resolution.1": productivity_in_two_files,
    "productivity_resolution.2": no_productivity,
}
WARNINGS: dict[str, Break] = {
    "dimensional.1": tables_without(INFLOWS, hydro_id=1, stage_id=2),
    "dimensional.2": tables_without(LOADS, bus_id=1, stage_id=2),
    "5a.31": observed_too_short,
    "5a.33": observed_partly,
    "5b.20": several(history(years=8), without_lags),
    "5b.12": openings_that_are_alike,
    "5b.25": openings_that_are_alike,
    "5b.30": lambda case: None,
}
