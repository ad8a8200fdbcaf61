"""What inflows were before the study, by the day: the lags of a case of 0.18 start from it."""

from __future__ import annotations

import datetime as dt

import numpy as np

from cobre.core.horizon import Horizon
from cobre.core.scenarios import InflowObservation
from cobre.io.assemble.inflow_fitting.records import records_of
from cobre.io.assemble.system import entity_indices
from cobre.io.read.files import CaseFiles, PastInflows
from cobre.stochastic.fitting.calendar import EPOCH
from cobre.stochastic.past import PastRecord
from cobre.stochastic.periods import Period, StageCalendar

__all__ = ["Gap", "observations_of", "seed_past_inflows"]

ANNUAL_LAGS = 12
Gap = tuple[int, int, dt.date, dt.date, int]
"""Hydro id, lag, first day, day after the last, and how many days in between are not known."""


def observations_of(files: CaseFiles) -> tuple[InflowObservation, ...]:
    """Windows of days with their mean inflow, later ones winning: in 0.18 those of the history come first."""
    index = entity_indices(files)["hydro"]
    observed = [
        InflowObservation(index[each.hydro_id], each.start_date, each.end_date, float(each.value_m3s))
        for each in files.initial_conditions.recent_observations
    ]
    observed.sort(key=lambda each: (each.hydro, each.start_date))
    return (*_recent_history(files), *observed) if files.generation.is_today else tuple(observed)


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

    Returns the periods that a lag reads and of which some day is not known; their known days count alone.
    """
    seasons, orders = horizon.season_definitions, _orders(files, horizon)
    if seasons is None or not orders or any(stage.season_id is None for stage in horizon.stages):
        return []
    calendar = StageCalendar.of(horizon.stages, seasons)
    level, first = calendar.levels[calendar.level[0]], calendar.period[0].number
    index = entity_indices(files)["hydro"]
    record = PastRecord.of(len(index), (), observations_of(files))
    found: dict[int, list[float]] = {hydro_id: [] for hydro_id in orders}
    gaps: list[Gap] = []
    for lag in range(1, max(orders.values()) + 1):
        period = Period.of(level, first - lag)
        mean, known = record.mean(period.start, period.end), record.known_days(period.start, period.end)
        n_days = (period.end - period.start).days
        for hydro_id, order in orders.items():
            if lag > order:
                continue
            row = index[hydro_id]
            found[hydro_id].append(float(mean[row]))
            if known[row] < n_days:
                gaps.append((hydro_id, lag, period.start, period.end, n_days - int(known[row])))
    files.past_inflows = tuple(PastInflows(hydro_id, tuple(values)) for hydro_id, values in found.items())
    return gaps


def _orders(files: CaseFiles, horizon: Horizon) -> dict[int, int]:
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
