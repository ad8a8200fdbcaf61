"""Tools that start runs, wait for them and stop them. A run goes on by its handle when a call has ended."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread
from mcp.server.mcpserver.context import Context
from pydantic import Field

from cobre.errors import CobreError
from cobre.mcp.runs import ManagedRun, RunStatus
from cobre.mcp.service import Service
from cobre.mcp.texts import LONGEST_TEXT, clean, fitting
from cobre.mcp.tools.base import Answer, Arguments, Definition, repeatable
from cobre.mcp.tools.cases import CASE_DIR, OVERRIDES
from cobre.mcp.tools.results import GAP, LAST_GAP
from cobre.mcp.tools.starting import start

__all__ = ["RUN_TOOLS"]

LONGEST_WAIT_S = 55.0
"""Many hosts give up after 60 s."""
LOOK_S = 0.1
MOST_LISTED = 50
TELL_S = 1.0
"""Seconds between two progress notifications, at least."""

RUN_ID = Field(description="The run_id that cobre_run answered.", min_length=1, max_length=64)


class RunArguments(Arguments):
    """What to run, and how long to wait for it."""

    case_dir: str = CASE_DIR
    output_dir: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="Folder of the results; default: CASE/output.",
    )
    phases: Literal["training", "simulation", "both"] | None = Field(
        default=None,
        description="training alone; simulation alone, of the policy in output_dir; or both. Default: what config.json "
        "asks for.",
    )
    scenarios: int | None = Field(default=None, ge=1, le=1_000_000, description="Scenarios to simulate.")
    workers: int | None = Field(default=None, ge=1, description="Processes; the bits do not depend on it.")
    config_overrides: dict[str, Any] | None = OVERRIDES
    overwrite: bool = Field(default=False, description="Replace results of an earlier run in output_dir.")
    resume: bool = Field(
        default=False, description="Continue a run of output_dir that was stopped or killed."
    )
    detach: bool = Field(
        default=False,
        description="Let the run go on if this call is cancelled; otherwise it stops after its iteration. It ends with "
        "the server in any case.",
    )
    wait_s: float = Field(
        default=20.0,
        ge=0.0,
        le=LONGEST_WAIT_S,
        description="How long this call waits for the end; then the answer has status running and a run_id.",
    )


class StatusArguments(Arguments):
    """Which run, and how long to wait for its end."""

    run_id: str = RUN_ID
    wait_s: float = Field(default=0.0, ge=0.0, le=LONGEST_WAIT_S, description="How long to wait for its end.")


class StopArguments(Arguments):
    """Which run."""

    run_id: str = RUN_ID
    wait_s: float = Field(
        default=20.0, ge=0.0, le=LONGEST_WAIT_S, description="How long to wait for its end."
    )


class TrainingFacts(Answer):
    """Training so far, or as it ended."""

    iterations: int
    iteration_limit: int | None
    final_lower_bound: float | None
    final_upper_bound: float | None
    final_gap: float | None = Field(description=LAST_GAP)
    gap: str | None = Field(description=GAP)
    termination_reason: str | None = Field(description="null while it goes on.")
    total_cuts: int | None
    wall_time_ms: float


class SimulationFacts(Answer):
    """Simulation so far, or as it ended."""

    scenarios: int
    scenarios_total: int
    mean_cost: float | None
    std_cost: float | None
    output_files: list[str] = Field(
        description="Files and folders of the results; a table is a folder with a file for each scenario."
    )
    wall_time_ms: float


class RunFacts(Answer):
    """A run."""

    run_id: str
    status: RunStatus
    case_dir: str
    output_dir: str
    phase: Literal["training", "simulation"] | None
    training: TrainingFacts | None
    simulation: SimulationFacts | None
    stopped_by: str | None = Field(description="Why it was asked to stop; null if it was not.")
    seconds_left: float | None = Field(description="Until a limit ends training; it may end sooner.")
    warnings: list[str]
    error: dict[str, Any] | None = Field(description="Why it failed: kind, message, context, suggestion.")
    next: str = Field(description="What to call next.")


class RunList(Answer):
    """The runs of this server."""

    runs: list[RunFacts] = Field(description="The newest first; of each the last warning.")
    truncated: bool = Field(description="Whether older runs were left out.")


async def run(service: Service, arguments: RunArguments, context: Context) -> RunFacts:
    """Start a run and wait for it for a while."""
    deadline = time.monotonic() + arguments.wait_s
    with anyio.CancelScope(shield=True):  # a run that was started is never left without its handle
        managed = await anyio.to_thread.run_sync(start, service, arguments)
    try:
        await _wait(managed, deadline, context)
    except anyio.get_cancelled_exc_class():
        if not arguments.detach:
            managed.stop("the call that waited for it was cancelled")
        raise
    facts = await anyio.to_thread.run_sync(run_facts, service, managed)
    if facts.error is not None:
        raise _failure(facts.error)
    return facts


async def _wait(managed: ManagedRun, deadline: float, context: Context) -> None:
    """Until the run has ended, or until ``deadline``; tells progress on the way."""
    told_at, told = 0.0, -1.0
    while managed.is_live and time.monotonic() < deadline:
        if time.monotonic() - told_at >= TELL_S:
            progress, total, message = await anyio.to_thread.run_sync(_progress, managed)
            if progress > told:
                await context.report_progress(progress, total, message)
                told = progress
            told_at = time.monotonic()
        await anyio.sleep(min(LOOK_S, max(0.0, deadline - time.monotonic())))


def _progress(managed: ManagedRun) -> tuple[float, float | None, str]:
    """Iterations and scenarios that are done, which only rise; how many there will be; and the bounds."""
    from cobre.study.gap import gap_sentence, recorded_gap

    state = managed.state()
    last = state.last
    iterations = 0 if last is None else last.iteration
    if state.phase == "simulation":
        message = f"scenario {state.scenarios_complete} of {state.scenarios_total}"
        return iterations + state.scenarios_complete, iterations + state.scenarios_total, message
    if last is None:
        return 0.0, None, "the run starts"
    limit = state.iteration_limit
    estimate = recorded_gap(state.gap_estimate)
    mean = last.upper_bound if estimate is None else estimate.mean_cost
    gap = "" if estimate is None else f", gap {gap_sentence(estimate)}"
    bounds = f"lower bound {_figure(last.lower_bound)}, mean cost {_figure(mean)}{gap}"
    of = "" if limit is None else f" of at most {limit}"
    return float(iterations), None, f"iteration {iterations}{of}: {bounds}"


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"


def _failure(error: dict[str, Any]) -> CobreError:
    from cobre.errors import KINDS

    kind = error.get("kind")
    return CobreError(
        str(error.get("message")),
        kind=kind if kind in KINDS else "WorkerFailed",
        context=error.get("context") or {},
        suggestion=str(error.get("suggestion") or ""),
    )


async def run_status(service: Service, arguments: StatusArguments, context: Context) -> RunFacts:
    """Where a run stands."""
    managed = service.runs.get(arguments.run_id)
    await _wait(managed, time.monotonic() + arguments.wait_s, context)
    return await anyio.to_thread.run_sync(run_facts, service, managed)


async def stop_run(service: Service, arguments: StopArguments, context: Context) -> RunFacts:
    """Stop a run after its iteration."""
    managed = service.runs.get(arguments.run_id)
    managed.stop("cobre_stop_run")
    await _wait(managed, time.monotonic() + arguments.wait_s, context)
    return await anyio.to_thread.run_sync(run_facts, service, managed)


def list_runs(service: Service, arguments: Arguments) -> RunList:
    """The runs of this server."""
    runs = [run_facts(service, managed) for managed in reversed(service.runs.all()[-MOST_LISTED:])]
    rows = [{**each.model_dump(), "warnings": each.warnings[-1:]} for each in runs]
    shown = fitting(rows, service.settings.max_bytes // 2)
    return RunList(runs=[RunFacts(**row) for row in shown], truncated=len(shown) < len(service.runs.all()))


def run_facts(service: Service, managed: ManagedRun) -> RunFacts:
    """A run as data."""
    status, state = managed.status(), managed.state()
    error = managed.error()
    return RunFacts(
        run_id=managed.id,
        status=status,
        case_dir=service.roots.shown(managed.case),
        output_dir=service.roots.shown(managed.output),
        phase=state.phase,
        training=_training(state),
        simulation=_simulation(service, managed, state),
        stopped_by=managed.stopped_by,
        seconds_left=clean(state.time_left_s(), service.roots) if managed.is_live else None,
        warnings=clean(state.warnings[-20:], service.roots, LONGEST_TEXT),
        error=None if error is None else clean(error, service.roots, LONGEST_TEXT),
        next=_NEXT[status],
    )


_NEXT = {
    "running": "cobre_run_status with this run_id and wait_s, or cobre_stop_run",
    "stopping": "cobre_run_status with this run_id and wait_s: it ends after its iteration",
    "completed": "cobre_query_convergence, cobre_query_results or cobre_report with this output_dir",
    "partial": "cobre_run with resume: true continues it; cobre_query_convergence shows how far it came",
    "failed": "read the error; cobre_explain_error says what its kind means",
}


def _training(state: Any) -> TrainingFacts | None:
    from cobre.study.gap import gap_sentence, recorded_gap

    last, ended = state.last, state.terminated or {}
    if last is None:
        return None
    estimate = recorded_gap(state.gap_estimate)
    return TrainingFacts(
        iterations=last.iteration,
        iteration_limit=state.iteration_limit,
        final_lower_bound=last.lower_bound,
        final_upper_bound=last.upper_bound,
        final_gap=last.gap,
        gap=None if estimate is None else gap_sentence(estimate),
        termination_reason=ended.get("reason"),
        total_cuts=ended.get("total_cuts"),
        wall_time_ms=last.wall_time_ms,
    )


def _simulation(service: Service, managed: ManagedRun, state: Any) -> SimulationFacts | None:
    ended = state.simulated or {}
    if not ended and not state.scenarios_total:
        return None
    return SimulationFacts(
        scenarios=ended.get("scenarios", state.scenarios_complete),
        scenarios_total=ended.get("scenarios_total", state.scenarios_total),
        mean_cost=ended.get("mean_cost"),
        std_cost=ended.get("std_cost"),
        output_files=_output_files(service, managed.output) if ended else [],
        wall_time_ms=ended.get("elapsed_ms", state.simulation_ms),
    )


def _output_files(service: Service, output: Path) -> list[str]:
    """What a simulation wrote, as answers name it."""
    folder = output / "simulation"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [service.roots.shown(each) for each in found if not each.name.startswith(("_", "."))]


RUN_TOOLS = (
    Definition(
        "cobre_run",
        "Run a case",
        "Train the policy of a case and simulate it, as `cobre run` does, to the same bits. Waits wait_s; a longer run "
        "goes on, and the answer has status running and a run_id for cobre_run_status. Cancelling this call stops the "
        "run after its iteration, with its policy kept, unless detach is true.",
        RunArguments,
        RunFacts,
        waiting_work=run,
        writes=True,
        hints={"destructive_hint": True, "idempotent_hint": False},
    ),
    Definition(
        "cobre_run_status",
        "Where a run stands",
        "Bounds, iterations, scenarios and outcome of a run of this server; with wait_s it waits for the end.",
        StatusArguments,
        RunFacts,
        waiting_work=run_status,
    ),
    repeatable(
        "cobre_stop_run",
        "Stop a run",
        "End a run after its running iteration; its policy and a checkpoint are kept, and cobre_run with resume: true "
        "continues it to the same bits.",
        StopArguments,
        RunFacts,
        waiting_work=stop_run,
    ),
    Definition(
        "cobre_list_runs",
        "Runs of this server",
        "Every run that this server started, with its run_id and status.",
        Arguments,
        RunList,
        list_runs,
    ),
)
