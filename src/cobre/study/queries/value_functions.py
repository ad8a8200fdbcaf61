"""Slices of the future cost of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.sddp.policy import Policy

N_POINTS = 41
MOST_CUTS = 12


@dataclass(frozen=True)
class Slice:
    """Future cost along one component of the state, all others fixed."""

    points: Floats
    future_cost: Floats
    """``[point]``: the highest active cut, or the floor."""
    water_value: Floats
    """``[point]``: minus the slope."""
    cuts: Floats
    """``[cut, point]``: those that are highest somewhere; at most `MOST_CUTS`."""


def slice_along(policy: Policy, stage: int, state: Floats, component: int, low: float, high: float) -> Slice:
    """The future cost after ``stage`` between ``low`` and ``high`` of one component."""
    cuts = policy.stages[stage]
    points = np.linspace(low, high, N_POINTS)
    slots = np.flatnonzero(cuts.active)
    others = state.copy()
    others[component] = 0.0
    slopes = cuts.coefficients[slots, component]
    bases = cuts.intercepts[slots] + cuts.coefficients[slots] @ others
    values = bases[:, np.newaxis] + slopes[:, np.newaxis] * points
    if not len(slots):
        nothing = np.zeros(N_POINTS)
        return Slice(points, nothing + cuts.floor, nothing, np.empty((0, N_POINTS)))
    best = np.argmax(values, axis=0)
    top = values[best, np.arange(N_POINTS)]
    is_above = top >= cuts.floor
    touching = list(dict.fromkeys(best[is_above].tolist()))
    chosen = touching[:: max(1, -(-len(touching) // MOST_CUTS))]
    return Slice(
        points, np.maximum(top, cuts.floor), np.where(is_above, -slopes[best], 0.0) + 0.0, values[chosen]
    )


def state_of(policy: Policy, storage_hm3: Mapping[int, float], inflow_m3s: Mapping[int, float]) -> Floats:
    """A state with these storages and, for every lag, these inflows, by hydro id; 0 where nothing is given.

    Nothing is under way in it: neither water between plants nor generation that is decided ahead.
    """
    found = np.zeros(policy.state_dimension)
    for place, name in enumerate(policy.state_names):
        part, _, entity = name.partition(":")
        source = storage_hm3 if part == "storage" else inflow_m3s if part.startswith("inflow") else {}
        found[place] = source.get(int(entity), 0.0) if entity.isdigit() else 0.0
    return found
