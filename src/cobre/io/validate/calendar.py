"""Checks of time: dates, seasons and transitions between stages."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from itertools import pairwise

from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.stages import Period, SeasonRecord, StageRecord, TransitionRecord
from cobre.io.validate.naming import listed
from cobre.io.validate.notes import CANNOT_RUN, report_repeated

FILE = "stages.json"
DURATION_TOLERANCE_DAYS = 7
COMMON_YEAR, LEAP_YEAR = 2001, 2004
PROBABILITY_TOLERANCE = 1e-6
HOURS_WARNING_FACTOR = 1.05
HOURS_ERROR_FACTOR = 1.5
"""How far the hours of a stage's blocks may be from those of its dates, up or down."""


def check_calendar(files: CaseFiles, problems: Problems) -> None:
    """Report dates out of order, hours that do not fit them, uneven seasons and transitions that are no chain."""
    stages = sorted(files.stages.stages, key=lambda stage: stage.id)
    before = sorted(files.stages.pre_study_stages, key=lambda stage: stage.id)
    periods: list[Period] = [*before, *stages]
    for stage in periods:
        if stage.end_date <= stage.start_date:
            problems.error(
                "OutOfRange",
                Place(FILE, f"stage {stage.id}", "end_date", str(stage.end_date)),
                f"end_date {stage.end_date} is not after start_date {stage.start_date}",
                "end_date is the first day after the stage",
            )
    _check_order(periods, problems)
    _check_hours(stages, problems)
    _check_seasons(files, stages, problems)
    _check_transitions(files, stages, problems)


def _check_order(stages: Sequence[Period], problems: Problems) -> None:
    for first, second in pairwise(stages):
        if first.end_date == second.start_date:
            continue
        place = {"entity": f"stage {second.id}", "field": "start_date", "value": str(second.start_date)}
        text = f"starts on {second.start_date}, while stage {first.id} ends on {first.end_date}"
        if second.start_date < first.end_date and _is_coarser(first, second):
            problems.warn(
                "StageMismatch",
                FILE,
                f"{text}: the days in between belong to both",
                "correct the date that is wrong, if one is",
                **place,
            )
        elif second.start_date < first.end_date:
            remedy = "correct the date that is wrong, if one is; only weeks may reach into a longer stage after them"
            problems.error("StageMismatch", FILE, text, remedy, **place)
        elif second.id == first.id + 1:
            problems.warn(
                "StageMismatch",
                FILE,
                f"{text}: the days in between belong to no stage",
                "correct the date that is wrong, if one is",
                **place,
            )


def _is_coarser(first: Period, second: Period) -> bool:
    """Whether a stage begins a part of the study with longer stages: weeks that reach into the month after them."""
    lengths = [(stage.end_date - stage.start_date).days for stage in (first, second)]
    is_other_season = None in (first.season_id, second.season_id) or first.season_id != second.season_id
    return is_other_season and lengths[1] >= 2 * lengths[0] and second.end_date > first.end_date


def _check_hours(stages: Sequence[StageRecord], problems: Problems) -> None:
    """The hours of a stage's blocks against those of its dates; stages that are a little off share one warning."""
    remedy = (
        "correct the hours of the blocks or the dates: energy and volumes follow the hours, discounts and seasons "
        "the dates"
    )
    near: dict[int, tuple[float, str]] = {}
    for stage in stages:
        hours = sum(block.hours for block in stage.blocks)
        calendar = 24.0 * (stage.end_date - stage.start_date).days
        if calendar <= 0.0:
            continue
        factor = max(hours / calendar, calendar / hours)
        dates = f"{stage.start_date} to {stage.end_date}"
        text = f"its blocks have {hours:g} hours, but the dates {dates} have {calendar:g}"
        if factor > HOURS_ERROR_FACTOR:
            place = {"entity": f"stage {stage.id}", "field": "blocks.hours", "value": hours}
            problems.error("StageMismatch", FILE, text, remedy, **place)
        elif factor > HOURS_WARNING_FACTOR:
            near[stage.id] = (hours, text)
    if near:
        first, *others = near
        hours, text = near[first]
        likewise = f"; stage {listed(others)} likewise" if others else ""
        place = {"entity": f"stage {first}", "field": "blocks.hours", "value": hours}
        problems.warn("StageMismatch", FILE, f"{text}{likewise}", remedy, **place)


