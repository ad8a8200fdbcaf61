"""What the simulated scenarios cost."""

from __future__ import annotations

import numpy as np

from cobre import draw
from cobre.draw.charts import OTHER, bars_figure, fan_figure, heat_figure, lines_figure, with_differences
from cobre.study.queries.fans import quantiles_of
from cobre.study.queries.runs import RunData

CATEGORIES = {
    "resource_cost": "plants and contracts",
    "recourse_cost": "deficit and excess",
    "violation_cost": "violated limits",
    "regularization_cost": "spillage, turbined water, curtailment, exchange",
}
PENALTIES = tuple(CATEGORIES)[1:]
"""Kinds that pay for no resource."""


def costs(run: RunData, other: RunData | None) -> str:
    """All charts of the section."""
    if run.simulation is None:
        return ""
    charts = (_categories, _by_stage, _immediate, _ordered)
    return "".join(chart(run, other) for chart in charts) + _penalties(run)


def _categories(run: RunData, other: RunData | None) -> str:
    totals = [run.summary[name].sum(axis=1) for name in CATEGORIES]
    rows = [(float(run.mean(each)), *quantiles_of(each, (0.1, 0.9), run.weights).tolist()) for each in totals]
    columns = [list(CATEGORIES.values()), *(list(each) for each in zip(*rows, strict=True))]
    headings = ["kind of cost in $, not discounted", "mean", "10 %", "90 %"]
    if other is not None and other.simulation is not None:
        headings.append(f"{OTHER}: mean")
        columns.append([float(other.mean(other.summary[name].sum(axis=1))) for name in CATEGORIES])
    return draw.plain_table("Cost of the whole horizon by kind", with_differences(headings, columns))


def _by_stage(run: RunData, other: RunData | None) -> str:
    layers = [
        draw.Layer(label, run.mean(run.summary[name]).tolist(), style)
        for style, (name, label) in enumerate(CATEGORIES.items())
    ]
    lines, listed = list[draw.Line](), list[draw.Line]()
    if other is not None and other.simulation is not None:
        theirs = {label: other.mean(other.summary[name]) for name, label in CATEGORIES.items()}
        lines.append(draw.Line(f"{OTHER}: all", np.asarray(sum(theirs.values())).tolist(), 6))
        listed = [draw.Line(f"{OTHER}: {label}", values.tolist()) for label, values in theirs.items()]
    total = sum(sum(layer.values) for layer in layers)
    sentence = f"Means over all scenarios, not discounted; {draw.number(total)} $ over all stages."
    return bars_figure(
        "Cost by stage and kind", sentence, run.stage_labels, layers, "$", lines=lines, listed=listed
    )


def _immediate(run: RunData, other: RunData | None) -> str:
    beside = None if other is None or other.simulation is None else other.fan(other.summary["immediate_cost"])
    return fan_figure(
        "Cost of each stage", "$", run.stage_labels, run.fan(run.summary["immediate_cost"]), beside
    )


def _ordered(run: RunData, other: RunData | None) -> str:
    shares = np.linspace(0.0, 1.0, 101)
    lines = [draw.Line("cost", quantiles_of(run.costs, shares.tolist(), run.weights).tolist(), 0)]
    if other is not None and other.simulation is not None:
        lines.append(
            draw.Line(f"{OTHER}: cost", quantiles_of(other.costs, shares.tolist(), other.weights).tolist(), 1)
        )
    statistics = run.simulation.statistics if run.simulation else {}
    sentence = (
        f"Discounted to the first stage: {draw.number(statistics['mean_cost'])} ± "
        f"{draw.number(statistics['ci_95'])} $ on average, "
        f"{draw.number(statistics['cvar_95'])} $ in the dearest twentieth of the scenarios."
    )
    places = draw.Places.numbers((100 * shares).tolist(), "percent of scenarios that cost no more")
    labels = [f"{100 * share:.0f}" for share in shares]
    return lines_figure("Cost over scenarios", sentence, places, labels, lines, "$")


def _penalties(run: RunData) -> str:
    """Share of penalties by stage and scenario, scenarios from cheap to dear."""
    penalty = sum(run.summary[name] for name in PENALTIES)
    whole = np.abs(run.summary["immediate_cost"])
    share = 100.0 * np.divide(penalty, whole, out=np.zeros_like(whole), where=whole > 0)
    ordered = share[np.argsort(run.costs, kind="stable")]
    groups = np.array_split(ordered, min(len(ordered), 10))
    values = [np.clip(group.mean(axis=0), 0.0, 100.0).tolist() for group in groups]
    n = len(groups)
    rows = [f"{100 * k // n} to {100 * (k + 1) // n} %" for k in range(n)]
    return heat_figure(
        "Share of penalties",
        "Percent of each stage's cost that is deficit, violation or regularization; scenarios from cheap to dear.",
        run.stage_labels,
        rows,
        values,
        "%",
    )
