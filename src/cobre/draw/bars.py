"""Bars that are stacked on each other, upwards from zero and downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cobre.draw.figures import pixels
from cobre.draw.lines import Line, Series, _line
from cobre.draw.places import Places
from cobre.draw.scale import Scale
from cobre.draw.svg import Area, axes, document, empty_document, reading

GAP = 0.15
"""Share of a column that stays empty."""


@dataclass(frozen=True)
class Layer(Series):
    """One value per column; negative ones are stacked below zero."""


def bar_chart(
    places: Places,
    layers: Sequence[Layer],
    lines: Sequence[Line] = (),
    *,
    title: str,
    description: str,
    y_label: str,
    area: Area = Area(),  # noqa: B008 - frozen
) -> str:
    """An SVG with one bar per column, and lines over them."""
    above, below = [0.0] * len(places.at), [0.0] * len(places.at)
    boxes: list[list[tuple[int, float, float]]] = []
    for layer in layers:
        boxes.append([])
        for k, value in enumerate(layer.values):
            if not math.isfinite(value) or value == 0.0:
                continue
            ends = above if value > 0 else below
            boxes[-1].append((k, ends[k], ends[k] + value))
            ends[k] += value
    shown = [*above, *below, *(value for line in lines for value in line.values)]
    has_values = any(math.isfinite(value) for layer in layers for value in layer.values)
    scale = Scale.over(shown, includes_zero=True)
    if scale is None or not has_values:
        return empty_document(area, title)
    half = (1.0 - GAP) / 2 / len(places.at)
    parts = axes(area, places, scale, y_label)
    for layer, found in zip(layers, boxes, strict=True):
        path = "".join(_box(area, scale, places.at[k], half, low, high) for k, low, high in found)
        parts.append(f'<path class="bar f{layer.style}" d="{path}"/>')
    parts += [_line(area, places, scale, line) for line in lines]
    return document(area, title, description, parts, reading(area, places))


def _box(area: Area, scale: Scale, at: float, half: float, low: float, high: float) -> str:
    left, right = area.x(at - half), area.x(at + half)
    top, bottom = area.y(scale.share(high)), area.y(scale.share(low))
    return f"M{pixels(left)} {pixels(bottom)}V{pixels(top)}H{pixels(right)}V{pixels(bottom)}Z"
