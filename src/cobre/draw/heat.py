"""Heat maps: colours for the values of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cobre.draw.figures import pixels, short_number
from cobre.draw.places import Places
from cobre.draw.svg import Area, document, empty_document, reading, text
from cobre.draw.text import fitted

N_SHADES = 10
"""Colours from the lowest value to the highest; `cobre.draw.style` has them as ``h0``, ``h1``, …; of differences
as ``d0``, ``d1``, …."""
LEFT = 130.0
ROW_LABEL = 18.0
"""Width of the labels of rows in small letters: what fits on the left."""
MAX_ROW_LABELS = 14


def heat_map(
    places: Places,
    row_labels: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    title: str,
    description: str,
    unit: str,
    is_signed: bool = False,
) -> str:
    """An SVG with one row of cells for each of ``values``, the first one on top; NaN stays empty.

    With ``is_signed`` the two colours meet at zero, and reach equally far on both sides.
    """
    height = 240.0 if len(values) <= MAX_ROW_LABELS else 360.0
    area = Area(height=height, left=LEFT, top=30.0)
    finite = [value for row in values for value in row if math.isfinite(value)]
    if not finite:
        return empty_document(area, title)
    low, high = min(finite), max(finite)
    if is_signed:
        high = max(-low, high)
        low = 0.0 - high  # never -0
    kind = "d" if is_signed else "h"
    paths = [""] * N_SHADES
    for r, row in enumerate(values):
        top, bottom = area.y(1.0 - r / len(values)), area.y(1.0 - (r + 1) / len(values))
        first = 0
        shades = [None if is_signed and value == 0 else _shade(value, low, high) for value in row]
        for k in range(1, len(row) + 1):  # neighbours of one shade are one rectangle
            if k < len(row) and shades[k] == shades[first]:
                continue
            shade = shades[first]
            if shade is not None:
                left, right = area.x(first / len(row)), area.x(k / len(row))
                box = f"M{pixels(left)} {pixels(top)}H{pixels(right)}V{pixels(bottom)}H{pixels(left)}Z"
                paths[shade] += box
            first = k
    parts = [f'<path class="{kind}{shade}" d="{path}"/>' for shade, path in enumerate(paths) if path]
    parts += _labels(area, places, row_labels)
    parts += _key(area, low, high, unit, kind)
    return document(area, title, description, parts, reading(area, places))


def _shade(value: float, low: float, high: float) -> int | None:
    if not math.isfinite(value):
        return None
    return 0 if high <= low else min(N_SHADES - 1, int(N_SHADES * (value - low) / (high - low)))


def _labels(area: Area, places: Places, row_labels: Sequence[str]) -> list[str]:
    n = len(row_labels)
    step = max(1, -(-n // MAX_ROW_LABELS))
    parts = [
        text(area.left - 6, area.y(1.0 - (r + 0.5) / n) + 4, fitted(row_labels[r], ROW_LABEL), "end")
        for r in range(0, n, step)
    ]
    parts += [text(area.x(share), area.y(0.0) + 16, label, "middle") for share, label in places.ticks]
    parts.append(text(area.x(0.5), area.height - 6, places.label, "middle"))
    return parts


def _key(area: Area, low: float, high: float, unit: str, kind: str) -> list[str]:
    """The colours from the lowest value to the highest, above the map."""
    ends = f"{short_number(low)} {unit}".rstrip(), f"{short_number(high)} {unit}".rstrip()
    width, left, top = 14.0, area.x(1.0) - 300.0, 8.0
    parts = [text(left - 6, top + 10, ends[0], "end")]
    for shade in range(N_SHADES):
        x = left + shade * width
        parts.append(
            f'<path class="{kind}{shade}" d="M{pixels(x)} {pixels(top)}h{pixels(width)}v12h-{pixels(width)}Z"/>'
        )
    parts.append(text(left + N_SHADES * width + 6, top + 10, ends[1]))
    return parts
