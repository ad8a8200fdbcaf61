"""A case of 0.5.1 written as one of 0.18 that means the same."""

from __future__ import annotations

import json
from calendar import month_name
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cobre.core.horizon import Horizon, Season, SeasonDefinitions
from cobre.errors import ValidationError
from cobre.io.assemble.bounds import build_lines
from cobre.io.assemble.evaporation import evaporating_hours
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.inflow_fitting.records import has_windows, records_of
from cobre.io.assemble.production import production_of
from cobre.io.assemble.system import by_date, by_id
from cobre.io.convert_noise import keep_noise
from cobre.io.convert_rows import (
    Columns,
    add_rows,
    complete_statistics,
    keep_minima,
    keep_raised_maxima,
    set_rows,
)
from cobre.io.examples.writing import write_case
from cobre.io.loading import examine
from cobre.io.problems import ProblemReport, raise_if_invalid
from cobre.io.read.catalogue import DOCUMENTS, TABLES
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles
from cobre.production.evaporation import hours_of_month
from cobre.stochastic.fitting.calendar import EPOCH
from cobre.stochastic.periods import Period, StageCalendar

__all__ = ["convert_case"]

MODELS = "system/hydro_production_models.json"
NO_LIMIT = 10_000
"""Iterations, where a case has no limit."""
SELECTION = (
    "the cut selection of config.json was left out: 0.18 has other methods; the bound does not need one"
)


def convert_case(source: str | PathLike[str], target: str | PathLike[str]) -> tuple[list[str], list[str]]:
    """Write the case of 0.5.1 in ``source`` as one of 0.18 to the new folder ``target``.

    Returns the names of the files written, and a sentence for each thing that means something else now.
    """
    checked, report = examine(source, None)
    raise_if_invalid(replace(report, errors=tuple(filter(_is_in_the_way, report.errors))), str(source))
    files = checked.files
    if files.generation.is_018:
        raise ValidationError(
            f"{source} is a case of {files.generation.name} already",
            kind="IncompatibleSettings",
            context={"case": str(source), "generation": files.generation.name},
            suggestion="use it as it is",
        )
    horizon = build_horizon(files.stages)
    documents, tables, notes = _documents(files), _tables(files), list[str]()
    _keep_turbined_costs(files, horizon, documents, tables)
    keep_minima(tables)
    keep_raised_maxima(horizon, documents, tables)
    _keep_capacities(files, horizon, tables)
    _keep_evaporation(files, horizon, documents, notes)
    _keep_past_inflows(files, horizon, documents)
    _keep_sources(files, horizon, tables, notes)
    _keep_state(files, documents)
    _keep_openings(documents, tables)
    keep_noise(files, horizon, tables, notes)
    complete_statistics(
        tables, horizon, [each.id for each in files.hydros.hydros], [each.id for each in files.buses.buses]
    )
    _keep_words(files, documents, notes)
    _note_differences(files, notes)
    return write_case(Path(target), documents, tables), notes


def _is_in_the_way(error: ProblemReport) -> bool:
    """Lead times are refused because only 0.18 can say what was decided before the study."""
    return error.field != "gnl_config.lag_stages"


def _documents(files: CaseFiles) -> dict[str, Any]:
    wanted = {*files.present, MODELS} if files.hydros.hydros else files.present
    return {
        document.path: json.loads(
            getattr(files, document.attribute).model_dump_json(by_alias=True, exclude_unset=True)
        )
        for document in DOCUMENTS
        if document.path in wanted
    }


def _tables(files: CaseFiles) -> dict[str, Columns]:
    """Columns of every table; those that are empty throughout are left out."""
    found = {}
    for file in TABLES:
        table = files.tables[file.attribute]
        if file.path not in files.present:
            continue
        if file.attribute == "inflow_history" and not has_windows(table):
            found[file.path] = _windows(files)
            continue
        columns = {column.name: _listed(table, column.name) for column in file.columns}
        optional = {column.name for column in file.columns if column.is_optional}
        found[file.path] = {
            name: values
            for name, values in columns.items()
            if name != "residual_std_ratio"
            and (name not in optional or any(value is not None for value in values))
        }
    return found


