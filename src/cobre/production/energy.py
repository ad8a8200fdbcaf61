"""Productivity of a plant from its head or its planes, with the turbines at their limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case
from cobre.core.distinct import distinct
from cobre.core.energy import EnergyConversion
from cobre.core.sums import sum_in_order

if TYPE_CHECKING:
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


@dataclass(frozen=True)
class PlaneProductivity:
    """MW per m3/s that planes allow with the turbines at their limit and no spill."""

    planes: Floats
    max_turbined_m3s: float
    max_generation_mw: float

    def mean(self, low_hm3: float, high_hm3: float) -> float:
        """Mean over the volumes between two."""
        if high_hm3 <= low_hm3 or self.max_turbined_m3s <= 0.0:
            return self.at(low_hm3)
        corners = np.concatenate(([low_hm3], self._corners(low_hm3, high_hm3), [high_hm3]))
        power = self._power(corners)
        areas = 0.5 * (power[:-1] + power[1:]) * np.diff(corners)
        return sum_in_order(areas.tolist()) / (high_hm3 - low_hm3) / self.max_turbined_m3s

    def at(self, volume_hm3: float) -> float:
        """At a volume."""
        if self.max_turbined_m3s <= 0.0:
            return 0.0
        return float(self._power(np.array([volume_hm3]))[0]) / self.max_turbined_m3s

    def _corners(self, low_hm3: float, high_hm3: float) -> Floats:
        """Volumes inside the range where planes cross each other or a limit: the power is linear between them."""
        constants = np.append(self._constants(), (0.0, self.max_generation_mw))
        slopes = np.append(self.planes[:, 1], (0.0, 0.0))
        rise = slopes[:, None] - slopes
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = (constants - constants[:, None]) / rise
        inside = crossings[(rise > 0.0) & (crossings > low_hm3) & (crossings < high_hm3)]
        return np.array(distinct(inside), dtype=np.float64)

    def _power(self, volumes_hm3: Floats) -> Floats:
        power = (self._constants()[:, None] + self.planes[:, 1, None] * volumes_hm3).min(axis=0)
        within: Floats = np.clip(power, 0.0, self.max_generation_mw)
        return within

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
        limits = (
            _of_stage(case, table)[hydro, stage].item()
            for table in (tables.max_turbined_m3s, tables.max_generation_mw)
        )
        allowed = PlaneProductivity(tables.planes_of(hydro, stage), *limits)
        own[hydro, stage] = allowed.at(float(reference[hydro, stage]))
        mean[hydro, stage] = allowed.mean(float(low[hydro]), float(high[hydro]))
    return EnergyConversion(
        reference_volume_hm3=reference,
        reference_turbined_m3s=_of_stage(case, tables.max_turbined_m3s),
        specific_productivity=np.full(shape, np.nan),
        equivalent_productivity=own,
        integrated_productivity=mean,
        min_storage_hm3=low,
        max_storage_hm3=high,
        downstream=tuple(hydro.downstream for hydro in case.system.hydros),
    )


def _of_stage(case: Case, table: Floats) -> Floats:
    """``[entity, stage]``: the highest value of the stage's blocks."""
    if table.shape[1] == case.horizon.n_stages:
        return table
    found: Floats = np.maximum.reduceat(table, case.horizon.block_offsets[:-1], axis=1)
    return found
