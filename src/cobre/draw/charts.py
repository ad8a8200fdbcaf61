"""Whole figures: a drawing, its legend and its table from the same numbers; fans of quantiles over stages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from cobre.draw.bars import Layer, bar_chart
from cobre.draw.figure import Legend, figure
from cobre.draw.figures import number
from cobre.draw.heat import heat_map
from cobre.draw.lines import Band, Line, line_chart
from cobre.draw.places import Places
from cobre.draw.table import Cell, Table

THIS, OTHER = "this run", "other run"
SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Quantiles in the table of a fan."""
FEW_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Fan(Protocol):
    """Mean and quantiles, one value per stage."""

    @property
    def mean(self) -> Any: ...

    def at(self, share: float) -> Any:
        """The quantile of a share of the scenarios."""
        ...


def percent(share: float) -> str:
    """A quantile's name.

    >>> percent(0.05)
    '5 %'
    """
    return f"{100 * share:g} %"


def fan_figure(
    title: str,
    unit: str,
    labels: Sequence[str],
    fan: Fan,
    other: Fan | None = None,
    *,
    sentence: str | None = None,
    includes_zero: bool = True,
    shares: Sequence[float] = SHARES,
    limits: Sequence[Line] = (),
    is_late: bool = False,
) -> str:
    """Mean, median and bands by stage; of a second run the median and the outer quantiles as lines.

    With ``is_late`` a script draws those of the first run from the table.
    """
    lines = [
        Line("median", fan.at(0.5).tolist(), 0, column=percent(0.5) if is_late else None),
        Line("mean", fan.mean.tolist(), 2, column="mean" if is_late else None),
    ]
    bands = [
        Band(
            f"{percent(low)} to {percent(high)}",
            fan.at(low).tolist(),
            fan.at(high).tolist(),
            is_strong=low > 0.05,
            columns=(percent(low), percent(high)) if is_late else None,
        )
        for low, high in ((0.05, 0.95), (0.25, 0.75))
    ]
    legend = [
        Legend("median", 0),
        Legend("mean", 2),
        Legend("5 % to 95 %", 0, "band"),
        Legend("25 % to 75 %", 0, "band strong"),
        *(Legend(line.name, line.style) for line in limits),
    ]
    if other is not None:
        lines += [
            Line(f"{OTHER}: median", other.at(0.5).tolist(), 1),
            Line(f"{OTHER}: 5 %", other.at(0.05).tolist(), 3, is_thin=True),
            Line(f"{OTHER}: 95 %", other.at(0.95).tolist(), 3, is_thin=True),
        ]
        legend += [Legend(f"{OTHER}: median", 1), Legend(f"{OTHER}: 5 % and 95 %", 3)]
    text = sentence or fan_sentence(fan, unit)
    picture = line_chart(
        Places.points(labels, "stage"),
        [*limits, *lines],
        bands,
        title=title,
        description=text,
        y_label=unit,
        includes_zero=includes_zero,
    )
    return figure(title, text, picture, legend, fan_table(labels, fan, other, shares))


def fan_table(labels: Sequence[str], fan: Fan, other: Fan | None, shares: Sequence[float]) -> Table:
    """One row per stage."""
    headings = ["stage", "mean", *(percent(share) for share in shares)]
    columns: list[Sequence[Cell]] = [
        labels,
        fan.mean.tolist(),
        *(fan.at(share).tolist() for share in shares),
    ]
    if other is not None:
        headings += [f"{OTHER}: mean", f"{OTHER}: 50 %", "difference of means"]
        columns += [
            other.mean.tolist(),
            other.at(0.5).tolist(),
            [a - b for a, b in zip(fan.mean.tolist(), other.mean.tolist(), strict=True)],
        ]
    return Table(headings, columns)


def fan_sentence(fan: Fan, unit: str) -> str:
    """What the fan shows, in words."""
    median, low, high = fan.at(0.5), fan.at(0.05)[-1], fan.at(0.95)[-1]
    unit = f" {unit}" if unit else ""
    ends = number(float(low)), number(float(high))
    there = f"are at {ends[0]}" if ends[0] == ends[1] else f"lie between {ends[0]} and {ends[1]}"
    if len(median) == 1:
        return f"Median {number(float(median[0]))}{unit}; nine of ten scenarios {there}."
    return (
        f"Median {number(float(median[0]))}{unit} in the first stage and {number(float(median[-1]))}{unit} "
        f"in the last, where nine of ten scenarios {there}."
    )