def _listed(table: Table, name: str) -> list[Any]:
    """The values of a column, None where they are null."""
    values = table[name].tolist()
    return [None if value == ABSENT or value != value else value for value in values]


def _windows(files: CaseFiles) -> Columns:
    history, _ = records_of(files)
    ids = [hydro.id for hydro in by_date(files.hydros.hydros)]
    return {
        "hydro_id": [ids[row] for row in history.hydro.tolist()],
        "start_date": [np.datetime64(EPOCH) + np.timedelta64(day) for day in history.start_day.tolist()],
        "end_date": [np.datetime64(EPOCH) + np.timedelta64(day) for day in history.end_day.tolist()],
        "value_m3s": history.value_m3s.tolist(),
    }


def _keep_turbined_costs(
    files: CaseFiles, horizon: Horizon, documents: dict[str, Any], tables: dict[str, Columns]
) -> None:
    """Only plants with planes pay for turbined water in 0.5.1; a price of a stage must be above 0 in 0.18."""
    path, name = "constraints/penalty_overrides_hydro.parquet", "turbined_cost"
    for hydro, data in zip(files.hydros.hydros, documents["system/hydros.json"]["hydros"], strict=True):
        free = [stage.id for stage in horizon.stages if not production_of(hydro, stage, files).has_planes]
        if not free:
            continue
        own = data.get("penalties") or {}
        price = own.get(name)
        price = documents["penalties.json"]["hydro"][name] if price is None else price
        data["penalties"] = {**own, name: 0.0}
        given = _blank(tables.get(path, {}), hydro.id, free, name)
        rows = [
            {"hydro_id": hydro.id, "stage_id": stage.id, name: price}
            for stage in horizon.stages
            if price > 0.0 and stage.id not in (*free, *given)
        ]
        set_rows(tables, path, ("hydro_id", "stage_id"), rows)


def _blank(columns: Columns, hydro_id: int, stages: Sequence[int], name: str) -> set[int]:
    """Take the values of these stages out of a column of a plant; the stages that have one."""
    given = set()
    for place, value in enumerate(columns.get(name, ())):
        stage = columns["stage_id"][place]
        if columns["hydro_id"][place] == hydro_id and value is not None:
            given.add(stage)
            if stage in stages:
                columns[name][place] = None
    return given


def _keep_capacities(files: CaseFiles, horizon: Horizon, tables: dict[str, Columns]) -> None:
    """Factors of line capacities become capacities of blocks."""
    lines, limits = by_id(files.lines.lines), build_lines(files, horizon)
    row_of = {line.id: row for row, line in enumerate(lines)}
    rows = []
    for entry in files.exchange_factors.exchange_factors:
        first = int(horizon.block_offsets[horizon.index_of[entry.stage_id]])
        for factor in entry.block_factors:
            place = (row_of[entry.line_id], first + factor.block_id)
            rows.append(
                {
                    "line_id": entry.line_id,
                    "stage_id": entry.stage_id,
                    "block_id": factor.block_id,
                    "direct_mw": float(limits.direct_mw[place]),
                    "reverse_mw": float(limits.reverse_mw[place]),
                }
            )
    if rows:
        add_rows(tables, "constraints/line_bounds.parquet", rows)