def _check_seasons(files: CaseFiles, stages: Sequence[StageRecord], problems: Problems) -> None:
    definitions = files.stages.season_definitions
    if definitions is None:
        return
    ids = [season.id for season in definitions.seasons]
    report_repeated(
        ids,
        problems,
        (FILE, "season {}", "season_definitions.seasons.id"),
        "season_definitions has season {} twice",
        "give each season its own id",
    )
    for season in definitions.seasons:
        _check_season(season, is_custom=definitions.cycle_type == "custom", problems=problems)
    for season_id in sorted(set(ids)):
        lengths = {s.id: (s.end_date - s.start_date).days for s in stages if s.season_id == season_id}
        if lengths and max(lengths.values()) - min(lengths.values()) > DURATION_TOLERANCE_DAYS:
            problems.error(
                "StageMismatch",
                Place(FILE, f"season {season_id}", "season_id", season_id),
                f"its stages last from {min(lengths.values())} to {max(lengths.values())} days "
                f"(stage {listed(lengths)}), which is no one season",
                f"give stages that differ by more than {DURATION_TOLERANCE_DAYS} days seasons of their own",
            )


def _check_season(season: SeasonRecord, *, is_custom: bool, problems: Problems) -> None:
    place = {"entity": f"season {season.id}"}
    for name in ("start", "end"):
        month, day = getattr(season, f"month_{name}"), getattr(season, f"day_{name}")
        # An end on 29 February is the last day of every February.
        year = LEAP_YEAR if name == "end" else COMMON_YEAR
        days = monthrange(year, month)[1] if month is not None else 31
        if day is not None and day > days:
            problems.error(
                "OutOfRange",
                FILE,
                f"day_{name} = {day}, but month {month} has {days} days",
                f"give a day of month {month}" + " that every year has" * (name == "start"),
                field=f"day_{name}",
                value=day,
                **place,
            )
    if is_custom and season.month_end is None and season.day_end is not None:
        problems.error(
            "SchemaViolation",
            FILE,
            f"has day_end = {season.day_end} but no month_end",
            "give month_end as well",
            field="month_end",
            value=None,
            **place,
        )


def _check_transitions(files: CaseFiles, stages: Sequence[StageRecord], problems: Problems) -> None:
    graph = files.stages.policy_graph
    if graph.nodes:
        return  # then they are about nodes
    by_source: dict[int, list[TransitionRecord]] = {}
    for transition in graph.transitions:
        by_source.setdefault(transition.source_id, []).append(transition)
    following = {first.id: second.id for first, second in pairwise(stages)}
    for source, transitions in sorted(by_source.items()):
        place = {"entity": f"stage {source}"}
        total = sum(transition.probability for transition in transitions)
        may_end = graph.type == "cyclic" and source not in following and total < 1.0
        if abs(total - 1.0) > PROBABILITY_TOLERANCE and not may_end:
            problems.error(
                "OutOfRange",
                FILE,
                f"the probabilities of its transitions sum to {total:g}, not 1",
                "make them sum to 1",
                field="policy_graph.transitions.probability",
                value=total,
                **place,
            )
        rates = {transition.annual_discount_rate_override for transition in transitions}
        if len(rates) > 1:
            problems.error(
                "IncompatibleSettings",
                FILE,
                f"its transitions have the discount rates {listed(sorted(map(str, rates)))}",
                "give one rate per source stage",
                field="policy_graph.transitions.annual_discount_rate_override",
                value=sorted(map(str, rates)),
                **place,
            )
        is_back = graph.type == "cyclic" and source not in following
        if source in {stage.id for stage in stages} and not (is_back and len(transitions) == 1):
            wrong = sorted({t.target_id for t in transitions} - {following.get(source)})
            if wrong:
                problems.error(
                    "IncompatibleSettings",
                    FILE,
                    f"leads to stage {listed(wrong)}; stages without nodes are a chain, each leads to the next",
                    CANNOT_RUN,
                    field="policy_graph.transitions.target_id",
                    value=wrong[0],
                    **place,
                )
