"""Merging production planes that are nearly the same, to keep linear programs small."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.sums import sum_in_order

ORIGIN = 1e-9
"""A plane with a smaller constant and slope in the volume says "no power without flow" and is never merged."""
MASK = 2**64 - 1

AreClose = Callable[[int, int, Floats, Floats], bool]


@dataclass(frozen=True, slots=True)
class SampleBox:
    """Volumes and flows of a fit, and its largest power before the limit of the generators."""

    low_volume_hm3: float
    high_volume_hm3: float
    low_flow_m3s: float
    high_flow_m3s: float
    max_power_mw: float


@dataclass(frozen=True, slots=True)
class AngleReduction:
    """Planes are merged if their normals in (hm3, m3/s, MW) enclose less than ``tolerance_deg``."""

    tolerance_deg: float

    def are_close(self, one: Floats, other: Floats) -> bool:
        """Whether the angle between the normals is below the tolerance."""
        normals = ((float(plane[1]), float(plane[2]), -1.0) for plane in (one, other))
        (a, b, c), (d, e, f) = normals
        lengths = math.sqrt(a * a + b * b + c * c) * math.sqrt(d * d + e * e + f * f)
        cosine = min(max((a * d + b * e + c * f) / lengths, -1.0), 1.0)
        return math.degrees(math.acos(cosine)) < self.tolerance_deg


@dataclass(frozen=True, slots=True)
class DistanceReduction:
    """Planes are merged if their mean squared distance, over the squared largest power, is below a percentage.

    The distance is taken at random points whose seed depends on the plant, the level below it and the two planes'
    positions before merging.
    """

    tolerance_pct: float
    n_samples: int
    hydro_id: int
    level_m: float | None = None

    def are_close(self, slots: tuple[int, int], one: Floats, other: Floats, box: SampleBox) -> bool:
        """Whether the relative mean squared distance is below the tolerance."""
        constant, per_volume, per_flow = (float(a - b) for a, b in zip(one[:3], other[:3], strict=True))
        volumes = box.high_volume_hm3 - box.low_volume_hm3
        flows = box.high_flow_m3s - box.low_flow_m3s
        draw = _SplitMix64(self.seed(*slots))
        squares = []
        for _ in range(self.n_samples):
            volume = box.low_volume_hm3 + draw.uniform() * volumes
            flow = box.low_flow_m3s + draw.uniform() * flows
            squares.append((constant + per_volume * volume + per_flow * flow) ** 2)
        mean = sum_in_order(squares) / self.n_samples
        return mean / (box.max_power_mw * box.max_power_mw) < self.tolerance_pct / 100.0

    def seed(self, one: int, other: int) -> int:
        """FNV-1a over plant, bits of the level (0: unknown) and the positions of both planes, little-endian."""
        level = b"\0" * 8 if self.level_m is None else struct.pack("<d", self.level_m)
        return fnv1a(struct.pack("<i", self.hydro_id) + level + struct.pack("<II", one, other))


Reduction = AngleReduction | DistanceReduction


def merge_planes(planes: Floats, reduction: Reduction, box: SampleBox) -> Floats:
    """One sweep over ``planes``: a plane close to the last one kept replaces it by the mean of both."""
    kept: list[Floats] = []
    slot = 0
    for candidate, plane in enumerate(planes):
        if kept and not (_is_origin(kept[-1]) or _is_origin(plane)):
            is_close = (
                reduction.are_close(kept[-1], plane)
                if isinstance(reduction, AngleReduction)
                else reduction.are_close((slot, candidate), kept[-1], plane, box)
            )
            if is_close:
                kept[-1] = 0.5 * (kept[-1] + plane)
                continue
        kept.append(plane)
        slot = candidate
    return np.array(kept)


def _is_origin(plane: Floats) -> bool:
    return bool(abs(plane[0]) <= ORIGIN and abs(plane[1]) <= ORIGIN)


def fnv1a(data: bytes) -> int:
    """64-bit FNV-1a hash."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & MASK
    return state


class _SplitMix64:
    """Steele, Lea and Flood's generator: a counter and a mixing step."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def uniform(self) -> float:
        """A number in [0, 1) from the upper 53 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53