def _keep_evaporation(
    files: CaseFiles, horizon: Horizon, documents: dict[str, Any], notes: list[str]
) -> None:
    """0.18 spreads the depth of a month over the hours of the calendar, whatever those of the stage are."""
    ratios: dict[int, set[float]] = {}
    for stage in horizon.stages:
        ratio = hours_of_month(stage.start_date) / evaporating_hours(stage)
        ratios.setdefault(stage.start_date.month, set()).add(ratio)
    if any(len(found) > 1 for found in ratios.values()):
        notes.append(
            "evaporation differs in months whose stages have different hours: 0.18 counts the hours of the calendar"
        )
    for hydro in documents["system/hydros.json"]["hydros"]:
        if hydro.get("evaporation") is not None:
            depths = hydro["evaporation"]["coefficients_mm"]
            hydro["evaporation"]["coefficients_mm"] = [
                depth * min(ratios.get(month, {1.0})) for month, depth in enumerate(depths, 1)
            ]


def _keep_past_inflows(files: CaseFiles, horizon: Horizon, documents: dict[str, Any]) -> None:
    """Past inflows, counted by seasons, become dated observations; a lag that nothing is known of was 0.

    The public Cobre 0.18 needs as many of every plant as the longest of all models reads, needed or not.
    """
    lags, annual = files.tables["inflow_lags"], files.tables["inflow_annual"]
    orders: dict[int, int] = {}
    for hydro_id, lag in zip(lags["hydro_id"].tolist(), lags["lag"].tolist(), strict=True):
        orders[hydro_id] = max(orders.get(hydro_id, 0), lag)
    for hydro_id in annual["hydro_id"].tolist():
        orders[hydro_id] = max(orders.get(hydro_id, 0), 12)
    if not orders:
        return
    seasons = horizon.season_definitions
    if seasons is None:
        seasons = _add_months(horizon, documents["stages.json"])
    calendar = StageCalendar.of(horizon.stages, seasons)
    level, first = calendar.levels[calendar.level[0]], calendar.period[0].number
    given = {entry.hydro_id: entry.values_m3s for entry in files.past_inflows}
    observed = documents["initial_conditions.json"].setdefault("recent_observations", [])
    for hydro_id in sorted(hydro["id"] for hydro in documents["system/hydros.json"]["hydros"]):
        values = given.get(hydro_id, ())
        for lag in range(1, max(orders.values()) + 1):
            period = Period.of(level, first - lag)
            observed.append(
                {
                    "hydro_id": hydro_id,
                    "start_date": str(period.start),
                    "end_date": str(period.end),
                    "value_m3s": values[lag - 1] if lag <= len(values) else 0.0,
                }
            )


def _by_stage_id(stage: Mapping[str, Any]) -> int:
    return int(stage["id"])


def _add_months(horizon: Horizon, document: dict[str, Any]) -> SeasonDefinitions:
    """The twelve months, by the ids that stages give them: dated observations need a calendar."""
    given = {
        stage.start_date.month: stage.season_id for stage in horizon.stages if stage.season_id is not None
    }
    if len(set(given.values())) < len(given):  # several months had one id
        given = {month: month - 1 for month in range(1, 13)}
        for stage, data in zip(horizon.stages, sorted(document["stages"], key=_by_stage_id), strict=True):
            data["season_id"] = stage.start_date.month - 1
    free = iter(number for number in range(24) if number not in given.values())
    seasons = tuple(
        Season(given[month] if month in given else next(free), month_name[month], month)
        for month in range(1, 13)
    )
    document["season_definitions"] = {
        "cycle_type": "monthly",
        "seasons": [
            {"id": each.id, "label": each.label, "month_start": each.month_start} for each in seasons
        ],
    }
    return SeasonDefinitions("monthly", seasons)


