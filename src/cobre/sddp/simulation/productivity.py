"""Power per unit of water, of one plant and of all plants that use the same water."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.subproblem.scope import StageScope

Floats = NDArray[np.float64]

REFERENCE_SHARE = 0.65
"""Where in its storage range a reservoir is taken to stand."""


@dataclass(frozen=True)
class Productivities:
    """``[hydro]`` in MW per m3/s, of one stage."""

    equivalent: Floats
    accumulated: Floats
    """Of the plant and of all below it on the river."""
    integrated_equivalent: Floats
    """Averaged over the storage range."""
    integrated_accumulated: Floats


def stage_productivities(scope: StageScope) -> Productivities:
    """Of a plant with constant productivity, that one; with planes, at full turbined flow without spillage."""
    tables = scope.tables.hydro
    equivalent = scope.at(tables.productivity_mw_per_m3s).copy()
    integrated = equivalent.copy()
    low, high = scope.at(tables.min_storage_hm3), scope.at(tables.max_storage_hm3)
    flow = scope.at(tables.max_turbined_m3s)
    for h in np.flatnonzero(np.isnan(equivalent)).tolist():
        planes = tables.planes_of(h, scope.index)
        reference = low[h] + REFERENCE_SHARE * (high[h] - low[h])
        equivalent[h] = _power(planes, reference, flow[h]) / flow[h] if flow[h] > 0.0 else 0.0
        integrated[h] = _mean_power(planes, low[h], high[h], flow[h]) / flow[h] if flow[h] > 0.0 else 0.0
    return Productivities(
        equivalent, _accumulate(scope, equivalent), integrated, _accumulate(scope, integrated)
    )


def _power(planes: Floats, storage: float, flow: float) -> float:
    """Least of the planes, never below 0."""
    return max(0.0, float(np.min(planes[:, 0] + planes[:, 1] * storage + planes[:, 2] * flow)))


def _mean_power(planes: Floats, low: float, high: float, flow: float) -> float:
    """Mean over storages from ``low`` to ``high``; the power is a concave broken line between the planes' crossings."""
    if high <= low:
        return _power(planes, low, flow)
    constant, slope = planes[:, 0] + planes[:, 2] * flow, planes[:, 1]
    rise = slope[:, np.newaxis] - slope
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (constant - constant[:, np.newaxis]) / rise
    inside = np.unique(crossings[(rise != 0.0) & (crossings > low) & (crossings < high)])
    corners = [low, *inside.tolist(), high]
    heights = [_power(planes, corner, flow) for corner in corners]
    area = 0.0
    for left, right, a, b in zip(corners, corners[1:], heights, heights[1:], strict=False):
        area += (right - left) * (a + b) / 2.0
    return area / (high - low)


def _accumulate(scope: StageScope, own: Floats) -> Floats:
    """Added down the river, from each plant to the sea."""
    total = np.empty_like(own)
    for h in range(len(own)):
        total[h] = 0.0
        plant: int | None = h
        while plant is not None:
            total[h] += own[plant]
            plant = scope.system.hydros[plant].downstream
    return total
