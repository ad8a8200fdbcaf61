"""Marginal cost by bus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cobre import draw
from cobre.arrays import Floats
from cobre.draw.charts import OTHER, SHARES, fan_figure, heat_figure, lines_figure, percent
from cobre.study.queries.fans import fan_of, weighted_quantiles
from cobre.study.queries.risks import years_of
from cobre.study.queries.runs import RunData, rows_of

MOST_BUSES = 8


def prices(run: RunData, other: RunData | None) -> str:
    """All charts of the section."""
    if run.simulation is None:
        return ""
    buses = run.buses
    of_stages = buses.stage_price()
    theirs = None if other is None or other.simulation is None else other.buses
    their_prices = None if theirs is None else theirs.stage_price()
    parts = [
        _duration(run, other),
        _all_buses(run, of_stages, other, their_prices),
        _annual(run, of_stages, other, their_prices),
    ]
    for place, name in enumerate(buses.names[:MOST_BUSES]):
        shown = draw.visible(name, 60)
        fan = run.fan(of_stages[:, :, place])
        beside = None
        if theirs is not None and their_prices is not None and buses.entities[place] in theirs.entities:
            their_price = their_prices[:, :, theirs.entities.index(buses.entities[place])]
            beside = fan_of(their_price, None if other is None else other.weights)
        parts.append(fan_figure(f"Marginal cost at {shown}", "$/MWh", run.stage_labels, fan, beside))
        parts.append(
            heat_figure(
                f"Marginal cost at {shown} by stage and quantile",
                "Each row is one quantile over scenarios.",
                run.stage_labels,
                [percent(share) for share in reversed(SHARES)],
                [fan.at(share).tolist() for share in reversed(SHARES)],
                "$/MWh",
            )
        )
    if len(buses.names) > MOST_BUSES:
        parts.append(
            f"<p>{len(buses.names) - MOST_BUSES} more buses are in the first three tables of this section.</p>"
        )
    return "".join(parts)


def _duration(run: RunData, other: RunData | None) -> str:
    shares = np.linspace(0.0, 1.0, 101)
    buses = run.buses

    def curve(data: RunData, place: int) -> list[float]:
        price = data.buses.price[:, :, place]
        hours = np.broadcast_to(data.buses.hours, price.shape)
        if data.weights is not None:
            hours = hours * data.weights[:, np.newaxis]
        found: list[float] = weighted_quantiles(
            price.ravel(), hours.ravel(), (1.0 - shares).tolist()
        ).tolist()
        return found

    lines = [
        draw.Line(
            name, curve(run, place), place % 8, in_legend=place < MOST_BUSES, is_thin=place >= MOST_BUSES
        )
        for place, name in enumerate(buses.names)
    ]
    if other is not None and other.simulation is not None:
        for place, name in enumerate(buses.names):
            if buses.entities[place] in other.buses.entities:
                values = curve(other, other.buses.entities.index(buses.entities[place]))
                lines.append(
                    draw.Line(
                        f"{OTHER}: {name}", values, place % 8, in_legend=place < MOST_BUSES, is_beside=True
                    )
                )
    places = draw.Places.numbers((100 * shares).tolist(), "percent of all hours of all scenarios")
    labels = [f"{100 * share:.0f}" for share in shares]
    sentence = "In what share of the hours the marginal cost is at least this high."
    return lines_figure(
        "Duration of marginal costs", sentence, places, labels, lines, "$/MWh", includes_zero=True
    )


def _all_buses(run: RunData, of_stages: Floats, other: RunData | None, their_prices: Floats | None) -> str:
    means = run.mean(of_stages)
    beside = None
    if other is not None and their_prices is not None:
        theirs = other.mean(their_prices)
        beside = rows_of(theirs, run.buses.entities, other.buses.entities)
    return heat_figure(
        "Mean marginal cost by bus",
        f"Means over scenarios at {draw.number(len(run.buses.names))} buses.",
        run.stage_labels,
        run.buses.names,
        [means[:, place].tolist() for place in range(means.shape[1])],
        "$/MWh",
        other=beside,
    )


def _annual(run: RunData, of_stages: Floats, other: RunData | None, their_prices: Floats | None) -> str:
    years = years_of(run.start_dates)
    headings: list[str] = ["mean marginal cost in $/MWh"]
    columns: list[Sequence[draw.Cell]] = [list(years)]
    for place, name in enumerate(run.buses.names):
        mine = _yearly(run, of_stages, place, years.values())
        headings.append(name)
        columns.append(mine)
        entity = run.buses.entities[place]
        if other is not None and their_prices is not None and entity in other.buses.entities:
            beside = _yearly(other, their_prices, other.buses.entities.index(entity), years.values())
            headings += [f"{OTHER}: {name}", f"{name}: difference"]
            columns += [beside, [a - b for a, b in zip(mine, beside, strict=True)]]
    return draw.plain_table("Mean marginal cost by year and bus", draw.Table(headings, columns))


def _yearly(run: RunData, of_stages: Floats, place: int, years: Iterable[list[int]]) -> list[float]:
    """Means over scenarios and the hours of each year."""
    buses = run.buses
    hours = np.array([buses.hours[buses.stage_of == k].sum() for k in range(len(buses.stages))])
    means = run.mean(of_stages[:, :, place])
    return [float((means[stages] * hours[stages]).sum() / hours[stages].sum()) for stages in years]
