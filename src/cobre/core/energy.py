"""What the water of hydros is worth in power, all the way down the river."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobre.arrays import Floats

MWH_PER_HM3 = 1e6 / 3600.0
"""MWh of 1 hm3 of water at a productivity of 1 MW per m3/s."""


@dataclass(frozen=True, eq=False)
class EnergyConversion:
    """Productivities of hydros, ``[hydro, stage]`` unless another shape is given."""

    reference_volume_hm3: Floats
    """Storage at which the equivalent productivity is taken."""
    reference_turbined_m3s: Floats
    specific_productivity: Floats
    """MW per m3/s and m of head; NaN where it is not known."""
    equivalent_productivity: Floats
    """MW per m3/s of the plant alone, at its reference volume."""
    integrated_productivity: Floats
    """MW per m3/s of the plant alone, mean over its storage from the lowest to the highest."""
    min_storage_hm3: Floats
    """``[hydro]``: of the plant, whatever a stage allows."""
    max_storage_hm3: Floats
    """``[hydro]``."""
    downstream: tuple[int | None, ...]
    """``[hydro]``: index of the plant below."""

    @cached_property
    def accumulated_productivity(self) -> Floats:
        """Equivalent productivity of the plant and of all plants below it."""
        return accumulate(self.equivalent_productivity, self.downstream)

    @cached_property
    def integrated_accumulated_productivity(self) -> Floats:
        """Integrated productivity of the plant and of all plants below it."""
        return accumulate(self.integrated_productivity, self.downstream)

    @property
    def max_stored_energy(self) -> Floats:
        """Storage range times integrated accumulated productivity, in hm3 MW per m3/s (times `MWH_PER_HM3`: MWh)."""
        span = self.max_storage_hm3 - self.min_storage_hm3
        return span[:, None] * self.integrated_accumulated_productivity

    def stored_energy_mwh(self, storage_hm3: Floats, stage: int) -> Floats:
        """Energy of storages ``[..., hydro]`` above the lowest, in one stage, through the plant and all below it."""
        above: Floats = storage_hm3 - self.min_storage_hm3
        return above * (self.integrated_accumulated_productivity[:, stage] * MWH_PER_HM3)


def accumulate(own: Floats, downstream: Sequence[int | None]) -> Floats:
    """``own`` of each hydro plus that of every hydro below it, added from the lowest plant up."""
    total = np.array(own, np.float64)
    for hydro in range(len(total)):
        river, below = [hydro], downstream[hydro]
        while below is not None:
            river.append(below)
            below = downstream[below]
        total[hydro] = own[river[-1]]
        for plant in reversed(river[:-1]):
            total[hydro] = own[plant] + total[hydro]
    return total
