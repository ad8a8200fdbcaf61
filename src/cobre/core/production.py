"""Results of fitting production planes to a hydro plant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.core.sums import sum_in_order

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PlaneFit:
    """Planes fitted to the power of one plant, and their errors on the grid of the fit (no spill)."""

    planes: FloatArray
    """Rows ``(constant, per hm3, per m3/s turbined, per m3/s spilled)`` in MW; the power is below each."""
    factor: float
    """Least-squares factor that the planes of the upper hull were multiplied by."""
    volumes_hm3: FloatArray
    """``[volume]``: first axis of the grid."""
    flows_m3s: FloatArray
    """``[flow]``: turbined flow, second axis of the grid."""
    exact_mw: FloatArray
    """``[volume, flow]``: power of the production function, at most the maximum generation."""
    fitted_mw: FloatArray
    """``[volume, flow]``: most power that the planes and the maximum generation allow."""

    @property
    def deviation_mw(self) -> FloatArray:
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
        """Mean absolute deviation as a share of the peak; 0 where there is no power."""
        return self.mean_deviation_mw / self.peak_mw if self.peak_mw > 0.0 else 0.0


@dataclass(frozen=True)
class ProductionFit:
    """A fit and where it applies."""

    hydro: int
    """Index of the hydro."""
    stages: tuple[int, ...]
    """Indices of the stages that use its planes."""
    fit: PlaneFit
