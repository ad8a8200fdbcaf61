"""Productivity of a plant from its head or its planes, with the turbines at their limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.energy import EnergyConversion
from cobre.production.curve import Curve
from cobre.production.function import ProductionFunction

Floats = NDArray[np.float64]

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


@dataclass(frozen=True)
class PlaneProductivity:
    """MW per m3/s that planes allow with the turbines at their limit and no spill."""

    planes: Floats
    max_turbined_m3s: float
    max_generation_mw: float

    def at(self, volume_hm3: float) -> float:
        """At a volume."""
        if self.max_turbined_m3s <= 0.0:
            return 0.0
        power = float((self._constants() + self.planes[:, 1] * volume_hm3).min())
        return max(0.0, min(power, self.max_generation_mw)) / self.max_turbined_m3s

    def mean(self, low_hm3: float, high_hm3: float) -> float:
        """Mean over the volumes between two: a broken line with corners where planes cross or meet the limits."""
        if high_hm3 <= low_hm3:
            return self.at(low_hm3)
        constants = [*self._constants().tolist(), 0.0, self.max_generation_mw]
        slopes = [*self.planes[:, 1].tolist(), 0.0, 0.0]
        lines = list(zip(constants, slopes, strict=True))
        crossings = {(c - a) / (b - d) for a, b in lines for c, d in lines if b > d and math.isfinite(c - a)}
        corners = (low_hm3, *sorted(x for x in crossings if low_hm3 < x < high_hm3), high_hm3)
        return Curve(corners, tuple(self.at(corner) for corner in corners)).mean(low_hm3, high_hm3)

    def _constants(self) -> Floats:
        constants: Floats = self.planes[:, 0] + self.planes[:, 2] * self.max_turbined_m3s
        return constants


def energy_of(case: Case) -> EnergyConversion:
    """Productivities of a case; one that was not read from files takes them from its tables.

    The highest storage is then that of the first stage, and a plant with planes has the productivity that they allow.
    """
    if case.energy is not None:
        return case.energy
    tables, shape = case.tables.hydro, case.tables.hydro.productivity_mw_per_m3s.shape
    low = np.array([hydro.min_storage_hm3 for hydro in case.system.hydros])
    high = tables.max_storage_hm3[:, 0]
    reference = np.broadcast_to((low + REFERENCE_SHARE * (high - low))[:, None], shape)
    own = np.array(tables.productivity_mw_per_m3s)
    mean = own.copy()
    for hydro, stage in np.argwhere(np.isnan(own)).tolist():
        limits = (table[hydro, stage].item() for table in (tables.max_turbined_m3s, tables.max_generation_mw))
        allowed = PlaneProductivity(tables.planes_of(hydro, stage), *limits)
        own[hydro, stage] = allowed.at(float(reference[hydro, stage]))
        mean[hydro, stage] = allowed.mean(float(low[hydro]), float(high[hydro]))
    return EnergyConversion(
        reference_volume_hm3=reference,
        reference_turbined_m3s=tables.max_turbined_m3s,
        specific_productivity=np.full(shape, np.nan),
        equivalent_productivity=own,
        integrated_productivity=mean,
        min_storage_hm3=low,
        max_storage_hm3=high,
        downstream=tuple(hydro.downstream for hydro in case.system.hydros),
    )
