"""Deficit, spillage and violations: how likely, how much."""

from __future__ import annotations

import numpy as np

from cobre import draw
from cobre.draw.charts import OTHER, fan_figure, lines_figure, with_differences
from cobre.study.queries.risks import NEGLIGIBLE, THRESHOLDS, DeficitRisk, deficit_risk, years_of
from cobre.study.queries.runs import RunData

SPILL_HM3 = 1e-6


def risk(run: RunData, other: RunData | None) -> str:
    """All charts of the section."""
    if run.simulation is None:
        return ""
    compared = "".join(chart(run, other) for chart in (_deficit, _deficit_table, _spill))
    return compared + _spilling_plants(run) + _violations(run)


def _probability(run: RunData, column: str, above: float) -> list[float]:
    found: list[float] = (100.0 * run.mean(run.summary[column] > above)).tolist()
    return found


def _deficit(run: RunData, other: RunData | None) -> str:
    lines = [draw.Line("probability of a deficit", _deficit_probability(run), 1)]
    if other is not None and other.simulation is not None:
        lines.append(draw.Line(f"{OTHER}: probability of a deficit", _deficit_probability(other), 3))
    frequency = run.simulation.statistics["deficit_frequency"] if run.simulation else 0.0
    sentence = f"{100 * frequency:.3g} % of the scenarios have a deficit in some stage."
    chart = _share_figure(run, "Probability of a deficit", sentence, lines)
    if not run.summary["deficit_mwh"].any():
        return chart
    beside = None if other is None or other.simulation is None else other.fan(other.summary["deficit_mwh"])
    fan = run.fan(run.summary["deficit_mwh"])
    worst = int(fan.mean.argmax())
    sentence = (
        f"{draw.number(float(fan.mean.sum()))} MWh over the horizon on average, most of it in stage "
        f"{run.stage_labels[worst]}: {draw.number(float(fan.mean[worst]))} MWh on average, at most "
        f"{draw.number(float(fan.at(0.95)[worst]))} MWh in 95 % of the scenarios."
    )
    return chart + fan_figure("Energy not supplied", "MWh", run.stage_labels, fan, beside, sentence=sentence)


def _deficit_probability(run: RunData) -> list[float]:
    summary = run.summary
    is_short = summary["deficit_mwh"] > NEGLIGIBLE * np.maximum(summary["load_mwh"], 1.0)
    found: list[float] = (100.0 * run.mean(is_short)).tolist()
    return found


def _deficits(run: RunData) -> dict[tuple[str, int | None], DeficitRisk]:
    """By year and bus; None stands for all buses."""
    buses = run.buses
    found: dict[tuple[str, int | None], DeficitRisk] = {}
    for year, stages in years_of(run.start_dates).items():
        deficit, load = buses.deficit_mwh[:, stages].sum(axis=1), buses.load_mwh[:, stages].sum(axis=1)
        found[year, None] = deficit_risk(deficit.sum(axis=1), load.sum(axis=1), run.weights)
        for place, entity in enumerate(buses.entities):
            found[year, entity] = deficit_risk(deficit[:, place], load[:, place], run.weights)
    return found


def _deficit_table(run: RunData, other: RunData | None) -> str:
    names = dict(zip(run.buses.entities, run.buses.names, strict=True))
    theirs = None if other is None or other.simulation is None else _deficits(other)
    rows: list[tuple[str, str, DeficitRisk]] = []
    beside: list[float] = []
    for (year, entity), risk_there in _deficits(run).items():
        their_risk = None if theirs is None else theirs.get((year, entity))
        is_any = risk_there.probabilities[0] > 0 or (
            their_risk is not None and their_risk.probabilities[0] > 0
        )
        if entity is None or is_any:
            rows.append((year, "all buses" if entity is None else names[entity], risk_there))
            beside.append(float("nan") if their_risk is None else their_risk.mean_mwh)
    headings = ["year", "bus", *(f"above {100 * each:g} % of demand: % of scenarios" for each in THRESHOLDS)]
    headings += [
        "mean deficit in MWh",
        "mean depth where there is one in % of demand",
        "mean of the worst 5 % in MWh",
    ]
    columns: list[list[draw.Cell]] = [[each[0] for each in rows], [each[1] for each in rows]]
    columns += [[100.0 * each[2].probabilities[k] for each in rows] for k in range(len(THRESHOLDS))]
    columns += [
        [each[2].mean_mwh for each in rows],
        [100.0 * each[2].mean_share for each in rows],
        [each[2].cvar_mwh for each in rows],
    ]
    if theirs is not None:
        headings.append(f"{OTHER}: mean deficit in MWh")
        columns.append(list(beside))
    return draw.plain_table(
        "Deficit by year and bus; buses without any are left out", with_differences(headings, columns)
    )


def _spill(run: RunData, other: RunData | None) -> str:
    lines = [draw.Line("probability of spillage", _probability(run, "spillage_hm3", SPILL_HM3), 0)]
    if other is not None and other.simulation is not None:
        lines.append(
            draw.Line(f"{OTHER}: probability of spillage", _probability(other, "spillage_hm3", SPILL_HM3), 3)
        )
    volume = float(run.mean(run.summary["spillage_hm3"].sum(axis=1)))
    sentence = f"Share of scenarios in which some plant spills; {draw.number(volume)} hm3 over the horizon on average."
    return _share_figure(run, "Probability of spillage", sentence, lines)


def _share_figure(run: RunData, title: str, sentence: str, lines: list[draw.Line]) -> str:
    """Shares of the scenarios by stage."""
    places, labels = draw.Places.points(run.stage_labels, "stage"), run.stage_labels
    return lines_figure(title, sentence, places, labels, lines, "% of scenarios", includes_zero=True)


def _spilling_plants(run: RunData) -> str:
    hydros = run.entities.get("hydro")
    if hydros is None:
        return ""
    mean = hydros.fans["spillage_m3s"].mean
    order = np.argsort(-np.nanmean(mean, axis=0), kind="stable")[:20].tolist()
    order = [place for place in order if np.nanmax(mean[:, place]) > 0]
    if not order:
        return ""
    probability = 100.0 * hydros.exceeding["spillage_m3s"]
    table = draw.Table(
        ["plant", "mean spillage in m3/s", "highest probability of a stage in %", "in stage"],
        [
            [hydros.names[place] for place in order],
            [float(np.nanmean(mean[:, place])) for place in order],
            [float(probability[:, place].max()) for place in order],
            [run.stage_labels[int(probability[:, place].argmax())] for place in order],
        ],
    )
    return draw.plain_table("Plants that spill most", table)


def _violations(run: RunData) -> str:
    totals = {
        name: run.summary[name].sum(axis=1)
        for name in ("violation_cost", "recourse_cost", "regularization_cost")
    }
    labels = ["violated limits", "deficit and excess", "spillage, turbined water, curtailment, exchange"]
    table = draw.Table(
        ["penalty in $ over the horizon", "% of scenarios with any", "mean", "highest"],
        [
            labels,
            [100.0 * float(run.mean(np.abs(each) > 1e-6)) for each in totals.values()],
            [float(run.mean(each)) for each in totals.values()],
            [float(each.max()) for each in totals.values()],
        ],
    )
    return draw.plain_table("Penalties by kind", table)
