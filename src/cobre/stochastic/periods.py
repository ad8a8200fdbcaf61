"""Which part of a period of the seasonal calendar a stage is.

monthly   the month of the stage's season. A stage that reaches into the next month counts there with those days.
weekly    the ISO week that the stage starts in.
custom    the occurrence of the stage's season that holds its start.

Refused, because no lag can then be right: stages whose dates do not touch their season, months between two stages or
within one that no stage stands for, and custom seasons of different lengths (months that turn into quarters).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from cobre.core.horizon import Season, SeasonDefinitions, Stage
from cobre.errors import ValidationError

__all__ = ["WHOLE_PERIOD", "Share", "period_shares"]


@dataclass(frozen=True, slots=True)
class Share:
    """What a stage is of its period: its weight in the mean, whether it ends it, its weight in the next mean."""

    weight: float
    is_last: bool
    spill: float


WHOLE_PERIOD = Share(1.0, True, 0.0)


@dataclass(frozen=True, slots=True)
class _Period:
    """Equal for stages of one period. Only months have bounds of their own; other periods end with their stages."""

    key: tuple[int, int]
    bounds: tuple[dt.date, dt.date] | None = None


def period_shares(stages: Sequence[Stage], seasons: SeasonDefinitions, observed_days: int) -> list[Share]:
    """A share per stage. The weights of a period's stages, spilled and observed days add up to 1."""
    _check_lengths(stages, seasons)
    periods = [_period(stage, seasons) for stage in stages]
    days = [_days_in(stage, period) for stage, period in zip(stages, periods, strict=True)]
    shares: list[Share] = []
    first, carried = 0, observed_days
    for t in range(len(stages)):
        is_last = t + 1 == len(stages) or periods[t + 1] != periods[t]
        if not is_last:
            continue
        total = carried + sum(days[first : t + 1])
        if first > 0 and carried:
            shares[-1] = Share(shares[-1].weight, True, carried / total)
        shares += [Share(days[s] / total, s == t, 0.0) for s in range(first, t + 1)]
        first = t + 1
        carried = _spilled_days(stages, periods, t) if first < len(stages) else 0
    return shares


def _period(stage: Stage, seasons: SeasonDefinitions) -> _Period:
    if seasons.cycle_type == "weekly":
        year, week, _ = stage.start_date.isocalendar()
        return _Period((year, week))
    if seasons.cycle_type == "monthly":
        return _month(stage, seasons)
    season = _season(stage, seasons)
    start = stage.start_date
    starts_before = (start.month, start.day) < (season.month_start, season.day_start or 1)
    return _Period((season.id, start.year - starts_before))


def _month(stage: Stage, seasons: SeasonDefinitions) -> _Period:
    month = stage.start_date.month if stage.season_id is None else _season(stage, seasons).month_start
    # A week at the turn of the year may start in December and belong to January.
    last_day = stage.end_date - dt.timedelta(days=1)
    year = stage.start_date.year if stage.start_date.month == month else last_day.year
    start, end = dt.date(year, month, 1), dt.date(year + month // 12, month % 12 + 1, 1)
    if stage.end_date <= start or stage.start_date >= end:
        raise _refused(
            stage,
            f"has season {stage.season_id} (month {month}), which its dates do not touch",
            "give it the season of the month it lies in",
        )
    return _Period((year, month), (start, end))


def _season(stage: Stage, seasons: SeasonDefinitions) -> Season:
    found = next((season for season in seasons.seasons if season.id == stage.season_id), None)
    if found is None:
        raise _refused(
            stage, f"has season {stage.season_id}, which is not defined", "use a season of the calendar"
        )
    return found


def _days_in(stage: Stage, period: _Period) -> int:
    if period.bounds is None:
        return (stage.end_date - stage.start_date).days
    return (min(stage.end_date, period.bounds[1]) - max(stage.start_date, period.bounds[0])).days


def _spilled_days(stages: Sequence[Stage], periods: Sequence[_Period], t: int) -> int:
    """Days of the last stage of a month that lie in the month of the stage after it."""
    this, following = periods[t].bounds, periods[t + 1].bounds
    if this is None or following is None:
        return 0
    if following[0] != this[1]:
        raise _refused(
            stages[t + 1],
            f"follows a stage of {this[0]:%B %Y}, so that no stage stands for a month between them",
            "give the stage of every month the season of that month",
        )
    return max(0, (stages[t].end_date - following[0]).days)


def _check_lengths(stages: Sequence[Stage], seasons: SeasonDefinitions) -> None:
    """A lag must stand for about the same length of time all along."""
    if seasons.cycle_type != "custom":
        return
    lengths = [_nominal_days(_season(stage, seasons)) for stage in stages]
    for before, now, stage in zip(lengths, lengths[1:], stages[1:], strict=False):
        if max(before, now) > 1.5 * min(before, now):
            raise _refused(
                stage,
                f"has a season of {now} days after one of {before} days, and the inflow model has lags",
                "none in the case: lags over seasons of different lengths are not modelled yet",
            )


def _nominal_days(season: Season) -> int:
    year = 2001  # any year that is no leap year
    start = dt.date(year, season.month_start, season.day_start or 1)
    month_end = season.month_end or season.month_start
    if season.day_end is not None:
        last = dt.date(year, month_end, min(season.day_end, _month_days(year, month_end)))
    else:
        last = dt.date(year, month_end, _month_days(year, month_end))
    if last < start:
        last = last.replace(year=year + 1)
    return (last - start).days + 1


def _month_days(year: int, month: int) -> int:
    return (dt.date(year + month // 12, month % 12 + 1, 1) - dt.date(year, month, 1)).days


def _refused(stage: Stage, what: str, fix: str) -> ValidationError:
    return ValidationError(
        f"stage {stage.id} ({stage.start_date} to {stage.end_date}) {what}",
        kind="IncompatibleSettings",
        context={"file": "stages.json", "stage_id": stage.id, "season_id": stage.season_id},
        suggestion=fix,
    )