def bars_figure(
    title: str,
    sentence: str,
    labels: Sequence[str],
    layers: Sequence[Layer],
    y_label: str,
    *,
    x_label: str = "stage",
    lines: Sequence[Line] = (),
    listed: Sequence[Line] = (),
) -> str:
    """Stacked bars with lines over them; its table has a column for each, and for ``listed``, which are not drawn."""
    picture = bar_chart(
        Places.columns(labels, x_label), layers, lines, title=title, description=sentence, y_label=y_label
    )
    legend = [Legend(layer.name, layer.style, "bar") for layer in layers]
    legend += [Legend(line.name, line.style) for line in lines]
    series: list[Layer | Line] = [*layers, *lines, *listed]
    headings, columns = [each.name for each in series], [each.values for each in series]
    table = with_differences([x_label, *headings], [labels, *columns])
    return figure(title, sentence, picture, legend, table)


def lines_figure(
    title: str,
    sentence: str,
    places: Places,
    labels: Sequence[Cell],
    lines: Sequence[Line],
    y_label: str,
    *,
    bands: Sequence[Band] = (),
    includes_zero: bool = False,
) -> str:
    """Lines and bands; its table has a column for each line and two for each band."""
    picture = line_chart(
        places, lines, bands, title=title, description=sentence, y_label=y_label, includes_zero=includes_zero
    )
    legend = [
        Legend(line.name, line.style, "line beside" if line.is_beside else "line")
        for line in lines
        if line.in_legend
    ]
    legend += [Legend(band.name, band.style, "band") for band in bands]
    headings, columns = [places.label], [labels]
    for line in lines:
        headings.append(line.name)
        columns.append(line.values)
    for band in bands:
        headings += [f"{band.name}: low", f"{band.name}: high"]
        columns += [band.low, band.high]
    return figure(title, sentence, picture, legend, with_differences(headings, columns))


def with_differences(headings: Sequence[str], columns: Sequence[Sequence[Cell]]) -> Table:
    """A table in which each pair of columns of both runs is followed by its difference."""
    places = {heading: place for place, heading in enumerate(headings)}
    names = [heading.removeprefix(f"{OTHER}: ") for heading in headings]
    shown: list[str] = []
    values: list[Sequence[Cell]] = []
    for heading, name, column in zip(headings, names, columns, strict=True):
        shown.append(heading)
        values.append(column)
        if heading != name and name in places:
            shown.append(f"{name}: difference")
            values.append(differences(columns[places[name]], column))
    return Table(shown, values)


def differences(mine: Sequence[Cell], theirs: Sequence[Cell]) -> list[float]:
    """Of numbers; NaN where one of both is missing."""
    return [
        a - b if isinstance(a, int | float) and isinstance(b, int | float) else math.nan
        for a, b in zip(mine, theirs, strict=True)
    ]


def heat_figure(
    title: str,
    sentence: str,
    labels: Sequence[str],
    row_labels: Sequence[str],
    values: Sequence[Sequence[float]],
    unit: str,
    *,
    x_label: str = "stage",
    other: Sequence[Sequence[float]] | None = None,
    is_signed: bool = False,
) -> str:
    """A heat map; its table has a row per column of the map, so that it reads like the others.

    With the values of another run, a map of the differences follows.
    """
    picture = heat_map(
        Places.columns(labels, x_label),
        row_labels,
        values,
        title=title,
        description=sentence,
        unit=unit,
        is_signed=is_signed,
    )
    found = figure(title, sentence, picture, [], Table([x_label, *row_labels], [labels, *values]))
    if other is None:
        return found
    rows = [differences(mine, theirs) for mine, theirs in zip(values, other, strict=True)]
    return found + heat_figure(
        f"{title}: difference",
        f"{THIS.capitalize()} minus {OTHER}: orange where {THIS} is higher, blue where it is lower, empty where both "
        "are equal.",
        labels,
        row_labels,
        rows,
        unit,
        x_label=x_label,
        is_signed=True,
    )
