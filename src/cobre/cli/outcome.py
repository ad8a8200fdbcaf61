"""How training went, on a screen or as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from cobre import study
from cobre.cli.figures import duration, money, percent
from cobre.sddp.result import TrainingResult

__all__ = ["REASONS", "show_outcome", "show_record", "training_document"]

REASONS = {
    "iteration_limit": "the iteration limit was reached",
    "time_limit": "the time limit was reached",
    "bound_stalling": "the lower bound stopped moving",
    "simulation": "simulated costs agree with the bound",
    "shutdown": "stopped on request; the policy can be used",
}
FIELDS = (
    "iterations",
    "final_lower_bound",
    "final_upper_bound",
    "final_gap",
    "termination_reason",
    "total_cuts",
    "wall_time_ms",
)
BLOCKS = " ▁▂▃▄▅▆▇█"
TREND_WIDTH = 40


def training_document(result: TrainingResult) -> dict[str, Any]:
    """The ``training`` part of the JSON answer of ``cobre run``."""
    metadata = study.metadata_of(result)
    return {field: metadata[field] for field in FIELDS}


def show_outcome(stream: TextIO, result: TrainingResult, output: Path, *, is_plain: bool = False) -> None:
    """The result of a run that just ended."""
    record = {**study.metadata_of(result), "timings": result.timings}
    show_record(stream, record, result.history, output, is_plain=is_plain)


def show_record(
    stream: TextIO,
    record: Mapping[str, Any],
    history: Mapping[str, Sequence[float]],
    output: Path,
    *,
    is_plain: bool = False,
) -> None:
    """The outcome, one line each: bounds, gap, how it ended, where the time went."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, force_terminal=False if is_plain else None)
    for label, text in _rows(record, history, output):
        console.print(Text.assemble((f"{label:<13}", "dim"), text), soft_wrap=True)


def _rows(
    record: Mapping[str, Any], history: Mapping[str, Sequence[float]], output: Path
) -> list[tuple[str, str]]:
    n = record["iterations"]
    half_width = history["ci_95"][-1]
    spread = f" ± {money(half_width)} (95 %)" if half_width else ""
    workers = record["workers"]
    on = f" on {len(workers)} workers over {workers[0]['backend']}" if workers else ""
    rows = [
        ("lower bound", money(record["final_lower_bound"])),
        ("upper bound", money(record["final_upper_bound"]) + spread),
        ("gap", percent(record["final_gap"])),
        ("trend", f"{_trend(history['lower_bound'])} of the lower bound"),
        ("iterations", f"{n}: {REASONS[record['termination_reason']]}"),
        ("cuts", f"{record['total_cuts']:,}"),
        ("time", f"{duration(record['wall_time_ms'] / 1000)}{on}{_time_split(record['timings'])}"),
        ("results", str(output)),
    ]
    return rows if len(history["lower_bound"]) > 1 else [row for row in rows if row[0] != "trend"]


def _trend(values: Sequence[float]) -> str:
    """A row of blocks, the taller the higher."""
    low, high = min(values), max(values)
    count = min(len(values), TREND_WIDTH)
    picked = [values[i * (len(values) - 1) // max(1, count - 1)] for i in range(count)]
    top = len(BLOCKS) - 1
    return "".join(
        BLOCKS[1 + round((top - 1) * (v - low) / (high - low))] if high > low else BLOCKS[1] for v in picked
    )


def _time_split(timings: Mapping[str, float]) -> str:
    wall = timings.get("wall_ms", 0.0)
    if not wall:
        return ""
    programs = timings["solver_run_ms"] + timings["solver_basis_ms"]
    shares = {"linear programs": programs, "waiting": timings["waiting_ms"]}
    return ": " + ", ".join(f"{100 * part / wall:.0f} % {name}" for name, part in shares.items())
