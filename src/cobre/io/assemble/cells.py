"""Unit groups of hydros: the limits of all units of a plant that feed one bus."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import Horizon
from cobre.core.tables import CellTables, UnitGroup
from cobre.io.assemble.system import by_date, entity_indices
from cobre.io.read.columns import ABSENT
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord, UnitGroupRecord

LIMITS = ("min_turbined_m3s", "max_turbined_m3s", "min_generation_mw", "max_generation_mw")


def group_limit(files: CaseFiles, horizon: Horizon, name: str) -> Floats:
    """``[hydro, stage-block]`` (or stage): the sum of one limit over the groups of each plant."""
    hydros = by_date(files.hydros.hydros)
    if not len(files.tables["unit_group_bounds"]):
        sums = [sum(float(getattr(group, name)) for group in hydro.unit_groups) for hydro in hydros]
        return np.repeat(np.array(sums).reshape(-1, 1), horizon.n_stages, axis=1)
    found = np.zeros((len(hydros), horizon.n_stage_blocks))
    for row, hydro in enumerate(hydros):
        for group in _ordered(hydro):
            found[row] += _by_block(files, horizon, hydro, group, name)
    return found


def build_cells(
    files: CaseFiles, horizon: Horizon, plant: Mapping[str, Floats], productivity: Floats
) -> CellTables | None:
    """Limits by plant and bus, ``plant`` being those of whole plants; None where they say nothing more than these."""
    hydros = by_date(files.hydros.hydros)
    has_rows = len(files.tables["unit_group_bounds"]) > 0
    if not files.generation.is_018 or (not has_rows and all(map(_is_plain, hydros))):
        return None
    bus = entity_indices(files)["bus"]
    most = {name: horizon.over_blocks(plant[name]) for name in ("max_turbined_m3s", "max_generation_mw")}
    per_flow = horizon.over_blocks(productivity)
    rows: dict[str, list[Floats]] = {name: [] for name in LIMITS}
    shares: list[float] = []
    for h, hydro in enumerate(hydros):
        capacity = sum(float(group.max_turbined_m3s) for group in hydro.unit_groups)
        buses = sorted({bus[group.bus_id] for group in hydro.unit_groups})
        for each in buses:
            groups = [group for group in _ordered(hydro) if bus[group.bus_id] == each]
            limits = _cell(files, horizon, hydro, groups, per_flow[h])
            top = _usable(most["max_turbined_m3s"][h], most["max_generation_mw"][h], per_flow[h])
            limits["max_turbined_m3s"] = np.minimum(limits["max_turbined_m3s"], top)
            limits["max_generation_mw"] = np.minimum(
                limits["max_generation_mw"], most["max_generation_mw"][h]
            )
            for name in LIMITS:
                rows[name].append(limits[name])
            own = sum(float(group.max_turbined_m3s) for group in groups)
            shares.append(own / capacity if capacity > 0.0 else 1.0 / len(buses))
    return CellTables(**{name: np.stack(rows[name]) for name in LIMITS}, share=np.array(shares))


def build_unit_groups(files: CaseFiles, horizon: Horizon) -> tuple[UnitGroup, ...]:
    """Every group with its own limits, hydro by hydro."""
    bus = entity_indices(files)["bus"]
    return tuple(
        UnitGroup(
            id=group.id,
            name=group.name,
            hydro=h,
            bus=bus[group.bus_id],
            **{name: _by_block(files, horizon, hydro, group, name) for name in LIMITS},
        )
        for h, hydro in enumerate(by_date(files.hydros.hydros))
        for group in _ordered(hydro)
    )


def _cell(
    files: CaseFiles,
    horizon: Horizon,
    hydro: HydroRecord,
    groups: list[UnitGroupRecord],
    productivity: Floats,
) -> dict[str, Floats]:
    """Sums over the groups of a cell, ``[stage-block]``; each group turbines what its generators can use."""
    found = {name: np.zeros(horizon.n_stage_blocks) for name in LIMITS}
    for group in groups:
        limits = {name: _by_block(files, horizon, hydro, group, name) for name in LIMITS}
        limits["max_turbined_m3s"] = _usable(
            limits["max_turbined_m3s"], limits["max_generation_mw"], productivity
        )
        for name in LIMITS:
            found[name] += limits[name]
    return found


def _usable(flow: Floats, power: Floats, productivity: Floats) -> Floats:
    """The flow, at most that of the power where the productivity is a positive number."""
    is_limited = np.nan_to_num(productivity) > 0.0
    needed = np.divide(power, productivity, out=np.full_like(flow, np.inf), where=is_limited)
    least: Floats = np.minimum(flow, needed)
    return least


def _by_block(
    files: CaseFiles, horizon: Horizon, hydro: HydroRecord, group: UnitGroupRecord, name: str
) -> Floats:
    """``[stage-block]``: a limit of a group; the row of a block wins over that of its stage."""
    table = files.tables["unit_group_bounds"]
    values = np.full(horizon.n_stage_blocks, float(getattr(group, name)))
    mine = (table["hydro_id"] == hydro.id) & (table["hydro_unit_group_id"] == group.id)
    rows = np.flatnonzero(mine & ~np.isnan(table[name])).tolist()
    for row in sorted(rows, key=lambda row: table["block_id"][row] != ABSENT):
        blocks = horizon.blocks_of(horizon.index_of[int(table["stage_id"][row])])
        block = int(table["block_id"][row])
        if block == ABSENT:
            values[blocks] = table[name][row]
        else:
            values[blocks.start + block] = table[name][row]
    return values


def _ordered(hydro: HydroRecord) -> list[UnitGroupRecord]:
    return sorted(hydro.unit_groups, key=lambda group: group.id)


def _is_plain(hydro: HydroRecord) -> bool:
    """Whether the plant has one group with its own limits."""
    first, limits = hydro.unit_groups[0], hydro.generation
    return len(hydro.unit_groups) == 1 and all(
        getattr(first, name) == getattr(limits, name) for name in LIMITS
    )
