"""Where the energy comes from, and how lines are used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cobre import draw
from cobre.draw.charts import OTHER, bars_figure, fan_figure, heat_figure
from cobre.study.queries.runs import RunData

SOURCES = {
    "hydro_mwh": "hydro",
    "thermal_mwh": "thermal",
    "non_controllable_mwh": "non-controllable",
    "import_mwh": "imports",
    "deficit_mwh": "deficit",
}
USES = {"export_mwh": "exports", "pumping_mwh": "pumping", "losses_mwh": "losses", "excess_mwh": "excess"}
THEIRS = ("hydro_mwh", "thermal_mwh")
"""Sources of the other run of which a line shows where their bars would end; the table has all sources."""
MOST_LINES = 12


def energy(run: RunData, other: RunData | None) -> str:
    """All charts of the section."""
    if run.simulation is None:
        return ""
    return "".join([_mix(run, other), _curtailment(run, other), _flows(run, other), _line_use(run, other)])


def _mix(run: RunData, other: RunData | None) -> str:
    means = {name: run.mean(run.summary[name]) / 1000.0 for name in (*SOURCES, *USES, "load_mwh")}
    layers = [
        draw.Layer(label, means[name].tolist(), style)
        for style, (name, label) in zip((0, 1, 2, 5, 3), SOURCES.items(), strict=True)
    ]
    layers += [
        draw.Layer(label, (-means[name]).tolist(), style)
        for style, (name, label) in zip((5, 0, 6, 3), USES.items(), strict=True)
        if means[name].any()
    ]
    layers = [layer for layer in layers if any(layer.values) or layer.name == "hydro"]
    lines, listed = [draw.Line("demand", means["load_mwh"].tolist(), 6)], list[draw.Line]()
    if other is not None and other.simulation is not None:
        for name, label in {**SOURCES, **USES, "load_mwh": "demand"}.items():
            theirs = other.mean(other.summary[name]) / 1000.0
            listed.append(draw.Line(f"{OTHER}: {label}", (-theirs if name in USES else theirs).tolist()))
        hydro, thermal = (other.mean(other.summary[name]) / 1000.0 for name in THEIRS)
        lines.append(replace(listed.pop(0), style=7))
        lines.append(draw.Line(f"{OTHER}: hydro and thermal", (hydro + thermal).tolist(), 4))
        listed = [line for line in listed if any(line.values)]
    load = float(means["load_mwh"].sum())
    parts = [
        f"{label} {100 * float(means[name].sum()) / load:.3g} %"
        for name, label in SOURCES.items()
        if load and means[name].sum() > 0
    ]
    sentence = f"Means over scenarios. Of a demand of {draw.number(load)} GWh: {', '.join(parts)}."
    return bars_figure(
        "Generation by stage", sentence, run.stage_labels, layers, "GWh", lines=lines, listed=listed
    )


def _curtailment(run: RunData, other: RunData | None) -> str:
    if not run.summary["curtailment_mwh"].any():
        return ""
    beside = (
        None if other is None or other.simulation is None else other.fan(other.summary["curtailment_mwh"])
    )
    values = run.fan(run.summary["curtailment_mwh"])
    return fan_figure("Curtailed energy of non-controllable sources", "MWh", run.stage_labels, values, beside)


def _flows(run: RunData, other: RunData | None) -> str:
    lines = run.entities.get("line")
    if lines is None:
        return ""
    fans = lines.fans["net_flow_mw"]
    busiest = np.argsort(-np.abs(fans.mean).mean(axis=0), kind="stable")[:MOST_LINES]
    parts = []
    for place in sorted(busiest.tolist()):
        theirs = None
        if other is not None and "line" in other.entities:
            found = other.entities["line"]
            if lines.entities[place] in found.entities:
                theirs = found.fans["net_flow_mw"].of(found.entities.index(lines.entities[place]))
        limits = [
            draw.Line(label, run.bounds[key].tolist(), 6)
            for label, key in (
                ("limit", ("line", lines.entities[place], "flow_max")),
                ("limit of reverse flow", ("line", lines.entities[place], "flow_min")),
            )
            if key in run.bounds
        ]
        title = f"Net flow of line {draw.visible(lines.names[place], 60)}"
        parts.append(fan_figure(title, "MW", run.stage_labels, fans.of(place), theirs, limits=limits))
    left = len(lines.entities) - len(busiest)
    if left > 0:
        parts.append(f"<p>{left} lines with less flow are in the list of plants below.</p>")
    return "".join(parts)


def _line_use(run: RunData, other: RunData | None) -> str:
    rows = _use_of(run)
    if not rows:
        return ""
    beside = None
    if other is not None:
        theirs, nothing = _use_of(other), [float("nan")] * len(run.stage_labels)
        beside = [theirs[entity][1] if entity in theirs else nothing for entity in rows]
    return heat_figure(
        "Use of lines",
        "Mean net flow in percent of the limit in its direction.",
        run.stage_labels,
        [name for name, _ in rows.values()],
        [use for _, use in rows.values()],
        "%",
        other=beside,
    )


def _use_of(run: RunData) -> dict[int, tuple[str, list[float]]]:
    """Of each line with limits: its name, and its use by stage."""
    lines = run.entities.get("line")
    if lines is None or not run.bounds:
        return {}
    mean = lines.fans["net_flow_mw"].mean
    rows = {}
    for place, entity in enumerate(lines.entities):
        ends = [run.bounds.get(("line", entity, name)) for name in ("flow_max", "flow_min")]
        if ends[0] is None or ends[1] is None:
            continue
        flow = mean[:, place]
        limit = np.where(flow >= 0, ends[0], np.abs(ends[1]))
        use = 100.0 * np.divide(np.abs(flow), limit, out=np.full_like(flow, np.nan), where=limit > 0)
        rows[entity] = (lines.names[place], use.tolist())
    return rows
