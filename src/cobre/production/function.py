"""The exact power of a plant."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cobre.arrays import Floats
from cobre.production.curve import Curve
from cobre.production.tailrace import PolynomialTailrace, Tailrace

MW_PER_M3S_AND_M = 0.00981
"""Power of 1 m3/s of water that falls 1 m, in MW."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Head lost in intake and conduits: a share of the gross head plus a constant."""

    factor: float = 0.0
    constant_m: float = 0.0

    def at(self, gross_head_m: float) -> float:
        """Head lost in m."""
        return self.factor * gross_head_m + self.constant_m


@dataclass(frozen=True, slots=True)
class ProductionFunction:
    """Power as a function of storage, turbined flow and spill. Immutable and hashable."""

    forebay: Curve
    """Height of the forebay in m over the volume in hm3."""
    max_turbined_m3s: float
    max_generation_mw: float
    tailrace: Tailrace = field(default_factory=PolynomialTailrace)
    losses: Losses = field(default_factory=Losses)
    efficiency: float = 1.0

    def net_head(self, volume_hm3: float, outflow_m3s: float) -> float:
        """Head at the turbine in m; negative where the tail water stands higher than the forebay."""
        return self.net_head_below(self.forebay.at(volume_hm3), outflow_m3s)

    def net_head_below(self, forebay_m: float, outflow_m3s: float) -> float:
        """Head at the turbine in m for a height of the forebay."""
        gross = forebay_m - self.tailrace.height(outflow_m3s)
        return gross - self.losses.at(gross)

    def power(self, volume_hm3: float, turbined_m3s: float, spilled_m3s: float = 0.0) -> float:
        """MW before the limit of the generators."""
        head = max(0.0, self.net_head(volume_hm3, turbined_m3s + spilled_m3s))
        return MW_PER_M3S_AND_M * self.efficiency * turbined_m3s * head

    def power_grid(self, volumes_hm3: Floats, turbined_m3s: Floats) -> Floats:
        """``[volume, flow]``: `power` without spill, to the same bits."""
        forebay = np.array([self.forebay.at(volume) for volume in volumes_hm3.tolist()])
        tailrace = np.array([self.tailrace.height(flow) for flow in turbined_m3s.tolist()])
        gross = forebay[:, None] - tailrace
        head = np.maximum(0.0, gross - (self.losses.factor * gross + self.losses.constant_m))
        grid: Floats = MW_PER_M3S_AND_M * self.efficiency * turbined_m3s * head
        return grid
