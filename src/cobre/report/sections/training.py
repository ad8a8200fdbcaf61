"""How training went: bounds, gap, cuts and time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre import draw
from cobre.draw.charts import OTHER, bars_figure, heat_figure, lines_figure
from cobre.sddp.pictures import (
    History,
    at_iterations_of,
    convergence_figure,
    cuts_figure,
    iterations,
    picked,
    with_iterations_of,
)
from cobre.study.queries.runs import RunData

PHASES = {
    "forward_wall_ms": "forward pass",
    "backward_wall_ms": "backward pass",
    "cut_selection_ms": "cut selection",
    "lower_bound_ms": "lower bound",
    "overhead_ms": "rest",
}
NOT_COMPARABLE = ("one_trajectory", "risk_adjusted", "other_scenarios")
"""States of the estimate in which a difference between mean cost and lower bound is no gap."""


def training(run: RunData, other: RunData | None) -> str:
    """All charts of the section."""
    if run.training is None:
        return ""
    history = run.training.convergence.to_pydict()
    chosen = picked(len(history["iteration"]))
    rows = {name: [values[k] for k in chosen] for name, values in history.items()}
    beside = None if other is None or other.training is None else other.training.convergence.to_pydict()
    return "".join(
        [
            convergence_figure(rows, beside),
            _gap(rows, beside if _has_gap_of(other) else None) if _has_gap_of(run) else "",
            _increase(rows),
            _cuts(rows, beside),
            _cuts_by_stage(run, other),
            _selection(run),
            _time(run, chosen),
            _waiting(run),
        ]
    )


def _has_gap_of(run: RunData | None) -> bool:
    """Whether bound and mean cost are about the same; results of early versions do not say."""
    if run is None or run.training is None:
        return False
    estimate = run.training.metadata.get("gap_estimate")
    return estimate is None or estimate["status"] not in NOT_COMPARABLE


def _gap(rows: History, other: History | None) -> str:
    rows = rows if other is None else with_iterations_of(rows, other, ("gap",))
    lines = [draw.Line("gap", _percents(rows["gap"]), 0)]
    if other is not None:
        lines.append(draw.Line(f"{OTHER}: gap", _percents(at_iterations_of(rows, other, "gap")), 1))
    sentence = "Mean cost of an iteration's trajectories above the lower bound; it scatters with the sample."
    return lines_figure("Gap by iteration", sentence, iterations(rows), rows["iteration"], lines, "%")


def _percents(shares: Sequence[float | None]) -> list[float]:
    return [float("nan") if share is None else 100.0 * share for share in shares]


def _increase(rows: History) -> str:
    steps = [0.0, *np.diff(np.array(rows["lower_bound"], float)).tolist()]
    return lines_figure(
        "Increase of the lower bound",
        "What each iteration shown adds to the lower bound.",
        iterations(rows),
        rows["iteration"],
        [draw.Line("increase", steps, 2)],
        "$",
    )


def _cuts(rows: History, other: History | None) -> str:
    sentence = (
        f"{draw.number(rows['cuts_active'][-1])} cuts are in the stage problems after the last iteration."
    )
    if other is not None:
        rows = with_iterations_of(rows, other, ("cuts_active", "cuts_added", "cuts_removed"))
    lines = [
        draw.Line("active", rows["cuts_active"], 0),
        draw.Line("added in the iteration", rows["cuts_added"], 1),
        draw.Line("removed in the iteration", rows["cuts_removed"], 2),
    ]
    if other is not None:
        lines.append(draw.Line(f"{OTHER}: active", at_iterations_of(rows, other, "cuts_active"), 3))
    return lines_figure(
        "Cuts by iteration", sentence, iterations(rows), rows["iteration"], lines, "cuts", includes_zero=True
    )


def _cuts_by_stage(run: RunData, other: RunData | None) -> str:
    policy, theirs = run.policy, None if other is None else other.policy
    if policy is None:
        return ""
    beside = theirs if theirs is not None and theirs.n_stages == policy.n_stages else None
    return cuts_figure(policy, stage_labels(run, policy.n_stages), beside)


def stage_labels(run: RunData, n: int) -> Sequence[str]:
    """Of the stages; numbers if the folder does not say when they begin."""
    return run.stage_labels if len(run.stage_labels) == n else [str(k) for k in range(n)]


def _selection(run: RunData) -> str:
    table = run.training_table("cut_selection/iterations")
    if table is None or not table.num_rows:
        return ""
    rows = table.to_pydict()
    iterations, stages = sorted(set(rows["iteration"])), sorted(set(rows["stage_id"]))
    chosen = [iterations[k] for k in picked(len(iterations))]
    found = dict(
        zip(zip(rows["stage_id"], rows["iteration"], strict=True), rows["cuts_active_after"], strict=True)
    )
    values = [[float(found.get((stage, iteration), np.nan)) for iteration in chosen] for stage in stages]
    return heat_figure(
        "Active cuts by stage and iteration",
        "Cuts in each stage's problem after every selection of cuts.",
        [str(iteration) for iteration in chosen],
        [f"stage {stage}" for stage in stages],
        values,
        "cuts",
        x_label="iteration",
    )


def _time(run: RunData, chosen: list[int]) -> str:
    table = run.training_table("timing/iterations")
    if table is None or not table.num_rows:
        return ""
    rows = table.to_pydict()
    iterations = sorted(set(rows["iteration"]))
    ranks = len({rank for rank in rows["rank"] if rank is not None}) or 1
    sums = {name: dict.fromkeys(iterations, 0.0) for name in PHASES}
    for name in PHASES:
        for iteration, worker, value in zip(rows["iteration"], rows["worker_id"], rows[name], strict=True):
            if worker is None:
                sums[name][iteration] += value / ranks
    shown = [iterations[k] for k in chosen if k < len(iterations)]
    layers = [
        draw.Layer(label, [sums[name][iteration] for iteration in shown], style)
        for style, (name, label) in zip((0, 1, 2, 3, 6), PHASES.items(), strict=True)
    ]
    total = sum(sum(each.values()) for each in sums.values())
    backward = sum(sums["backward_wall_ms"].values())
    share = f", {100 * backward / total:.0f} % of it in the backward pass" if total else ""
    over = f"; means over {ranks} ranks" if ranks > 1 else ""
    sentence = f"Iterations took {draw.number(total / 1000)} s together{share}{over}."
    return bars_figure(
        "Time by iteration", sentence, [str(each) for each in shown], layers, "ms", x_label="iteration"
    )


def _waiting(run: RunData) -> str:
    table = run.training_table("timing/iterations")
    if table is None:
        return ""
    rows = table.to_pydict()
    waits: dict[int, float] = {}
    for rank, worker, forward, backward in zip(
        rows["rank"],
        rows["worker_id"],
        rows["fwd_load_imbalance_ms"],
        rows["bwd_load_imbalance_ms"],
        strict=True,
    ):
        if rank is not None and worker is None:
            waits[rank] = waits.get(rank, 0.0) + (forward + backward) / 1000.0
    if len(waits) < 2:
        return ""
    ranks = sorted(waits)
    sentence = "Time that each rank waited for the others in forward and backward passes."
    layers = [draw.Layer("waiting", [waits[rank] for rank in ranks], 1)]
    return bars_figure(
        "Waiting by rank", sentence, [str(rank) for rank in ranks], layers, "s", x_label="rank"
    )
