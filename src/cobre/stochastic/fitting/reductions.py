"""Orders that are lowered because their coefficients make no hydrological sense.

1. A coefficient larger than the planner allows: order 0 (``magnitude_bound``).
2. A negative first coefficient: order 0 (``phi1_negative``).
3. A negative *contribution* (``negative_contribution``). The contribution i of a season is what one more m³/s, i
   occurrences ago, adds to its inflow through all paths over the seasons between. Wet months are not followed by
   drier ones, so none should be negative. The largest order a season may have is lowered by one and the order chosen
   again, for all seasons with a negative contribution at once, until there is none.

`coefficients.settle` adds ``not_stationary``, for orders of short histories that made no model that settles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.stochastic.fitting.equations import Solutions

__all__ = ["Reduction", "contributions", "reduce_orders"]


@dataclass(frozen=True, slots=True)
class Reduction:
    """One order that was lowered. ``season`` is the position in the cycle."""

    hydro: int
    season: int
    original_order: int
    reduced_order: int
    contributions: tuple[float, ...]
    reason: str


def reduce_orders(
    solutions: Solutions, selected: Ints, std: Floats, max_magnitude: float | None
) -> tuple[Ints, list[Reduction]]:
    """Final orders (hydros, seasons), and what was lowered in the order in which it happened.

    ``selected`` (hydros, seasons, P + 1) is the order chosen under each ceiling, ``std`` (hydros, seasons).
    """
    n_lags = selected.shape[-1] - 1
    orders = selected[:, :, n_lags].copy()
    events: list[Reduction] = []
    phi = coefficients_of(solutions, orders)
    if max_magnitude is not None:
        is_large = np.asarray((np.abs(phi) > max_magnitude).any(axis=2))
        _clear(orders, is_large, phi, std, "magnitude_bound", events)
        phi = coefficients_of(solutions, orders)
    if n_lags:
        _clear(orders, phi[:, :, 0] < 0.0, phi, std, "phi1_negative", events)
    ceilings = np.full(orders.shape, n_lags)
    while True:
        phi = coefficients_of(solutions, orders)
        values = contributions(phi, orders, std)
        failing = np.argwhere((values < 0.0).any(axis=2))
        if not len(failing):
            return orders, events
        for h, s in failing.tolist():
            events.append(_event(h, s, orders, values, _leading(values[h, s]), "negative_contribution"))
            ceilings[h, s] -= 1
            order = int(selected[h, s, ceilings[h, s]])
            orders[h, s] = 0 if order and solutions.phi[h, s, order, 0] < 0.0 else order


def coefficients_of(solutions: Solutions, orders: Ints) -> Floats:
    """φ (hydros, seasons, P) of these orders, 0 beyond them."""
    return np.take_along_axis(solutions.phi, orders[:, :, np.newaxis, np.newaxis], axis=2)[:, :, 0]


def contributions(phi: Floats, orders: Ints, std: Floats) -> Floats:
    """Contributions 1..P (hydros, seasons, P), 0 beyond the order of a season."""
    n_seasons, n_lags = phi.shape[1], phi.shape[2]
    effect = _in_units(phi, std)
    season = np.arange(n_seasons)
    row = np.concatenate([effect, np.zeros_like(effect[:, :, :1])], axis=2)
    values = np.zeros_like(phi)
    for i in range(n_lags):
        values[:, :, i] = np.where(orders > i, row[:, :, 0], 0.0)
        before = effect[:, (season - i - 1) % n_seasons]
        row[:, :, :n_lags] = row[:, :, :1] * before + row[:, :, 1:]
        row[:, :, n_lags] = 0.0
    return values


def _in_units(phi: Floats, std: Floats) -> Floats:
    """φ s / s of the lagged season: m³/s per m³/s; 0 where the lagged season does not vary."""
    effect = np.zeros_like(phi)
    for lag in range(phi.shape[2]):
        lagged = np.roll(std, lag + 1, axis=1)
        np.divide(phi[:, :, lag] * std, lagged, out=effect[:, :, lag], where=lagged > 0.0)
    return effect


def _clear(
    orders: Ints,
    is_wrong: NDArray[np.bool_],
    phi: Floats,
    std: Floats,
    reason: str,
    events: list[Reduction],
) -> None:
    is_wrong = is_wrong & (orders > 0)
    values = contributions(phi, orders, std)
    for h, s in np.argwhere(is_wrong).tolist():
        events.append(_event(h, s, orders, values, 0, reason))
    orders[is_wrong] = 0


def _event(h: int, s: int, orders: Ints, values: Floats, reduced: int, reason: str) -> Reduction:
    order = int(orders[h, s])
    return Reduction(h, s, order, reduced, tuple(values[h, s, :order].tolist()), reason)


def _leading(values: Floats) -> int:
    """How many contributions come before the first negative one."""
    return int(np.argmax(values < 0.0))
