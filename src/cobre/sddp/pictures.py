"""Pictures of a training run and its policy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre import draw
from cobre.draw.charts import OTHER, bars_figure, lines_figure

if TYPE_CHECKING:
    from cobre.sddp.policy import Policy
    from cobre.sddp.result import TrainingResult

History = dict[str, list[Any]]
"""Columns by name, one value for each iteration."""
MOST_ROWS = 400
"""Iterations in a table; of more, that many are shown, evenly apart."""


def training_html(result: TrainingResult) -> str:
    """How training went, for a notebook."""
    return draw.fragment(
        training_figures(
            result.history, result.final_lower_bound, result.total_cuts, result.termination_reason
        )
    )


def training_figures(history: History, lower_bound: float, n_cuts: int, reason: str) -> str:
    """The outcome of a training run, and its bounds."""
    n = len(history["iteration"])
    cards = [
        ("Lower bound", f"{draw.short_number(lower_bound)} $"),
        ("Iterations", draw.number(history["iteration"][-1])),
        ("Cuts", draw.number(n_cuts)),
        ("Ended by", reason.replace("_", " ")),
    ]
    rows = {name: [values[k] for k in picked(n)] for name, values in history.items()}
    return draw.card_row(cards) + convergence_figure(rows)


def policy_html(policy: Policy) -> str:
    """How many cuts each stage has, for a notebook."""
    labels = [_last_month(end) if end else str(k) for k, (_, end) in enumerate(policy.calendar)]
    labels = labels or [str(k) for k in range(policy.n_stages)]
    return draw.fragment(cuts_figure(policy, labels))


def _last_month(end: str) -> str:
    """The month of the last day of a stage whose end, in ISO format, is the day after."""
    return (dt.date.fromisoformat(end) - dt.timedelta(days=1)).isoformat()[:7]


def picked(n: int) -> list[int]:
    """Places of at most `MOST_ROWS` of ``n`` rows, the first and the last among them."""
    if n <= MOST_ROWS:
        return list(range(n))
    return [round(k * (n - 1) / (MOST_ROWS - 1)) for k in range(MOST_ROWS)]


def convergence_figure(rows: History, other: History | None = None) -> str:
    """Bounds by iteration, with the 95 % band of the mean cost of each iteration's trajectories."""
    known, last = rows, len(rows["iteration"]) - 1
    if other is not None:
        rows = with_iterations_of(rows, other, ("lower_bound", "upper_bound", "ci_95"))
    upper, half = np.array(rows["upper_bound"], float), np.array(rows["ci_95"], float)
    lower = rows["lower_bound"]
    lines = [
        draw.Line("lower bound", lower, 0),
        draw.Line("mean cost of the trajectories", upper.tolist(), 1),
    ]
    bands = [draw.Band("95 % interval of the mean cost", (upper - half).tolist(), (upper + half).tolist(), 1)]
    if other is not None:
        lines.append(draw.Line(f"{OTHER}: lower bound", at_iterations_of(rows, other, "lower_bound"), 3))
    n = known["iteration"][last]
    sentence = (
        f"The lower bound is {draw.number(known['lower_bound'][last])} $ after {n} iteration{'' if n == 1 else 's'}; "
        f"the trajectories of the last one cost {draw.number(known['upper_bound'][last])} ± "
        f"{draw.number(known['ci_95'][last])} $ on average."
    )
    places = iterations(rows)
    return lines_figure("Bounds by iteration", sentence, places, rows["iteration"], lines, "$", bands=bands)


def with_iterations_of(rows: History, other: History, columns: Sequence[str]) -> History:
    """``columns`` of ``rows``, followed by empty ones for later iterations that only the other run has."""
    more = [each for each in other["iteration"] if each > rows["iteration"][-1]]
    later = [more[k] for k in picked(len(more))]
    empty = [float("nan")] * len(later)
    return {"iteration": [*rows["iteration"], *later], **{name: [*rows[name], *empty] for name in columns}}


def at_iterations_of(rows: History, other: History, column: str) -> list[Any]:
    """A column of the other run at the iterations of ``rows``; NaN where it has none."""
    known = dict(zip(other["iteration"], other[column], strict=True))
    return [known.get(iteration, float("nan")) for iteration in rows["iteration"]]


def iterations(rows: History) -> draw.Places:
    """Their places along the axis."""
    return draw.Places.points([str(iteration) for iteration in rows["iteration"]], "iteration")


def cuts_figure(policy: Policy, labels: Sequence[str], other: Policy | None = None) -> str:
    """Active and other cuts of each stage; of another policy the active ones."""
    active = _active(policy)
    idle = [len(stage.active) - n for stage, n in zip(policy.stages, active, strict=True)]
    layers = [draw.Layer("active", active, 0), draw.Layer("not active", idle, 6)]
    total = sum(active) + sum(idle)
    sentence = f"The policy has {draw.number(total)} cuts, {draw.number(sum(active))} of them active."
    lines = [] if other is None else [draw.Line(f"{OTHER}: active", _active(other), 3)]
    return bars_figure("Cuts by stage", sentence, labels, layers, "cuts", lines=lines)


def _active(policy: Policy) -> list[int]:
    return [int(np.count_nonzero(stage.active)) for stage in policy.stages]
