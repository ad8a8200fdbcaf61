"""What was fitted to the data of hydro plants: production planes, and the point where evaporation is linearised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.sums import sum_in_order


@dataclass(frozen=True)
class PlaneFit:
    """Planes fitted to the power of one plant, and their errors without spill, on the grid of the fit."""

    planes: Floats
    """Rows ``(constant, per hm3, per m3/s turbined, per m3/s spilled)`` in MW; the power is below each."""
    factor: float
    """Least-squares factor that the planes of the upper hull were multiplied by."""
    volumes_hm3: Floats
    """``[volume]``: first axis of the grid."""
    flows_m3s: Floats
    """``[flow]``: turbined flow, second axis of the grid."""
    exact_mw: Floats
    """``[volume, flow]``: power of the production function, at most the maximum generation."""
    fitted_mw: Floats
    """``[volume, flow]``: most power that the planes and the maximum generation allow."""
    fine_mean_mw: float
    """Mean absolute deviation on a finer grid, which shows errors between the points of the fit."""
    fine_max_mw: float
    """Largest absolute deviation on the finer grid."""

    @property
    def deviation_mw(self) -> Floats:
        """``[volume, flow]``: fitted minus exact power."""
        return self.fitted_mw - self.exact_mw

    @property
    def peak_mw(self) -> float:
        """Largest exact power on the grid."""
        return float(self.exact_mw.max())

    @property
    def mean_deviation_mw(self) -> float:
        """Mean of the absolute deviations, added in grid order."""
        return sum_in_order(np.abs(self.deviation_mw).ravel().tolist()) / self.exact_mw.size

    @property
    def max_deviation_mw(self) -> float:
        """Largest absolute deviation."""
        return float(np.abs(self.deviation_mw).max())

    @property
    def relative_deviation(self) -> float:
        """Mean absolute deviation as a share of the peak."""
        return self.mean_deviation_mw / self.peak_mw

    @property
    def relative_error(self) -> float:
        """Mean absolute deviation as a share of the peak, of the two grids the one with more."""
        return max(self.mean_deviation_mw, self.fine_mean_mw) / self.peak_mw


@dataclass(frozen=True)
class ProductionFit:
    """A fit and where it applies."""

    hydro: int
    """Index of the hydro."""
    stages: tuple[int, ...]
    """Indices of the stages that use its planes."""
    fit: PlaneFit


@dataclass(frozen=True)
class EvaporationReference:
    """Where the evaporation of a hydro was linearised; ``tables.hydro`` holds the coefficients."""

    hydro: int
    """Index of the hydro."""
    volumes_hm3: tuple[float, ...]
    """``[stage]``: reference volume."""
    is_given: bool
    """Whether the case gives these volumes; otherwise they are the middle of the storage range."""
