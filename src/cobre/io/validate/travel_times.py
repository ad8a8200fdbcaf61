"""Checks of water that takes time from one plant to the next."""

from __future__ import annotations

import datetime as dt
import math

from cobre.core.clock import Clock
from cobre.core.horizon import Horizon
from cobre.io.assemble.filling import BEFORE, phase
from cobre.io.assemble.horizon import build_horizon
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.dated_windows import FILE, Window, check_windows, days_covered
from cobre.io.validate.naming import called

HYDROS, FIELD = "system/hydros.json", "travel_time_hours"
SHORT = 0.01
"""Share of a stage below which a travel time hardly matters."""


def check_travel_times(files: CaseFiles, problems: Problems) -> None:
    """Report travel times without effect, and releases before the study that are not known."""
    if files.damaged & {"stages.json", HYDROS, FILE} or not files.stages.stages:
        return
    horizon = build_horizon(files.stages, files.post_study)
    delayed = [hydro for hydro in files.hydros.hydros if hydro.travel_time_hours]
    for hydro in files.hydros.hydros:
        if hydro.travel_time_hours is not None:
            _check_plant(hydro, horizon, problems)
    rivers = [hydro for hydro in delayed if hydro.downstream_id is not None]
    _check_releases(files, rivers, horizon, problems)
    _check_below(files, rivers, problems)
    _check_meeting(files, rivers, horizon, problems)
    _check_end(files, rivers, problems)


def _check_plant(hydro: HydroRecord, horizon: Horizon, problems: Problems) -> None:
    hours, clock = float(hydro.travel_time_hours or 0.0), Clock(horizon)
    whole = clock.start(clock.n_stages)
    shortest = min(clock.hours(stage) for stage in range(clock.n_stages))
    reason = rule = None
    if hours == 0.0:
        reason, rule = "travel_time_hours = 0 has no effect", "travel_time.2"
    elif hydro.downstream_id is None:
        reason, rule = "travel_time_hours has no effect: no plant is below", "travel_time.2"
    elif hours >= whole:
        reason = f"travel_time_hours = {hours:g}: nothing that is released arrives within the {whole:g} hours"
        rule = "travel_time.4"
    elif hours < SHORT * shortest:
        reason = f"travel_time_hours = {hours:g} is less than a hundredth of every stage"
        rule = "travel_time.3"
    if reason is not None:
        problems.warn(
            "IncompatibleSettings",
            Place(HYDROS, called("hydro", hydro), FIELD, hours),
            reason,
            "remove it, or ignore this",
            rule=rule,
        )


def _check_releases(
    files: CaseFiles, rivers: list[HydroRecord], horizon: Horizon, problems: Problems
) -> None:
    """Every day of the last travel time before the study must be known."""
    start = horizon.stages[0].start_date
    windows = [
        Window(each.hydro_id, each.start_date, each.end_date, float(each.value_m3s))
        for each in files.initial_conditions.past_defluences
    ]
    if not check_windows(windows, "past_defluences", "hydro", problems):
        return
    known = {hydro.id for hydro in rivers}
    for each in windows:
        if each.owner not in known:
            problems.warn(
                "IncompatibleSettings",
                Place(FILE, f"hydro {each.owner}", "past_defluences", each.value),
                "past_defluences has no effect: its water takes no time to a plant below",
                "remove the entry",
            )
        elif each.end > start:
            problems.error(
                "OutOfRange",
                Place(FILE, f"hydro {each.owner}", "past_defluences.end_date", str(each.end)),
                f"the release from {each.start} to {each.end} reaches into the study, which starts on {start}",
                f"end it on {start} or before",
                rule="travel_time.5b",
            )
    for hydro in rivers:
        days = math.ceil(float(hydro.travel_time_hours or 0.0) / 24.0 - 1e-9)
        first = start - dt.timedelta(days=days)
        mine = [each for each in windows if each.owner == hydro.id]
        found = days_covered(mine, first, start)
        if found < days:
            problems.error(
                "CoverageMismatch",
                Place(FILE, called("hydro", hydro), "past_defluences", found),
                f"past_defluences has {found} of the {days} days before {start} on which water was released that is "
                "still under way",
                f"give its releases from {first} to {start}, 0 where there were none",
                rule="travel_time.5",
            )


def _check_below(files: CaseFiles, rivers: list[HydroRecord], problems: Problems) -> None:
    plants = {hydro.id: hydro for hydro in files.hydros.hydros}
    for hydro in rivers:
        below = plants.get(hydro.downstream_id if hydro.downstream_id is not None else -1)
        absent = [
            stage.id
            for stage in files.stages.stages
            if below is not None and phase(below, stage.id) == BEFORE
        ]
        if absent and below is not None:
            problems.error(
                "IncompatibleSettings",
                Place(HYDROS, called("hydro", hydro), FIELD, hydro.travel_time_hours),
                f"its water takes {hydro.travel_time_hours:g} hours to {called('hydro', below)}, which is not there "
                f"yet in stage {min(absent)}",
                "let the plant below be there from the first stage, or remove travel_time_hours",
                rule="travel_time.12",
            )


def _check_meeting(files: CaseFiles, rivers: list[HydroRecord], horizon: Horizon, problems: Problems) -> None:
    """Where blocks are chronological, all water under way to a plant must take the same time."""
    if not any(stage.is_chronological for stage in horizon.stages):
        return
    times: dict[int, set[float]] = {}
    for hydro in rivers:
        times.setdefault(hydro.downstream_id or 0, set()).add(float(hydro.travel_time_hours or 0.0))
    for hydro in rivers:
        found = times[hydro.downstream_id or 0]
        if len(found) > 1:
            listed = " and ".join(f"{each:g}" for each in sorted(found))
            problems.error(
                "IncompatibleSettings",
                Place(HYDROS, called("hydro", hydro), FIELD, hydro.travel_time_hours),
                f"water takes {listed} hours to hydro {hydro.downstream_id}, and a stage has chronological blocks: "
                "which block it arrives in is known only where all of it takes the same time",
                "give the plants above the same travel_time_hours, or use parallel blocks",
                rule="travel_time.6",
            )


def _check_end(files: CaseFiles, rivers: list[HydroRecord], problems: Problems) -> None:
    policy = None if "config.json" in files.unusable else files.config.policy
    if rivers and (policy is None or policy.boundary is None):
        names = ", ".join(called("hydro", hydro) for hydro in rivers[:3])
        problems.warn(
            "IncompatibleSettings",
            HYDROS,
            f"water of {names} that arrives after the last stage is worth nothing: the study has no policy.boundary",
            "give policy.boundary, a policy of a study that goes on, or ignore this",
            field=FIELD,
            value=len(rivers),
            rule="travel_time.4",
        )
