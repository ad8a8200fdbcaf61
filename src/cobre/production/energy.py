"""Productivity of a plant from its head or its planes, with the turbines at their limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.energy import EnergyConversion
from cobre.production.function import ProductionFunction

REFERENCE_SHARE = 0.65
"""Where the reference volume lies between the lowest and the highest storage, unless it is given."""


def equivalent_productivity(plant: ProductionFunction, specific: float, reference_hm3: float) -> float:
    """MW per m3/s: specific productivity times the net head at the reference volume; 0 without head."""
    return specific * max(0.0, plant.net_head(reference_hm3, plant.max_turbined_m3s))


def integrated_productivity(
    plant: ProductionFunction, specific: float, low_hm3: float, high_hm3: float
) -> float:
    """MW per m3/s: specific productivity times the net head at the mean forebay between two volumes."""
    mean = plant.forebay.mean(low_hm3, high_hm3)
    return specific * max(0.0, plant.net_head_below(mean, plant.max_turbined_m3s))


def plane_productivity(
    planes: NDArray[np.float64], reference_hm3: float, max_turbined_m3s: float, max_generation_mw: float
) -> float:
    """MW per m3/s: most power that planes allow at the reference volume without spill, per turbined flow."""
    if max_turbined_m3s <= 0.0:
        return 0.0
    power = float((planes[:, 0] + planes[:, 1] * reference_hm3 + planes[:, 2] * max_turbined_m3s).min())
    return max(0.0, min(power, max_generation_mw)) / max_turbined_m3s


def energy_of(case: Case) -> EnergyConversion:
    """Productivities of a case; one that was not read from files takes them from its tables.

    The storage range is then that of the first stage, and a plant with planes has the productivity that they allow.
    """
    if case.energy is not None:
        return case.energy
    tables, shape = case.tables.hydro, case.tables.hydro.productivity_mw_per_m3s.shape
    low, high = tables.min_storage_hm3[:, 0], tables.max_storage_hm3[:, 0]
    reference = np.broadcast_to((low + REFERENCE_SHARE * (high - low))[:, None], shape)
    own = np.array(tables.productivity_mw_per_m3s)
    for hydro, stage in np.argwhere(np.isnan(own)).tolist():
        flow, power = (table[hydro, stage] for table in (tables.max_turbined_m3s, tables.max_generation_mw))
        planes = tables.planes_of(hydro, stage)
        own[hydro, stage] = plane_productivity(
            planes, float(reference[hydro, stage]), float(flow), float(power)
        )
    return EnergyConversion(
        reference_volume_hm3=reference,
        reference_turbined_m3s=tables.max_turbined_m3s,
        specific_productivity=np.full(shape, np.nan),
        equivalent_productivity=own,
        integrated_productivity=own,
        min_storage_hm3=low,
        max_storage_hm3=high,
        downstream=tuple(hydro.downstream for hydro in case.system.hydros),
    )