def _keep_sources(files: CaseFiles, horizon: Horizon, tables: dict[str, Columns], notes: list[str]) -> None:
    """Sources with statistics: stages without a row had all of their power, and bounds scaled it."""
    stats_path, bounds_path = "scenarios/non_controllable_stats.parquet", "constraints/ncs_bounds.parquet"
    stats, bounds = tables.get(stats_path), tables.get(bounds_path, {})
    if stats is None:
        return
    most = {
        each.id: float(each.max_generation_mw) for each in files.non_controllables.non_controllable_sources
    }
    share = {
        (bounds["ncs_id"][i], bounds["stage_id"][i]): value / most[bounds["ncs_id"][i]]
        for i, value in enumerate(bounds.get("available_generation_mw", ()))
        if value is not None and most[bounds["ncs_id"][i]] > 0.0
    }
    have = set(zip(stats["ncs_id"], stats["stage_id"], strict=True))
    rows = [
        {"ncs_id": ncs_id, "stage_id": stage.id, "mean": 1.0, "std": 0.0}
        for ncs_id in sorted({each for each, _ in have})
        for stage in horizon.stages
        if (ncs_id, stage.id) not in have
    ]
    add_rows(tables, stats_path, rows)
    for i, key in enumerate(zip(stats["ncs_id"], stats["stage_id"], strict=True)):
        if key in share:
            stats["mean"][i] *= share[key]
            stats["std"][i] *= share[key]
            if stats["std"][i] > 0.0:
                notes.append(
                    f"source {key[0]}, stage {key[1]}: its bound became part of its statistics; power beyond the bound "
                    "is no longer cut off there"
                )


def _keep_state(files: CaseFiles, documents: dict[str, Any]) -> None:
    """Lags are part of cuts in 0.18 only where stages say so."""
    if len(files.tables["inflow_lags"]) or len(files.tables["inflow_annual"]):
        for stage in documents["stages.json"]["stages"]:
            stage["state_variables"] = {"storage": True, "inflow_lags": True}


def _keep_openings(documents: dict[str, Any], tables: dict[str, Columns]) -> None:
    """A file of openings is used only where the settings say so."""
    if "scenarios/noise_openings.parquet" in tables:
        training = documents["config.json"]["training"]
        training["scenario_source"] = {
            **(training.get("scenario_source") or {}),
            "openings": {"source": "file"},
        }


def _keep_words(files: CaseFiles, documents: dict[str, Any], notes: list[str]) -> None:
    """What 0.18 requires, no longer has, or refuses although it never had an effect."""
    rules = documents["config.json"]["training"]["stopping_rules"]
    if not any(rule["type"] == "iteration_limit" for rule in rules):
        rules.append({"type": "iteration_limit", "limit": NO_LIMIT})
        notes.append(f"an iteration limit of {NO_LIMIT} was added: 0.18 requires one")
    if "scenarios/correlation.json" in documents:
        documents["scenarios/correlation.json"]["method"] = "spectral"
    initial = documents["initial_conditions.json"]
    filled = {hydro.id for hydro in files.hydros.hydros if hydro.filling is not None}
    initial["filling_storage"] = [each for each in initial["filling_storage"] if each["hydro_id"] in filled]
    for thermal in files.thermals.thermals:
        if thermal.anticipated_config is not None:
            notes.append(
                f"thermal {thermal.id} is decided {thermal.anticipated_config.lead_stages} stages ahead: add what was "
                "decided before the study to past_anticipated_commitments in initial_conditions.json"
            )


def _note_differences(files: CaseFiles, notes: list[str]) -> None:
    if np.nan_to_num(files.tables["hydro_bounds"]["water_withdrawal_m3s"]).any():
        notes.append("a violation of a water withdrawal can at most undo the withdrawal now")
    if any(hydro.diversion is not None for hydro in files.hydros.hydros):
        notes.append("limits of the outflow no longer count diverted water")
    older = files.older_config
    if (
        older is not None
        and older.training.cut_selection is not None
        and older.training.cut_selection.enabled
    ):
        notes.append(SELECTION)
    if files.config.training.stopping_mode == "all":
        notes.append("stopping_mode all: an iteration limit now stops although other rules do not agree")
    source = files.config.training.scenario_source
    if source is not None and "external" in (source.inflow.scheme, source.load.scheme, source.ncs.scheme):
        notes.append("external scenarios now set mean and deviation of the openings, whatever statistics say")
