"""Windows of the inflow history: years whose observed inflows a trajectory or an opening repeats.

A *window* is a year Y: the first stage takes the inflow observed in its season in Y, the stages after it the inflows
of their seasons from there on. A year is a window if every hydro has an observation for every stage. The observed
inflows are turned into noise η along the lags of the study itself, so that a trajectory that follows a window starts
from the study's own past and meets the observed inflows exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import SeasonDefinitions, Stage
from cobre.core.scenarios import InflowRecords
from cobre.errors import ValidationError
from cobre.stochastic.external import Inversion
from cobre.stochastic.periods import StageCalendar
from cobre.stochastic.seeds import historical_window

__all__ = ["HistoricalWindows", "observed_years"]

FILE = "scenarios/inflow_history.parquet"


@dataclass(frozen=True, eq=False)
class HistoricalWindows:
    """The years that can be repeated, and their noise ``eta`` (windows, stages, hydros)."""

    years: tuple[int, ...]
    eta: Floats

    @classmethod
    def of(
        cls,
        records: InflowRecords,
        n_hydros: int,
        stages: Sequence[Stage],
        seasons: SeasonDefinitions | None,
        inversion: Inversion,
        years: Sequence[int] | None = None,
    ) -> HistoricalWindows:
        """All years that can be repeated, or those of ``years`` that can."""
        found = observed_years(records, n_hydros, stages, seasons)
        chosen = tuple(sorted(year for year in found if years is None or year in years))
        if not chosen:
            asked = "no year" if years is None else f"none of the years {', '.join(map(str, years))}"
            raise ValidationError(
                f"{asked} of the inflow history has an observation of every hydro for every stage",
                kind="CoverageMismatch",
                context={"file": FILE, "years": sorted(found)},
                suggestion=f"use years of {_range(found)}"
                if found
                else "give a history that covers the seasons of all stages in one run of years",
            )
        values = np.stack([found[year] for year in chosen], axis=1)
        eta = inversion.solve(values)
        _check(eta, values, stages, chosen)
        return cls(chosen, eta.transpose(1, 0, 2))

    @property
    def n_windows(self) -> int:
        return len(self.years)

    def sample(self, iteration: int, scenarios: range) -> Floats:
        """η (stages, scenarios, hydros): each scenario follows one window through all stages."""
        rows = [historical_window(iteration, scenario, self.n_windows) for scenario in scenarios]
        return self.eta[rows].transpose(1, 0, 2)


def observed_years(
    records: InflowRecords, n_hydros: int, stages: Sequence[Stage], seasons: SeasonDefinitions | None
) -> dict[int, Floats]:
    """By year: the observed inflows (stages, hydros) from that year on, if all of them were observed."""
    if seasons is None:
        raise ValidationError(
            "the inflow history cannot be repeated without season_definitions: they tell which dates belong to a stage",
            kind="CoverageMismatch",
            context={"file": "stages.json", "field": "season_definitions"},
            suggestion="give season_definitions in stages.json",
        )
    from cobre.stochastic.fitting.history import InflowHistory, observe

    calendar = StageCalendar.of(stages, seasons)
    history = InflowHistory(n_hydros, records.hydro, records.start_day, records.end_day, records.value_m3s)
    observed = {level: observe(history, calendar.levels[level]) for level in sorted(set(calendar.level))}
    places = []
    for level, period in zip(calendar.level, calendar.period, strict=True):
        places.append((level, *divmod(period.number, calendar.levels[level].n_seasons)))
    first_year, known = places[0][1], observed[places[0][0]]
    found = {}
    for year in range(known.first_year, known.first_year + known.n_years):
        rows = [
            _row(observed[level].values, position, its_year + year - first_year - observed[level].first_year)
            for level, its_year, position in places
        ]
        inflows = np.array(rows)
        if np.isfinite(inflows).all():
            found[year] = inflows
    return found


def _row(values: Floats, position: int, year: int) -> Floats:
    """The observations (hydros) of a season in a year, counted from the first; NaN outside the history."""
    return values[:, year, position] if 0 <= year < values.shape[1] else np.full(len(values), np.nan)


def _range(years: dict[int, Floats]) -> str:
    return f"{min(years)} to {max(years)}"


def _check(eta: Floats, values: Floats, stages: Sequence[Stage], years: Sequence[int]) -> None:
    wrong = np.argwhere(np.isnan(eta))
    if len(wrong):
        t, window, hydro = wrong[0].tolist()
        raise ValidationError(
            f"stage {stages[t].id}, window {years[window]}: the observed inflow {values[t, window, hydro]:g} m3/s "
            f"of hydro index {hydro} differs from its mean, but it has no deviation",
            kind="OutOfRange",
            context={"file": FILE, "stage_id": stages[t].id, "hydro": hydro, "year": years[window]},
            suggestion="give the hydro a standard deviation above 0 in that stage, or leave the year out",
        )
