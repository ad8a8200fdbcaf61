"""The order in which the openings of a trial point are solved: a short path through their values.

A solve begins from the basis of the one before. The nearer two openings are, the fewer bases lie between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats

Order = NDArray[np.int32]

MOST_IMPROVED = 64
"""Longer paths are left as the nearest neighbours make them: exchanges cost the cube of the length."""


def opening_order(openings: Floats) -> Order:
    """Numbers of ``openings [opening, value]`` along a path from the one in their middle.

    Each value counts in units of its spread over the openings. The path goes to the nearest opening that is left, of
    equally near ones to the first; then parts of it are reversed while that makes it shorter.
    """
    distances = _distances(openings)
    path = _by_nearest(distances)
    if len(path) <= MOST_IMPROVED:
        _reverse_parts(path, distances)
    return np.array(path, dtype=np.int32)


def _distances(openings: Floats) -> Floats:
    """``[opening, opening]``, terms added in the order of the values."""
    n = len(openings)
    squares = np.zeros((n, n))
    for values in openings.T:
        spread = float(values.max() - values.min())
        if spread > 0.0:
            scaled = values / spread
            squares += (scaled[:, np.newaxis] - scaled[np.newaxis, :]) ** 2
    distances: Floats = np.sqrt(squares)
    return distances


def _by_nearest(distances: Floats) -> list[int]:
    n = len(distances)
    sums = np.zeros(n)
    for row in distances:
        sums += row
    path = [int(np.argmin(sums))]
    is_left = np.ones(n, dtype=np.bool_)
    is_left[path[0]] = False
    for _ in range(n - 1):
        path.append(int(np.argmin(np.where(is_left, distances[path[-1]], np.inf))))
        is_left[path[-1]] = False
    return path


def _reverse_parts(path: list[int], distances: Floats) -> None:
    """2-opt: the beginning stays, the end is free."""
    n = len(path)
    length = distances.tolist()
    has_improved = True
    while has_improved:
        has_improved = False
        for a in range(n - 2):
            for b in range(a + 2, n):
                before = length[path[a]][path[a + 1]]
                after = length[path[a]][path[b]]
                if b + 1 < n:
                    before += length[path[b]][path[b + 1]]
                    after += length[path[a + 1]][path[b + 1]]
                if after < before * (1.0 - 1e-12):
                    path[a + 1 : b + 1] = path[a + 1 : b + 1][::-1]
                    has_improved = True
