"""Curves as characters: series, size and axes in, rows of cells out. Independent of the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cell", "Row", "Series", "draw_plot", "thin"]

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille cell, ``[row][column]``."""
BRAILLE = 0x2800
LABEL_WIDTH = 10
MARGIN = 0.05
"""Of the range of the values, above and below them."""

Point = tuple[float, float | None]


@dataclass(frozen=True)
class Series:
    """One curve, or a band between two."""

    name: str
    marker: str
    """What ASCII draws it with; also in the legend, so that colour is not needed."""
    style: str
    points: Sequence[Point]
    upper: Sequence[Point] | None = None
    """With it the series is a band between ``points`` and this."""


@dataclass(frozen=True)
class Cell:
    """One character and how it looks."""

    text: str
    style: str = ""


Row = list[Cell]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    is_log: bool = False

    def place(self, value: float, size: int) -> int | None:
        """Which of ``size`` steps a value is on; None if it cannot be shown."""
        if not math.isfinite(value) or (self.is_log and value <= 0.0):
            return None
        value = math.log10(value) if self.is_log else value
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return round(share * (size - 1)) if -1e-9 <= share <= 1.0 + 1e-9 else None

    def value(self, share: float) -> float:
        """What lies at a share of the axis."""
        found = self.low + share * (self.high - self.low)
        return 10.0**found if self.is_log else found


def draw_plot(
    series: Sequence[Series],
    width: int,
    height: int,
    *,
    is_log: bool = False,
    is_ascii: bool = False,
    x_label: str = "",
    floor: float = -math.inf,
) -> list[Row]:
    """``height`` rows of at most ``width`` cells: the curves with a y axis on the left and an x axis below.

    The y axis fits the finite values with a margin; with a ``floor`` it begins there, unless values lie below. Values
    that all are whole have whole labels. On a logarithmic axis values of 0 and less are left out. Points are in order
    of x.
    """
    plot_width, plot_height = width - LABEL_WIDTH - 1, height - 2
    if plot_width < 8 or plot_height < 3:
        return [[Cell("too small to draw")]]
    values = [y for each in series for points in (each.points, each.upper or ()) for _, y in points]
    shown = [y for y in values if y is not None and math.isfinite(y) and (y > 0.0 or not is_log)]
    if not shown:
        words = "nothing above 0 to draw on a log axis (press l)" if is_log and values else "no iteration yet"
        return [[Cell(words)]]
    y_axis = _fitted(shown, is_log, floor)
    places = [x for each in series for x, _ in each.points if math.isfinite(x)]
    x_axis = _Axis(min(places), max(places))
    canvas = (_AsciiCanvas if is_ascii else _BrailleCanvas)(plot_width, plot_height)
    for each in series:
        _draw(canvas, each, x_axis, y_axis)
    is_whole = all(value.is_integer() for value in map(float, shown)) and max(map(abs, shown)) > 10
    return _framed(canvas.rows(), x_axis, y_axis, plot_width, x_label, is_whole=is_whole)


def _fitted(values: Sequence[float], is_log: bool, floor: float) -> _Axis:
    scaled = [math.log10(value) for value in values] if is_log else list(values)
    low, high = min(scaled), max(scaled)
    room = MARGIN * (high - low) if high > low else max(0.5, MARGIN * abs(high)) if not is_log else 0.5
    return _Axis(min(low, floor) if math.isfinite(floor) else low - room, high + room, is_log)


def _draw(canvas: _Canvas, each: Series, x_axis: _Axis, y_axis: _Axis) -> None:
    if each.upper is not None:
        _draw_band(canvas, each, x_axis, y_axis)
        return
    before: tuple[int, int] | None = None
    for x, y in each.points:
        column = x_axis.place(x, canvas.dot_width)
        row = None if y is None else y_axis.place(y, canvas.dot_height)
        if column is None or row is None:
            before = None
            continue
        canvas.line(before or (column, row), (column, row), each)
        before = column, row


def _draw_band(canvas: _Canvas, each: Series, x_axis: _Axis, y_axis: _Axis) -> None:
    before: tuple[int, int, int] | None = None
    for (x, low), (_, high) in zip(each.points, each.upper or (), strict=True):
        column = x_axis.place(x, canvas.dot_width)
        ends = [
            None if value is None else y_axis.place(_within(value, y_axis), canvas.dot_height)
            for value in (low, high)
        ]
        bottom, top = ends
        if column is None or bottom is None or top is None:
            before = None
            continue
        start = before or (column, bottom, top)
        steps = max(1, column - start[0])
        for k in range(steps + 1):
            low_level, high_level = (
                was + round(k * (now - was) / steps) for was, now in ((start[1], bottom), (start[2], top))
            )
            canvas.shade(min(start[0] + k, column), low_level, high_level, each)
        before = column, bottom, top


