"""Limits and prices of hydros by stage and block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import Horizon
from cobre.core.production import ProductionFit
from cobre.core.tables import HydroCosts, HydroTables
from cobre.io.assemble.bounds import overlay, overlay_blocks, spread
from cobre.io.assemble.cells import build_cells, group_limit
from cobre.io.assemble.evaporation import build_evaporation
from cobre.io.assemble.filling import storage_limits
from cobre.io.assemble.production import build_production, production_of
from cobre.io.assemble.system import by_date, entity_indices
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord

BASE_LIMITS: dict[str, Callable[[HydroRecord], float]] = {
    "min_storage_hm3": lambda h: h.reservoir.min_storage_hm3,
    "max_storage_hm3": lambda h: h.reservoir.max_storage_hm3,
    "min_turbined_m3s": lambda h: h.generation.min_turbined_m3s,
    "max_turbined_m3s": lambda h: h.generation.max_turbined_m3s,
    "min_outflow_m3s": lambda h: h.outflow.min_outflow_m3s,
    "max_outflow_m3s": lambda h: math.inf if h.outflow.max_outflow_m3s is None else h.outflow.max_outflow_m3s,
    "min_generation_mw": lambda h: h.generation.min_generation_mw,
    "max_generation_mw": lambda h: h.generation.max_generation_mw,
    "max_diversion_m3s": lambda h: 0.0 if h.diversion is None else h.diversion.max_flow_m3s,
    "water_withdrawal_m3s": lambda h: 0.0,
}
"""For each limit that ``hydro_bounds`` can replace, where the plant itself has it."""
OF_STAGES = ("min_storage_hm3", "max_storage_hm3", "water_withdrawal_m3s")
"""Limits that hold for whole stages; the others may differ by block."""
RARE_LIMITS = {"min_diversion_m3s": 0.0, "min_spillage_m3s": 0.0, "max_spillage_m3s": math.inf}
"""Limits that only ``hydro_bounds`` can give, and what holds without."""


def hydro_limit(files: CaseFiles, horizon: Horizon, name: str) -> Floats:
    """One limit, ``[hydro, stage]`` or ``[hydro, stage-block]``, overrides applied."""
    hydros = by_date(files.hydros.hydros)
    base = spread([BASE_LIMITS[name](hydro) for hydro in hydros], horizon.n_stages)
    lay = overlay if name in OF_STAGES else overlay_blocks
    return lay(base, files.tables["hydro_bounds"], name, entity_indices(files)["hydro"], horizon)


def _rare_limits(files: CaseFiles, horizon: Horizon) -> dict[str, Any]:
    table, index = files.tables["hydro_bounds"], entity_indices(files)["hydro"]
    return {
        name: overlay_blocks(spread([base] * len(index), horizon.n_stages), table, name, index, horizon)
        if not np.isnan(table[name]).all()
        else None
        for name, base in RARE_LIMITS.items()
    }


def build_hydros(files: CaseFiles, horizon: Horizon, fits: Sequence[ProductionFit]) -> HydroTables:
    """Limits and models of hydros."""
    limits = {name: hydro_limit(files, horizon, name) for name in BASE_LIMITS}
    withdrawal = limits.pop("water_withdrawal_m3s")
    productivity, offsets, planes = build_production(files, horizon, fits)
    constant, slope = build_evaporation(files, horizon)
    if files.generation.is_018:
        for name in ("min_turbined_m3s", "min_generation_mw"):
            limits[name] = group_limit(files, horizon, name)
    limits["min_storage_hm3"], limits["max_storage_hm3"], target, soft = storage_limits(
        files, horizon, limits["min_storage_hm3"], limits["max_storage_hm3"]
    )
    return HydroTables(
        **limits,
        withdrawal_m3s=withdrawal,
        productivity_mw_per_m3s=productivity,
        evaporation_base_m3s=constant,
        evaporation_slope=slope,
        plane_offsets=offsets,
        planes=planes,
        **_rare_limits(files, horizon),
        filling_target_hm3=target,
        soft_min_storage_hm3=soft,
        cells=build_cells(files, horizon, limits, productivity),
    )


def build_hydro_costs(files: CaseFiles, horizon: Horizon) -> HydroCosts:
    """Prices of hydros: the system's, under the plant's, under the stage's."""

    def cost(name: str) -> Floats:
        return _cost(files, horizon, name)

    def sided(two_sided: str, one_sided: str) -> Floats:
        return _cost(files, horizon, two_sided, one_sided)

    return HydroCosts(
        spillage=cost("spillage_cost"),
        turbined=_turbined_cost(files, horizon),
        diversion=cost("diversion_cost"),
        turbined_below=cost("turbined_violation_below_cost"),
        outflow_below=cost("outflow_violation_below_cost"),
        outflow_above=cost("outflow_violation_above_cost"),
        generation_below=cost("generation_violation_below_cost"),
        evaporation_above=sided("evaporation_violation_cost", "evaporation_violation_pos_cost"),
        evaporation_below=sided("evaporation_violation_cost", "evaporation_violation_neg_cost"),
        withdrawal_above=sided("water_withdrawal_violation_cost", "water_withdrawal_violation_pos_cost"),
        withdrawal_below=sided("water_withdrawal_violation_cost", "water_withdrawal_violation_neg_cost"),
        negative_inflow=cost("inflow_nonnegativity_cost"),
        storage_below=cost("storage_violation_below_cost"),
        filling_target=cost("filling_target_violation_cost"),
    )


def _turbined_cost(files: CaseFiles, horizon: Horizon) -> Floats:
    """In 0.5.1 only plants with planes pay for turbined water."""
    cost = _cost(files, horizon, "turbined_cost")
    if not files.generation.is_018:
        for row, hydro in enumerate(by_date(files.hydros.hydros)):
            for index, stage in enumerate(horizon.stages):
                if not production_of(hydro, stage, files).has_planes:
                    cost[row, index] = 0.0
    return cost


def _cost(files: CaseFiles, horizon: Horizon, *names: str) -> Floats:
    """Names from general to special: on one level the special wins, a closer level wins over both."""
    index, table = entity_indices(files)["hydro"], files.tables["hydro_penalties"]
    hydros = by_date(files.hydros.hydros)
    values = spread([0.0] * len(hydros), horizon.n_stages)
    for name in names:
        common = getattr(files.penalties.hydro, name)
        if common is not None:
            values[:] = common
    for name in names:
        for row, hydro in enumerate(hydros):
            own = _own_cost(hydro, name)
            if own is not None:
                values[row] = own
    for name in names:
        values = overlay(values, table, name, index, horizon)
    return np.ascontiguousarray(values)


def _own_cost(hydro: HydroRecord, name: str) -> float | None:
    return None if hydro.penalties is None else getattr(hydro.penalties, name)
