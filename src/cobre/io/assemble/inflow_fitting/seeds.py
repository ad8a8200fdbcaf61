"""What inflows were before the study, by the day: the lags of a case of 0.18 start from it."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import numpy as np

from cobre.core.horizon import Horizon
from cobre.core.scenarios import InflowObservation
from cobre.io.assemble.inflow_fitting.records import records_of
from cobre.io.assemble.system import entity_indices
from cobre.io.read.files import CaseFiles, PastInflows
from cobre.stochastic.fitting.calendar import EPOCH
from cobre.stochastic.past import PastRecord
from cobre.stochastic.periods import Period, StageCalendar

__all__ = ["Gap", "lag_orders", "observations_of", "seed_past_inflows"]

ANNUAL_LAGS = 12


class Gap(NamedTuple):
    """Days of a period before the study whose inflow is not known."""

    hydro_id: int
    lag: int
    """0 is the period in which the study starts, until then."""
    start: dt.date
    end: dt.date
    """The day after the last."""
    missing_days: int
    is_read: bool


def observations_of(files: CaseFiles) -> tuple[InflowObservation, ...]:
    """Windows of days with their mean inflow, later ones winning: in 0.18 those of the history come first."""
    index = entity_indices(files)["hydro"]
    observed = [
        InflowObservation(index[each.hydro_id], each.start_date, each.end_date, float(each.value_m3s))
        for each in files.initial_conditions.recent_observations
    ]
    observed.sort(key=lambda each: (each.hydro, each.start_date))
    return (*_recent_history(files), *observed) if files.generation.is_018 else tuple(observed)


def _recent_history(files: CaseFiles) -> list[InflowObservation]:
    """Windows of the history that lags can reach: of the two years before the study."""
    if not len(files.tables["inflow_history"]) or not files.stages.stages:
        return []
    history, _ = records_of(files)
    begin = (min(stage.start_date for stage in files.stages.stages) - EPOCH).days
    near = np.flatnonzero((history.end_day > begin - 2 * 366) & (history.start_day < begin))
    return [
        InflowObservation(
            int(history.hydro[row]),
            EPOCH + dt.timedelta(days=int(history.start_day[row])),
            EPOCH + dt.timedelta(days=min(begin, int(history.end_day[row]))),
            float(history.value_m3s[row]),
        )
        for row in near.tolist()
    ]


def seed_past_inflows(files: CaseFiles, horizon: Horizon) -> list[Gap]:
    """Set ``past_inflows``: lag l is the mean of the l-th period before that of the first stage.

    Of each plant as many as its model reads, and up to the longest model those whose days are all known: tables show
    them. Returns the periods of which some day is not known; their known days count alone.
    """
    seasons, orders = horizon.season_definitions, lag_orders(files, horizon)
    if seasons is None or not orders or any(stage.season_id is None for stage in horizon.stages):
        return []
    calendar = StageCalendar.of(horizon.stages, seasons)
    level, first = calendar.levels[calendar.level[0]], calendar.period[0].number
    index = entity_indices(files)["hydro"]
    record = PastRecord.of(len(index), (), observations_of(files))
    found: dict[int, list[float]] = {hydro_id: [] for hydro_id in sorted(index)}
    gaps: list[Gap] = []
    for lag in range(max(orders.values()) + 1):
        period = Period.of(level, first - lag)
        end = period.end if lag else max(period.start, horizon.stages[0].start_date)
        mean, known = record.mean(period.start, end), record.known_days(period.start, end)
        n_days = (end - period.start).days
        for hydro_id, values in found.items():
            row = index[hydro_id]
            is_next = lag == len(values) + 1
            if is_next and (lag <= orders.get(hydro_id, 0) or known[row] == n_days):
                values.append(float(mean[row]))
        for hydro_id, order in orders.items():
            row = index[hydro_id]
            if known[row] < n_days:
                missing = n_days - int(known[row])
                gaps.append(Gap(hydro_id, lag, period.start, end, missing, is_read=0 < lag <= order))
    files.past_inflows = tuple(
        PastInflows(hydro_id, tuple(values)) for hydro_id, values in found.items() if values
    )
    return gaps


def lag_orders(files: CaseFiles, horizon: Horizon) -> dict[int, int]:
    """By hydro id, how many lags a stage of the study reads at most."""
    lags, annual = files.tables["inflow_lags"], files.tables["inflow_annual"]
    orders: dict[int, int] = {}
    for hydro_id, stage_id, lag in zip(
        lags["hydro_id"].tolist(), lags["stage_id"].tolist(), lags["lag"].tolist(), strict=True
    ):
        if stage_id in horizon.index_of:
            orders[hydro_id] = max(orders.get(hydro_id, 0), lag)
    for hydro_id, stage_id in zip(annual["hydro_id"].tolist(), annual["stage_id"].tolist(), strict=True):
        if stage_id in horizon.index_of:
            orders[hydro_id] = max(orders.get(hydro_id, 0), ANNUAL_LAGS)
    return dict(sorted(orders.items()))
