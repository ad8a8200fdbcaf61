"""Checks of thermals whose generation is decided ahead."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from cobre.core.clock import BEFORE, Clock, deciders
from cobre.core.entities import LeadTime
from cobre.core.tables import ThermalTables
from cobre.io.assemble.bounds import build_thermals
from cobre.io.assemble.horizon import build_horizon
from cobre.io.problems import Place, Problems
from cobre.io.read.columns import ABSENT
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.thermals import ThermalRecord
from cobre.io.validate.dated_windows import FILE, Window, check_windows, days_covered
from cobre.io.validate.lead_time_use import check_constraints, check_reach
from cobre.io.validate.naming import called, listed

THERMALS, AFTER, LEAD = "system/thermals.json", "post_study_stages.json", "anticipated_config"
BOUNDS = "constraints/thermal_bounds.parquet"


@dataclass(frozen=True)
class _Plant:
    record: ThermalRecord
    deciders: list[int]
    """By delivery stage, those after the study included."""


def check_lead_times(files: CaseFiles, problems: Problems) -> None:
    """Report lead times that cannot be followed, and deliveries without an amount."""
    if files.damaged & {"stages.json", THERMALS, FILE, AFTER} or not files.stages.stages:
        return
    if not files.generation.is_018:
        return  # refused where it is not modelled
    horizon = build_horizon(files.stages, files.post_study)
    clock = Clock(horizon)
    ahead = [thermal for thermal in files.thermals.thermals if thermal.anticipated_config is not None]
    _check_unused(files, {thermal.id for thermal in ahead}, problems)
    is_calendar_right = _check_calendar(files, clock, problems)
    windows = [
        Window(each.thermal_id, each.start_date, each.end_date, float(each.value_mw))
        for each in files.initial_conditions.past_anticipated_commitments
    ]
    are_windows_right = check_windows(windows, "past_anticipated_commitments", "thermal", problems)
    _check_block_rows(files, {thermal.id for thermal in ahead}, problems)
    check_constraints(files, {thermal.id for thermal in ahead}, problems)
    tables = _limits(files, clock, problems)
    for thermal in ahead:
        lead = _lead(thermal, problems)
        if lead is None or not is_calendar_right:
            continue
        plant = _Plant(thermal, deciders(clock, lead))
        check_reach(plant.record, plant.deciders, clock, problems)
        _check_deciders(plant, clock, problems)
        _check_cells(files, plant, clock, problems)
        if are_windows_right:
            mine = [each for each in windows if each.owner == thermal.id]
            _check_seeds(files, plant, clock, mine, tables, problems)


def _limits(files: CaseFiles, clock: Clock, problems: Problems) -> ThermalTables | None:
    """Of all thermals; None if rows about them are wrong, which was reported."""
    has_errors = any(error.file == BOUNDS for error in problems.errors)
    if has_errors or BOUNDS in files.damaged | files.unusable:
        return None
    return build_thermals(files, clock.horizon)


def _lead(thermal: ThermalRecord, problems: Problems) -> LeadTime | None:
    config = thermal.anticipated_config
    if config is None:
        return None
    if (config.lead_stages is None) == (config.lead_time_hours is None):
        problems.error(
            "IncompatibleSettings",
            Place(THERMALS, called("thermal", thermal), LEAD, str(config)),
            "anticipated_config needs lead_stages or lead_time_hours, and not both",
            "keep one of the two",
        )
        return None
    return LeadTime(config.lead_stages, config.lead_time_hours)


def _check_unused(files: CaseFiles, ahead: set[int], problems: Problems) -> None:
    decided = files.initial_conditions.past_anticipated_commitments
    entries = [(FILE, each.thermal_id, "past_anticipated_commitments", each.value_mw) for each in decided]
    for cell in files.post_study.thermal_bounds:
        entries.append((AFTER, cell.thermal_id, "thermal_bounds", cell.post_study_stage_index))
    for file, thermal_id, field, value in entries:
        if thermal_id not in ahead:
            message = f"{field} has no effect: the thermal is not decided ahead"
            place = Place(file, f"thermal {thermal_id}", field, value)
            problems.warn("IncompatibleSettings", place, message, "remove the entry")


def _check_calendar(files: CaseFiles, clock: Clock, problems: Problems) -> bool:
    """Stages after the study follow it without a gap; whether they do."""
    before = len(problems.errors)
    moment = clock.interval(clock.n_stages - 1)[1]
    for index, stage in enumerate(files.post_study.stages):
        if dt.datetime(stage.start_date.year, stage.start_date.month, stage.start_date.day) != moment:
            problems.error(
                "IncompatibleSettings",
                AFTER,
                f"stage {index} starts on {stage.start_date}, and what is before it ends on {moment:%Y-%m-%d %H:%M}",
                "let the stages follow the study and each other without a gap",
                field="stages.start_date",
                value=str(stage.start_date),
                rule="5a.47",
            )
            break
        moment += dt.timedelta(hours=float(stage.duration_hours))
    for cell in files.post_study.thermal_bounds:
        reason = None
        if cell.post_study_stage_index >= len(files.post_study.stages):
            n_stages = len(files.post_study.stages)
            reason = (
                f"post_study_stage_index = {cell.post_study_stage_index}, and the file has {n_stages} stages"
            )
        elif cell.min_mw > cell.max_mw:
            reason = f"min_mw = {cell.min_mw:g} is above max_mw = {cell.max_mw:g}"
        if reason is not None:
            problems.error(
                "OutOfRange",
                Place(AFTER, f"thermal {cell.thermal_id}", "thermal_bounds", cell.post_study_stage_index),
                reason,
                "correct the entry",
                rule="5a.47",
            )
    return len(problems.errors) == before


def _check_block_rows(files: CaseFiles, ahead: set[int], problems: Problems) -> None:
    table = files.tables["thermal_bounds"]
    for row in np.flatnonzero(table["block_id"] != ABSENT).tolist():
        if int(table["thermal_id"][row]) in ahead:
            problems.error(
                "IncompatibleSettings",
                table.at(row, "block_id", int(table["block_id"][row])),
                "a row of a single block, of a thermal that is decided ahead for whole stages",
                "leave block_id null",
                rule="5a.38",
            )


def _check_deciders(plant: _Plant, clock: Clock, problems: Problems) -> None:
    by_stage: dict[int, list[int]] = {}
    for delivery, stage in enumerate(plant.deciders):
        if BEFORE < stage < min(delivery, clock.n_stages):
            by_stage.setdefault(stage, []).append(delivery)
    for stage, deliveries in by_stage.items():
        if len(deliveries) > 1:
            problems.error(
                "IncompatibleSettings",
                Place(THERMALS, called("thermal", plant.record), LEAD, str(plant.record.anticipated_config)),
                f"{_named(clock, stage)} would decide for {listed([_named(clock, m) for m in deliveries])}: one stage "
                "decides one delivery",
                "choose another lead time, or stages of similar length",
            )


def _check_cells(files: CaseFiles, plant: _Plant, clock: Clock, problems: Problems) -> None:
    given = {
        cell.post_study_stage_index
        for cell in files.post_study.thermal_bounds
        if cell.thermal_id == plant.record.id
    }
    for index in range(len(files.post_study.stages)):
        is_decided = BEFORE < plant.deciders[clock.n_stages + index] < clock.n_stages
        if is_decided != (index in given):
            reason = (
                f"the study decides what it generates in stage {index} after the study, and thermal_bounds has no entry"
                if is_decided
                else f"thermal_bounds has an entry of stage {index} after the study, which no stage of it decides"
            )
            problems.error(
                "CoverageMismatch",
                Place(AFTER, called("thermal", plant.record), "thermal_bounds", index),
                reason,
                "give cost and limits of that stage" if is_decided else "remove the entry",
                rule="5a.47",
            )


def _check_seeds(
    files: CaseFiles,
    plant: _Plant,
    clock: Clock,
    windows: list[Window],
    tables: ThermalTables | None,
    problems: Problems,
) -> None:
    """Every delivery that was decided before the study must be given, and no other."""
    field, entity = "past_anticipated_commitments", called("thermal", plant.record)
    row = sorted(thermal.id for thermal in files.thermals.thermals).index(plant.record.id)
    start = clock.horizon.stages[0].start_date
    for delivery, stage in enumerate(plant.deciders):
        first, last = (moment.date() for moment in clock.interval(delivery))
        found, days = days_covered(windows, first, last), (last - first).days
        was_decided = stage == BEFORE
        is_state = delivery < clock.n_stages or clock.horizon.policy_graph.is_cyclic
        if was_decided and found < days and is_state:
            problems.error(
                "CoverageMismatch",
                Place(FILE, entity, field, found),
                f"what it generates in {_named(clock, delivery)} was decided before the study, and is given for "
                f"{found} of its {days} days",
                f"give its commitment from {first} to {last}",
                rule="5a.15",
            )
        elif not was_decided and found:
            problems.error(
                "IncompatibleSettings",
                Place(FILE, entity, field, found),
                f"gives what it generates on {found} days of {_named(clock, delivery)}, which the study decides",
                f"end the entries before {first}",
                rule="5a.15",
            )
        elif was_decided and delivery < clock.n_stages and tables is not None:
            blocks = clock.horizon.blocks_of(delivery)
            low = float(clock.horizon.over_blocks(tables.min_generation_mw)[row, blocks].max())
            high = float(clock.horizon.over_blocks(tables.max_generation_mw)[row, blocks].min())
            for each in windows:
                if days_covered([each], first, last) and not low <= each.value <= high:
                    problems.error(
                        "OutOfRange",
                        Place(FILE, entity, field, each.value),
                        f"{each.value:g} MW in {_named(clock, delivery)}, where its limits are {low:g} and {high:g} MW",
                        "give a commitment that it can deliver",
                        rule="5a.15",
                    )
    for each in windows:
        if each.end <= start:
            problems.warn(
                "IncompatibleSettings",
                Place(FILE, entity, field, each.value),
                f"the commitment from {each.start} to {each.end} has no effect: it ends before the study",
                "remove the entry",
            )


def _named(clock: Clock, stage: int) -> str:
    if stage < clock.n_stages:
        return f"stage {clock.horizon.stages[stage].id}"
    if clock.horizon.policy_graph.is_cyclic:
        return f"stage {clock.horizon.stages[clock.image(stage)].id} of the next round"
    return f"stage {stage - clock.n_stages} after the study"
