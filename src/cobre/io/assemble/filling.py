"""Hydros that are not there all the time: which phase they are in, and how high they should stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.horizon import HM3_PER_M3S_HOUR, Horizon
from cobre.io.assemble.system import by_date, entity_indices
from cobre.io.read.columns import ABSENT
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord

BEFORE, FILLING, OPERATING, AFTER = 0, 1, 2, 3
"""Codes of `cobre.core.tables.OperationTables`."""


def hydro_states(files: CaseFiles, horizon: Horizon) -> NDArray[np.int8]:
    """``[hydro, stage]``: the phase of every plant."""
    hydros = by_date(files.hydros.hydros)
    codes = [[phase(hydro, stage.id) for stage in horizon.stages] for hydro in hydros]
    return np.array(codes, dtype=np.int8).reshape(len(hydros), horizon.n_stages)


def phase(hydro: HydroRecord, stage_id: int) -> int:
    """The phase of a plant in a stage; it is filled from the start of filling until it enters."""
    if hydro.exit_stage_id is not None and stage_id >= hydro.exit_stage_id:
        return AFTER
    if hydro.entry_stage_id is None or stage_id >= hydro.entry_stage_id:
        return OPERATING
    is_filling = hydro.filling is not None and stage_id >= hydro.filling.start_stage_id
    return FILLING if is_filling else BEFORE


def storage_limits(
    files: CaseFiles, horizon: Horizon, low: Floats, high: Floats
) -> tuple[Floats, Floats, Floats | None, Floats | None]:
    """Hard limits of the storage by phase, the targets of filling, and lowest storages that are soft.

    A plant that is not there keeps its water whatever the limits are. One that was filled in the study has a soft
    lowest storage, since it may not have got there.
    """
    hydros, states = by_date(files.hydros.hydros), hydro_states(files, horizon)
    is_there = (states == FILLING) | (states == OPERATING)
    target, soft = np.full(low.shape, np.nan), np.full(low.shape, np.nan)
    for row, hydro in enumerate(hydros):
        if hydro.filling is not None:
            is_filling, operates = states[row] == FILLING, states[row] == OPERATING
            target[row, is_filling] = _targets(files, horizon, hydro)[is_filling]
            soft[row, operates] = low[row, operates]
    hard = np.where(is_there & (states == OPERATING) & np.isnan(soft), low, 0.0)
    if (states == OPERATING).all() and np.isnan(soft).all():
        return low, high, None, None
    return (
        hard,
        np.where(is_there, high, np.inf),
        None if np.isnan(target).all() else target,
        None if np.isnan(soft).all() else soft,
    )


def _targets(files: CaseFiles, horizon: Horizon, hydro: HydroRecord) -> Floats:
    """``[stage]``: the dead volume at the end of filling; before, less by what the least rate will still bring."""
    rates, goal = filling_rates(files, horizon, hydro), float(hydro.reservoir.min_storage_hm3)
    targets = np.full(horizon.n_stages, np.nan)
    raw = goal
    for index in reversed(range(horizon.n_stages)):
        stage = horizon.stages[index]
        if phase(hydro, stage.id) != FILLING:
            continue
        targets[index] = min(raw, goal)
        raw -= HM3_PER_M3S_HOUR * stage.hours * rates[index]
    return targets


def filling_rates(files: CaseFiles, horizon: Horizon, hydro: HydroRecord) -> Floats:
    """``[stage]``: least rate of filling in m3/s, overrides applied."""
    base = 0.0 if hydro.filling is None else float(hydro.filling.filling_min_rate_m3s)
    rates, table = np.full(horizon.n_stages, base), files.tables["hydro_bounds"]
    mine = (table["hydro_id"] == hydro.id) & (table["block_id"] == ABSENT)
    for row in np.flatnonzero(mine & ~np.isnan(table["filling_min_rate_m3s"])).tolist():
        rates[horizon.index_of[int(table["stage_id"][row])]] = table["filling_min_rate_m3s"][row]
    return rates


def initial_storage(files: CaseFiles) -> Floats:
    """``[hydro]``: stored water at the start, 0 where the case is silent."""
    index = entity_indices(files)["hydro"]
    storage = np.zeros(len(index))
    initial = files.initial_conditions
    for entry in (*initial.filling_storage, *initial.storage):
        storage[index[entry.hydro_id]] = entry.value_hm3
    return storage
