"""Planes that replace the exact power of a plant in a linear program.

The power on a grid of volumes and turbined flows, without spill and at most the maximum generation, is covered by its
upper hull. One factor then scales the planes of the hull so that their minimum has the least squared error on the grid.
Spill enters by one slope per plane. `docs/explanation/production.md` has the formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cobre.arrays import Floats
from cobre.core.production import PlaneFit
from cobre.core.sums import sum_in_order
from cobre.errors import UnusableInput
from cobre.production.function import ProductionFunction
from cobre.production.hull import upper_hull
from cobre.production.reduction import Reduction, SampleBox, merge_planes

ROUND_OFF = 1e-12
"""Share of the largest power below which what a coefficient contributes is rounding."""
FLAT_SLOPE = 1e-6
"""MW per hm3 below which a run-of-river plant's power does not depend on the volume."""
BINDING = 1e-8
"""MW within which a plane is the lowest of all at a point of the grid."""
N_SPILLS = 9
N_FINE = 21
"""Points in each direction of the grid that shows errors between the points of the fit."""
NO_SLOPE = 1e-10


@dataclass(frozen=True, slots=True)
class FitSettings:
    """The grid of a fit and what is done with its planes."""

    low_volume_hm3: float
    high_volume_hm3: float
    n_volumes: int = 5
    n_flows: int = 5
    is_run_of_river: bool = False
    """The volumes are two points close to the only one that counts."""
    max_spill_m3s: float | None = None
    """Spills from 0 to this one give the slope of spill; None: twice the turbine's limit."""
    is_scaled: bool = True
    """Whether the least-squares factor is applied; without it no plane is below the exact power on the grid."""
    reduction: Reduction | None = None


class UnfittableProduction(UnusableInput):
    """The plant's data give no planes that can be used."""


@lru_cache(maxsize=4096)
def fit_planes(plant: ProductionFunction, settings: FitSettings) -> PlaneFit:
    """Planes of ``plant``. The arrays are read-only: equal arguments get the same object."""
    volumes = np.linspace(settings.low_volume_hm3, settings.high_volume_hm3, settings.n_volumes)
    flows = np.linspace(0.0, plant.max_turbined_m3s, settings.n_flows)
    power = plant.power_grid(volumes, flows)
    exact = np.minimum(power, plant.max_generation_mw)
    if not exact.max() > 0.0:
        head = plant.net_head(settings.high_volume_hm3, 0.0)
        raise UnfittableProduction(
            f"the tail water stands above the forebay: the net head is {head:g} m at {settings.high_volume_hm3:g} hm3",
            head,
            "correct the heights of the geometry or of the tailrace: both count from the same level",
        )
    hull, factor = hull_with_spill(plant, settings, (volumes, flows, power))
    planes = hull[(hull[:, 1] != 0.0) | (hull[:, 2] != 0.0)]  # the limit of the generators is a bound already
    if settings.reduction is not None:
        box = SampleBox(volumes[0], volumes[-1], flows[0], flows[-1], float(power.max()))
        planes = merge_planes(planes, settings.reduction, box)
    _check_signs(planes)
    fitted = np.minimum(lowest(planes, volumes, flows), plant.max_generation_mw)
    for array in (planes, volumes, flows, exact, fitted):
        array.flags.writeable = False
    errors = _fine_errors(planes, plant, settings)
    return PlaneFit(
        planes, factor, volumes, flows, exact, fitted, sum_in_order(errors) / len(errors), max(errors)
    )


def hull_with_spill(
    plant: ProductionFunction, settings: FitSettings, grid: tuple[Floats, Floats, Floats]
) -> tuple[Floats, float]:
    """All planes of the upper hull, scaled, with their slopes over the spill; and the factor.

    Where the generators limit the power, their limit is one of them, a level plane. ``grid``: volumes, flows and power.
    """
    volumes, flows, power = grid
    exact = np.minimum(power, plant.max_generation_mw)
    hull = _hull_planes(volumes, flows, exact, settings.is_run_of_river)
    factor = _least_squares_factor(lowest(hull, volumes, flows), exact) if settings.is_scaled else 1.0
    hull[:, :3] *= factor
    hull[:, 3] = _spill_slopes(hull, plant, settings, grid)
    return hull, factor


