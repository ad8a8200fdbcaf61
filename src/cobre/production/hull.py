"""Upper hull of values on a grid: the planes of the smallest concave function that is nowhere below them.

The hull is wrapped facet by facet. A facet is a polygon of grid points in one plane; each of its edges has at most one
other facet beyond it. Positions on the grid are whole numbers, so only the values are rounded.
"""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats

COPLANAR = 1e-10
"""Distance from a plane, as a share of the largest value, below which a point lies in the plane."""

Point = tuple[int, int]
Edge = tuple[Point, Point]
Plane = tuple[float, float, float]


def upper_hull(values: Floats) -> list[Plane]:
    """Planes ``(c, a, b)``, value at grid position ``(i, j)`` = ``c + a i + b j``, none of them twice.

    ``values`` has two rows and two columns or more. The minimum over the planes is the concave hull.
    """
    wrapping = _Wrapping(values)
    waiting = [wrapping.first_edge()]
    seen = set(waiting)
    planes: list[Plane] = []
    while waiting:
        facet = wrapping.facet_beyond(waiting.pop())
        if facet is None:
            continue
        plane, corners = facet
        planes.append(plane)
        for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
            seen.add((start, end))
            if (end, start) not in seen:
                seen.add((end, start))
                waiting.append((end, start))
    return wrapping.distinct(planes)


class _Wrapping:
    """The points of one grid, and the facet on the left of a directed edge."""

    def __init__(self, values: Floats) -> None:
        self.shape = values.shape
        self.i, self.j = (axis.ravel() for axis in np.indices(values.shape))
        self.z = np.ascontiguousarray(values, np.float64).ravel()
        self.tolerance = COPLANAR * float(np.abs(self.z).max())

    def first_edge(self) -> Edge:
        """An edge of the hull over the first row, the grid on its left."""
        row = self.z[: self.shape[1]]
        slopes = (row[1:] - row[0]) / np.arange(1, len(row))
        steepest = np.flatnonzero(slopes >= slopes.max() - self.tolerance)
        return (0, int(steepest[-1]) + 1), (0, 0)

    def facet_beyond(self, edge: Edge) -> tuple[Plane, list[Point]] | None:
        """Plane and corners (counter-clockwise) of the facet on the left of ``edge``; None at the border."""
        (i0, j0), (i1, j1) = edge
        di, dj = i1 - i0, j1 - j0
        side = di * (self.j - j0) - dj * (self.i - i0)  # twice the area: positive on the left
        left = np.flatnonzero(side > 0)
        if not len(left):
            return None
        start, end = self._value(edge[0]), self._value(edge[1])
        along = (end - start) / (di * di + dj * dj)
        flat = start + along * (di * (self.i - i0) + dj * (self.j - j0))
        rise = float(((self.z[left] - flat[left]) / side[left]).max())
        a, b = along * di - rise * dj, along * dj + rise * di
        plane = (start - a * i0 - b * j0, a, b)
        in_plane = np.flatnonzero((side >= 0) & (np.abs(self.z - flat - rise * side) <= self.tolerance))
        points = {(int(self.i[k]), int(self.j[k])) for k in in_plane} | {*edge}
        return plane, _corners(sorted(points))

    def distinct(self, planes: list[Plane]) -> list[Plane]:
        """``planes`` without those that agree with an earlier one at the four corners of the grid."""
        far_i, far_j = self.shape[0] - 1, self.shape[1] - 1
        ends = np.array([(c, c + a * far_i, c + b * far_j, c + a * far_i + b * far_j) for c, a, b in planes])
        kept: list[int] = []
        for k, values in enumerate(ends):
            if not np.any(np.abs(ends[kept] - values).max(axis=1, initial=0.0) <= 10.0 * self.tolerance):
                kept.append(k)
        return [planes[k] for k in kept]

    def _value(self, point: Point) -> float:
        return float(self.z[point[0] * self.shape[1] + point[1]])


def _corners(points: list[Point]) -> list[Point]:
    """Corners of the convex hull of sorted points, counter-clockwise, no three on a line."""

    def chain(ordered: list[Point]) -> list[Point]:
        kept: list[Point] = []
        for point in ordered:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return chain(points) + chain(points[::-1])


def _turn(a: Point, b: Point, c: Point) -> int:
    """Twice the area of a triangle: positive where it turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
