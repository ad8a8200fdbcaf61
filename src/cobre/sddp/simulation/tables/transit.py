"""Water under way between plants, and what a study that goes on must know about it."""

from __future__ import annotations

import datetime as dt

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.sddp.simulation.outcome import StageOutcome, StageView, sum_in_order
from cobre.sddp.transit import Arc

Values = dict[str, NDArray[np.generic]]
EPOCH = dt.date(1970, 1, 1)


def transit_rows(outcome: StageOutcome) -> Values:
    """Each bucket as the stage ends, and what arrived of earlier stages."""
    view = outcome.view
    layout, transit = view.problem.parameters, view.problem.carried.transit
    volumes = np.clip(outcome.values(view.problem.columns.transit.outgoing), 0.0, None)
    arrived = np.zeros_like(volumes)
    incoming = outcome.parameters[:, layout.transit]
    for first, depth in zip(transit.starts, transit.depth, strict=True):
        if depth:
            arrived[:, first] = incoming[:, first]
    return {**view.once(_plants_and_lags), "in_transit_volume_hm3": volumes, "delayed_arrival_hm3": arrived}


def _plants_and_lags(view: StageView) -> Values:
    transit, hydros = view.problem.carried.transit, view.scope.system.hydros
    ids = [hydros[ring].id for ring in transit.rings]
    lags = [np.arange(1, depth + 1, dtype=np.int32) for depth in transit.depth]
    return {
        "hydro_id": np.repeat(np.array(ids, dtype=np.int32), transit.depth),
        "lag": np.concatenate(lags) if lags else np.empty(0, dtype=np.int32),
    }


def seed_rows(outcome: StageOutcome) -> Values:
    """Releases of this stage that still arrive after the study; with the first stage, such releases before it."""
    view, n = outcome.view, len(outcome)
    found: list[tuple[int, dt.date, dt.date, Floats]] = []
    hydros, transit = view.scope.system.hydros, view.problem.carried.transit
    if view.scope.index == 0:
        for window in transit.unfinished_seeds():
            value = np.full(n, window.value)
            found.append((hydros[window.entity].id, window.start_date, window.end_date, value))
    clock = transit.clock
    left = clock.start(clock.n_stages) - clock.start(view.scope.index + 1)
    for arc in transit.arcs:
        if left < arc.hours:
            found += [(hydros[arc.source].id, *window) for window in _releases(outcome, arc)]
    dates = np.array([[(day - EPOCH).days for day in row[1:3]] for row in found], dtype=np.int32).reshape(
        -1, 2
    )
    values = [row[3] for row in found]
    return {
        "hydro_id": np.array([row[0] for row in found], dtype=np.int32),
        "start_date": dates[:, 0],
        "end_date": dates[:, 1],
        "value_m3s": np.stack(values, axis=1) if values else np.empty((n, 0)),
    }


def _releases(outcome: StageOutcome, arc: Arc) -> list[tuple[dt.date, dt.date, Floats]]:
    """Windows of whole days with the mean flow of each, so that they hold the water that was released."""
    view = outcome.view
    scope, hydro = view.scope, view.problem.columns.hydro
    cells = np.flatnonzero(scope.cell_hydro == arc.source)
    flows = outcome.values(hydro.spillage[arc.source])
    for cell in cells.tolist():
        flows = flows + outcome.values(hydro.turbined[cell])
    volumes = flows * scope.block_hm3
    start = scope.stage.start_date
    windows = []
    for blocks, days in _windows(view):
        end = start + dt.timedelta(days=days)
        windows.append((start, end, sum_in_order(volumes[:, blocks]) / (HM3_PER_M3S_HOUR * 24.0 * days)))
        start = end
    return windows


def _windows(view: StageView) -> list[tuple[slice, int]]:
    """Blocks and days: of each block where blocks are chronological and whole days, otherwise of the stage."""
    hours, days = view.scope.hours, view.scope.stage.days
    by_block = (
        view.scope.is_chronological and bool((hours % 24.0 == 0.0).all()) and hours.sum() == 24.0 * days
    )
    if not by_block:
        return [(slice(None), days)]
    return [(slice(k, k + 1), int(each / 24.0)) for k, each in enumerate(hours.tolist())]