def _fine_errors(planes: Floats, plant: ProductionFunction, settings: FitSettings) -> list[float]:
    """Absolute errors on the finer grid."""
    volumes = np.linspace(settings.low_volume_hm3, settings.high_volume_hm3, N_FINE)
    flows = np.linspace(0.0, plant.max_turbined_m3s, N_FINE)
    most = plant.max_generation_mw
    exact = np.minimum(plant.power_grid(volumes, flows), most)
    errors: list[float] = np.abs(np.minimum(lowest(planes, volumes, flows), most) - exact).ravel().tolist()
    return errors


def lowest(planes: Floats, volumes: Floats, flows: Floats) -> Floats:
    """``[volume, flow]``: minimum over the planes, without spill."""
    values = (
        planes[:, 0, None, None]
        + planes[:, 1, None, None] * volumes[:, None]
        + planes[:, 2, None, None] * flows
    )
    found: Floats = values.min(axis=0)
    return found


def _hull_planes(volumes: Floats, flows: Floats, exact: Floats, is_run_of_river: bool) -> Floats:
    """Rows (constant, per hm3, per m3/s, 0) in order of their unit normals, steep in the volume first."""
    volume_step, flow_step = float(volumes[1] - volumes[0]), float(flows[1] - flows[0])
    low, peak = float(volumes[0]), float(exact.max())
    rows = []
    for constant, by_volume, by_flow in upper_hull(exact):
        per_volume, per_flow = by_volume / volume_step, by_flow / flow_step
        if abs(by_volume) * (len(volumes) - 1) <= ROUND_OFF * peak:
            per_volume = 0.0
        if is_run_of_river and abs(per_volume) <= FLAT_SLOPE:
            per_volume = 0.0
        if abs(by_flow) * (len(flows) - 1) <= ROUND_OFF * peak:
            per_flow = 0.0
        at_zero = constant - per_volume * low
        if abs(at_zero) <= ROUND_OFF * (peak + abs(per_volume * low)):
            at_zero = 0.0
        rows.append((at_zero, per_volume, per_flow, 0.0))
    return np.array(sorted(rows, key=_unit_normal))


def _unit_normal(row: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    constant, per_volume, per_flow, _ = row
    length = math.sqrt(per_volume * per_volume + per_flow * per_flow + 1.0)
    return (-per_volume / length, -per_flow / length, 1.0 / length, -constant / length)


def _least_squares_factor(hull: Floats, exact: Floats) -> float:
    squares = sum_in_order((hull * hull).ravel().tolist())
    return sum_in_order((hull * exact).ravel().tolist()) / squares if squares > 0.0 else 1.0


def _spill_slopes(
    planes: Floats, plant: ProductionFunction, settings: FitSettings, grid: tuple[Floats, Floats, Floats]
) -> list[float]:
    """Per plane: slope of the power over the spill, at the point of most power among those that it bounds."""
    volumes, flows, power = grid
    most = 2.0 * plant.max_turbined_m3s if settings.max_spill_m3s is None else settings.max_spill_m3s
    bound = lowest(planes, volumes, flows)
    slopes = []
    for k in range(len(planes)):
        is_binding = lowest(planes[k : k + 1], volumes, flows) - bound <= BINDING
        if not is_binding.any() or most <= 0.0:
            slopes.append(0.0)
            continue
        row, column = np.unravel_index(np.argmax(np.where(is_binding, power, -np.inf)), power.shape)
        slopes.append(_spill_slope(plant, float(volumes[row]), float(flows[column]), most))
    return slopes


def _spill_slope(plant: ProductionFunction, volume: float, flow: float, most: float) -> float:
    spills = [k * most / (N_SPILLS - 1) for k in range(N_SPILLS)]
    powers = [plant.power(volume, flow, spill) for spill in spills]
    middle, mean = sum_in_order(spills) / N_SPILLS, sum_in_order(powers) / N_SPILLS
    moved = [spill - middle for spill in spills]
    slope = sum_in_order(x * (y - mean) for x, y in zip(moved, powers, strict=True)) / sum_in_order(
        x * x for x in moved
    )
    return 0.0 if slope > -NO_SLOPE else slope


def _check_signs(planes: Floats) -> None:
    steepest = float(planes[:, 2].min())
    if steepest < 0.0:
        raise UnfittableProduction(
            f"more turbined water gives less power: a fitted plane falls by {-steepest:g} MW per m3/s",
            steepest,
            "correct the tailrace, or lower max_turbined_m3s to the flow of most power",
        )