def _within(value: float, axis: _Axis) -> float:
    """``value``, or the end of a logarithmic axis below it."""
    if axis.is_log and math.isfinite(value):
        return max(value, axis.value(0.0))
    return value


class _Canvas:
    """A grid of dots; row 0 is the lowest."""

    dot_width: int
    dot_height: int

    def line(self, start: tuple[int, int], end: tuple[int, int], series: Series) -> None:
        (x0, y0), (x1, y1) = start, end
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for k in range(steps + 1):
            self.dot(x0 + round(k * (x1 - x0) / steps), y0 + round(k * (y1 - y0) / steps), series)

    def dot(self, x: int, y: int, series: Series) -> None:
        raise NotImplementedError

    def shade(self, x: int, low: int, high: int, series: Series) -> None:
        raise NotImplementedError

    def rows(self) -> list[Row]:
        raise NotImplementedError


class _BrailleCanvas(_Canvas):
    """Two by four dots in each character."""

    def __init__(self, width: int, height: int) -> None:
        self.dot_width, self.dot_height = 2 * width, 4 * height
        self._bits = [[0] * width for _ in range(height)]
        self._styles = [[""] * width for _ in range(height)]

    def dot(self, x: int, y: int, series: Series) -> None:
        down = self.dot_height - 1 - y
        self._bits[down // 4][x // 2] |= DOTS[down % 4][x % 2]
        self._styles[down // 4][x // 2] = series.style

    def shade(self, x: int, low: int, high: int, series: Series) -> None:
        for y in range(low, high + 1):
            if (x + y) % 4 == 0:  # sparse dots: curves stay visible before it
                self.dot(x, y, series)

    def rows(self) -> list[Row]:
        return [
            [
                Cell(chr(BRAILLE + bits) if bits else " ", style)
                for bits, style in zip(line, styles, strict=True)
            ]
            for line, styles in zip(self._bits, self._styles, strict=True)
        ]


class _AsciiCanvas(_Canvas):
    """One marker in each character."""

    def __init__(self, width: int, height: int) -> None:
        self.dot_width, self.dot_height = width, height
        self._cells = [[Cell(" ")] * width for _ in range(height)]

    def dot(self, x: int, y: int, series: Series) -> None:
        self._cells[self.dot_height - 1 - y][x] = Cell(series.marker, series.style)

    def shade(self, x: int, low: int, high: int, series: Series) -> None:
        for y in range(low, high + 1):
            self.dot(x, y, series)

    def rows(self) -> list[Row]:
        return self._cells


def _framed(
    rows: list[Row], x_axis: _Axis, y_axis: _Axis, width: int, x_label: str, *, is_whole: bool
) -> list[Row]:
    height = len(rows)
    labels = {0: 1.0, height // 2: 1.0 - (height // 2) / max(1, height - 1), height - 1: 0.0}
    found = []
    for number, row in enumerate(rows):
        value = y_axis.value(labels.get(number, 0.0))
        label = short_number(round(value) if is_whole else value) if number in labels else ""
        found.append([Cell(f"{label:>{LABEL_WIDTH}}"), Cell("|"), *row])
    ends = f"{short_number(x_axis.low)}", f"{short_number(x_axis.high)}"
    middle = x_label.center(max(0, width - len(ends[0]) - len(ends[1])))
    found.append([Cell(" " * LABEL_WIDTH + "+" + "-" * width)])
    found.append([Cell(" " * (LABEL_WIDTH + 1) + f"{ends[0]}{middle}{ends[1]}")])
    return found


def short_number(value: float) -> str:
    """At most nine characters.

    >>> short_number(341380010.7), short_number(-0.00012), short_number(12.0)
    ('341.4M', '-1.2e-04', '12')
    """
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if 1e15 > abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.4g}{unit}"
    if value == 0.0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    return f"{value:.1e}"


def thin(points: Sequence[Point], columns: int) -> list[Point]:
    """At most two points for each of ``columns``: least and greatest, so that no peak is lost."""
    if len(points) <= 2 * columns:
        return list(points)
    found: list[Point] = []
    for k in range(columns):
        bucket = points[k * len(points) // columns : (k + 1) * len(points) // columns]
        known = [point for point in bucket if point[1] is not None and math.isfinite(point[1])]
        if known:
            ends = {min(known, key=_height), max(known, key=_height)}
            found.extend(sorted(ends))
    return found


def _height(point: Point) -> float:
    return 0.0 if point[1] is None else point[1]
