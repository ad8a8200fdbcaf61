"""Limits and prices of hydros by stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cobre.core.horizon import Horizon
from cobre.core.production import ProductionFit
from cobre.core.tables import HydroCosts, HydroTables
from cobre.io.assemble.bounds import Floats, overlay, spread
from cobre.io.assemble.evaporation import build_evaporation
from cobre.io.assemble.production import build_production
from cobre.io.assemble.system import by_id, entity_indices
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


def hydro_limit(files: CaseFiles, horizon: Horizon, name: str) -> Floats:
    """One limit, ``[hydro, stage]``, overrides applied."""
    hydros = by_id(files.hydros.hydros)
    base = spread([BASE_LIMITS[name](hydro) for hydro in hydros], horizon.n_stages)
    return overlay(base, files.tables["hydro_bounds"], name, entity_indices(files)["hydro"], horizon)


def build_hydros(files: CaseFiles, horizon: Horizon, fits: Sequence[ProductionFit]) -> HydroTables:
    """Limits and models of hydros."""
    limits = {name: hydro_limit(files, horizon, name) for name in BASE_LIMITS}
    withdrawal = limits.pop("water_withdrawal_m3s")
    productivity, offsets, planes = build_production(files, horizon, fits)
    constant, slope = build_evaporation(files, horizon)
    return HydroTables(
        **limits,
        withdrawal_m3s=withdrawal,
        productivity_mw_per_m3s=productivity,
        evaporation_base_m3s=constant,
        evaporation_slope=slope,
        plane_offsets=offsets,
        planes=planes,
    )


def build_hydro_costs(files: CaseFiles, horizon: Horizon) -> HydroCosts:
    """Prices of hydros: the system's, under the plant's, under the stage's."""

    def cost(name: str) -> Floats:
        return _cost(files, horizon, name)

    def sided(two_sided: str, one_sided: str) -> Floats:
        return _cost(files, horizon, two_sided, one_sided)

    return HydroCosts(
        spillage=cost("spillage_cost"),
        fpha_turbined=cost("fpha_turbined_cost"),
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
    )


def _cost(files: CaseFiles, horizon: Horizon, *names: str) -> Floats:
    """Names from general to special: on one level the special wins, a closer level wins over both."""
    index, table = entity_indices(files)["hydro"], files.tables["hydro_penalties"]
    hydros = by_id(files.hydros.hydros)
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
