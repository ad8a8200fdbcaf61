"""Lines and bands over an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cobre.draw.figures import pixels
from cobre.draw.places import Places
from cobre.draw.scale import Scale
from cobre.draw.svg import Area, axes, document, empty_document, reading
from cobre.draw.text import escape

MAX_POINTS = 640
"""More than one value per pixel cannot be seen."""


@dataclass(frozen=True)
class Series:
    """Values under a name; ``style`` chooses colour and dashes."""

    name: str
    values: Sequence[float]
    style: int = 0


@dataclass(frozen=True)
class Line(Series):
    """One value per place; NaN leaves a gap."""

    is_thin: bool = False
    in_legend: bool = True
    is_beside: bool = False
    """Drawn as dots, whatever its style: it belongs to another run than the line of the same colour."""
    column: str | None = None
    """Heading in the table behind the chart: a script draws the line from there, and it takes no room in the page."""


@dataclass(frozen=True)
class Band:
    """The range from ``low`` to ``high`` at every place."""

    name: str
    low: Sequence[float]
    high: Sequence[float]
    style: int = 0
    is_strong: bool = False
    columns: tuple[str, str] | None = None
    """Like ``column`` of a line: those of ``low`` and ``high``."""


def line_chart(
    places: Places,
    lines: Sequence[Line],
    bands: Sequence[Band] = (),
    *,
    title: str,
    description: str,
    y_label: str,
    includes_zero: bool = False,
    area: Area = Area(),  # noqa: B008 - frozen
) -> str:
    """An SVG with the bands behind the lines."""
    series = [line.values for line in lines] + [ends for band in bands for ends in (band.low, band.high)]
    scale = Scale.over((value for values in series for value in values), includes_zero=includes_zero)
    if scale is None:
        return empty_document(area, title)
    parts = axes(area, places, scale, y_label)
    for band in bands:
        strength = " strong" if band.is_strong else ""
        path = "" if band.columns else "".join(_band(area, places, scale, band))
        parts.append(f'<path class="band f{band.style}{strength}" {_source(path, band.columns)}/>')
    for line in lines:
        parts.append(_line(area, places, scale, line))
    is_late = any(line.column for line in lines) or any(band.columns for band in bands)
    return document(
        area, title, description, parts, reading(area, places) + (_heights(area, scale) if is_late else "")
    )


def _source(path: str, columns: Sequence[str] | None) -> str:
    """The attribute that says how a path runs, or which columns of the table do."""
    return f'data-of="{escape("|".join(columns))}"' if columns else f'd="{path}"'


def _heights(area: Area, scale: Scale) -> str:
    """Attributes by which a script finds how high a value lies."""
    ends = f' data-bottom="{pixels(area.y(0.0))}" data-top="{pixels(area.y(1.0))}"'
    return f'{ends} data-low="{scale.low:.9g}" data-high="{scale.high:.9g}"'


def _line(area: Area, places: Places, scale: Scale, line: Line) -> str:
    path = ""
    for run in _runs(line.values) if line.column is None else ():
        points = [_point(area, places, scale, k, line.values[k]) for k in _thinned(run)]
        path += f"M{'L'.join(points)}" if len(points) > 1 else f"M{points[0]}m-3 0l3 -3l3 3l-3 3Z"
    width = f"{' thin' if line.is_thin else ''}{' beside' if line.is_beside else ''}"
    source = _source(path, None if line.column is None else [line.column])
    return f'<path class="line s{line.style}{width}" {source}/>'


def _band(area: Area, places: Places, scale: Scale, band: Band) -> Iterator[str]:
    sums = [low + high for low, high in zip(band.low, band.high, strict=True)]
    for run in _runs(sums):
        chosen = _thinned(run)
        top = [_point(area, places, scale, k, band.high[k]) for k in chosen]
        bottom = [_point(area, places, scale, k, band.low[k]) for k in reversed(chosen)]
        if len(chosen) == 1:  # a bar of a few pixels
            x, height = area.x(places.at[chosen[0]]), area.y(scale.share(band.low[chosen[0]]))
            yield f"M{pixels(x - 4)} {top[0].split()[1]}h8V{pixels(height)}h-8Z"
        else:
            yield f"M{'L'.join(top + bottom)}Z"


def _point(area: Area, places: Places, scale: Scale, k: int, value: float) -> str:
    return f"{pixels(area.x(places.at[k]))} {pixels(area.y(scale.share(value)))}"


def _runs(values: Sequence[float]) -> Iterator[range]:
    """Ranges of places whose values are there."""
    first: int | None = None
    for k, value in enumerate(values):
        if math.isfinite(value):
            first = k if first is None else first
        elif first is not None:
            yield range(first, k)
            first = None
    if first is not None:
        yield range(first, len(values))


def _thinned(run: range) -> list[int]:
    """At most `MAX_POINTS` of a run, both ends among them."""
    if len(run) <= MAX_POINTS:
        return list(run)
    return [run[round(k * (len(run) - 1) / (MAX_POINTS - 1))] for k in range(MAX_POINTS)]
