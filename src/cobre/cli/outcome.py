"""How training went, on a screen or as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from cobre import study
from cobre.cli.figures import duration, money
from cobre.cli.sparkline import sparkline
from cobre.cli.wrapping import screen_width, wrap_lines
from cobre.sddp.checkpointing import checkpoints_in
from cobre.sddp.gap import GapEstimate
from cobre.sddp.stopping import REASONS
from cobre.study.gap import counts_what_follows, gap_sentence
from cobre.study.starting import CHECKPOINT_FOLDER

if TYPE_CHECKING:
    from cobre.sddp.result import TrainingResult
    from cobre.study import RunResult, SimulationResult

__all__ = [
    "bound_text",
    "comparable_bound",
    "run_summary",
    "show_record",
    "show_run",
    "simulation_document",
    "simulation_summary",
    "training_document",
]

FIELDS = (
    "iterations",
    "final_lower_bound",
    "final_upper_bound",
    "final_gap",
    "gap_estimate",
    "termination_reason",
    "total_cuts",
    "wall_time_ms",
)
LABEL_WIDTH = 13


def training_document(result: TrainingResult) -> dict[str, Any]:
    """The ``training`` part of the JSON answer of ``cobre run``."""
    metadata = study.metadata_of(result)
    return {field: metadata[field] for field in FIELDS}


def simulation_document(result: SimulationResult) -> dict[str, Any]:
    """The ``simulation`` part of the JSON answer of ``cobre run`` and ``cobre simulate``."""
    return {
        "scenarios": result.scenarios,
        "output_files": len(result.output_files),
        "wall_time_ms": result.wall_time_ms,
        "statistics": result.metadata["statistics"],
    }


def run_summary(result: RunResult) -> str:
    """One sentence about a run."""
    parts = []
    if result.training is not None:
        training = result.training
        parts.append(
            f"{training.iterations} iterations, lower bound {training.final_lower_bound:.10g}, "
            f"ended by {training.termination_reason}"
        )
    if result.simulation is not None:
        parts.append(simulation_summary(result.simulation))
    return "; ".join(parts)


def simulation_summary(result: SimulationResult) -> str:
    """One sentence about a simulation."""
    if result.stop_signal is not None:
        return "the simulation was stopped before its end"
    return f"{result.scenarios} scenarios, mean cost {result.mean_cost:.10g}"


def show_run(stream: TextIO, result: RunResult, output: Path, *, is_plain: bool = False) -> None:
    """The result of a run that just ended."""
    training, simulation = result.training, result.simulation
    if training is not None:
        record = {**study.metadata_of(training), "timings": training.timings}
        show_record(stream, record, training.history, output, is_plain=is_plain)
        if training.termination_reason == "shutdown" and checkpoints_in(output / CHECKPOINT_FOLDER):
            label = "continue".ljust(LABEL_WIDTH)
            stream.write(f"{label}with --resume: the run goes on after iteration {training.iterations}\n")
    if simulation is None:
        return
    if training is not None:
        stream.write("\n")
    if simulation.stop_signal is not None:
        stream.write("the simulation was stopped before its end: its tables are not complete\n")
        return
    from cobre.cli.planner_page import show_simulation

    bound = None if training is None else bound_text(study.metadata_of(training), simulation)
    show_simulation(stream, simulation, bound, is_plain=is_plain)


def bound_text(metadata: Mapping[str, Any], simulation: SimulationResult) -> str | None:
    """How the lower bound of a training run lies to the mean cost of scenarios; None where that says nothing."""
    from cobre.cli.planner_page import bound_line

    if counts_what_follows(metadata):
        return "without what follows the last stage, which the lower bound counts"
    bound = comparable_bound(metadata, simulation)
    if bound is None:
        return None
    return bound_line(bound, simulation.statistics["mean_cost"], simulation.statistics["ci_95"])


def comparable_bound(metadata: Mapping[str, Any], simulation: SimulationResult) -> float | None:
    """The lower bound of a training run, if it bounds the expected cost of these scenarios."""
    facts = metadata.get("gap_estimate")
    if (
        not simulation.is_in_sample
        or not simulation.is_of_case(metadata.get("case_digest"))
        or facts is None
        or counts_what_follows(metadata)
        or facts["status"] in ("risk_adjusted", "other_scenarios")
    ):
        return None
    return float(metadata["final_lower_bound"])


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
    width = None if is_plain else screen_width(stream)
    for label, text in _rows(record, history, output):
        label = f"{label:<{LABEL_WIDTH}}"
        line = wrap_lines(f"{label}{text}", width, hanging=LABEL_WIDTH)
        console.print(Text.assemble((label, "dim"), line[LABEL_WIDTH:]), soft_wrap=True)


def _rows(
    record: Mapping[str, Any], history: Mapping[str, Sequence[float]], output: Path
) -> list[tuple[str, str]]:
    n = record["iterations"]
    workers = record["workers"]
    on = f" on {len(workers)} workers over {workers[0]['backend']}" if workers else ""
    rows = [
        ("lower bound", money(record["final_lower_bound"])),
        *_cost_rows(record.get("gap_estimate")),
        ("trend", f"{sparkline(history['lower_bound'])} of the lower bound"),
        ("iterations", f"{n}: {REASONS[record['termination_reason']]}"),
        ("cuts", f"{record['total_cuts']:,}"),
        ("time", f"{duration(record['wall_time_ms'] / 1000)}{on}{_time_split(record['timings'])}"),
        ("results", str(output)),
    ]
    return rows if len(history["lower_bound"]) > 1 else [row for row in rows if row[0] != "trend"]


def _cost_rows(facts: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The mean cost of the last trajectories, which is an upper bound if it can be compared, and the gap."""
    if facts is None:  # results of an earlier version
        return []
    estimate = GapEstimate(**facts)
    mean = money(estimate.mean_cost)
    is_bound = estimate.status in ("within", "not_yet")
    if estimate.trajectories == 1:
        mean += " (the study has one trajectory)" if is_bound else " (one trajectory)"
    else:
        last = f" of the last {estimate.iterations} iterations" if estimate.iterations > 1 else ""
        mean += f" ± {money(estimate.half_width)} (95 %, {estimate.trajectories} trajectories{last})"
    return [("upper bound" if is_bound else "mean cost", mean), ("gap", gap_sentence(estimate))]


def _time_split(timings: Mapping[str, float]) -> str:
    wall = timings.get("wall_ms", 0.0)
    if not wall:
        return ""
    programs = timings["solver_run_ms"] + timings["solver_basis_ms"]
    shares = {"linear programs": programs, "waiting": timings["waiting_ms"]}
    return ": " + ", ".join(f"{100 * part / wall:.0f} % {name}" for name, part in shares.items())
