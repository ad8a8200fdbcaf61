"""Simulate a trained policy, in this process, in several, or on a group of ranks that exists already."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.comm import GroupMember, emit
from cobre.core.case import Case
from cobre.core.training_tables import RETRY_HISTOGRAM, SOLVER_ITERATIONS
from cobre.errors import ValidationError
from cobre.files import sync_files
from cobre.io.write import RunRecord
from cobre.io.write.dictionaries import write_dictionaries
from cobre.io.write.folder import claim, clear_simulation
from cobre.io.write.model_facts import write_model_facts
from cobre.io.write.parts import join_parts, remove_parts, removing_unfinished
from cobre.io.write.simulation import ScenarioFiles, SimulationWriter, TableFiles
from cobre.io.write.simulation_end import finish_simulation, write_solver_tables, write_summaries
from cobre.io.write.training import CONVERGENCE
from cobre.sddp.events import OnDetail, OnProgress
from cobre.sddp.given_cuts import changes_since
from cobre.sddp.hosts import distribution, host_names
from cobre.sddp.policy import Policy
from cobre.sddp.sharing import share, tell_all, together
from cobre.sddp.simulation import SimulationOutcome
from cobre.sddp.simulation import simulate as simulate_on
from cobre.sddp.simulation.paths import SimulatedPaths
from cobre.sddp.simulation.tables import tables_of
from cobre.sddp.solver_tables import retry_columns, solve_totals, solver_columns
from cobre.study.cases import configured
from cobre.study.control import Control
from cobre.study.control_desk import open_desk
from cobre.study.output import POLICY_FOLDER
from cobre.study.parcel import Parcel
from cobre.study.ranks import (
    backend_name,
    check_ranks,
    on_first_rank,
    run_here_or_apart,
)
from cobre.study.results import SimulationResult
from cobre.study.run_events import OnEvent, RunEvents
from cobre.study.run_facts import RunClock
from cobre.study.threads import Threads, threads_of_rank, wanted_threads

MAX_SCENARIOS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class _Order:
    """What every rank needs."""

    case: Case
    policy: Policy
    n_scenarios: int
    folder: Path | None
    run: RunRecord
    control: str | None = None
    """Where the first rank listens for requests."""
    wants_details: bool = False
    threads: int | str = 1
    """Of each rank: see `cobre.study.threads`."""


def simulate(
    case: Case | str | PathLike[str] | None,
    policy: Policy | str | PathLike[str] | None = None,
    num_workers: int = 1,
    backend: str = "auto",
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: OnProgress | None = None,
    output: str | PathLike[str] | None = None,
    comm: GroupMember | None = None,
    scenarios: int | None = None,
    on_note: Callable[[str], None] | None = None,
    on_event: OnEvent | None = None,
    control: Control | None = None,
    threads: Threads = None,
) -> SimulationResult:
    """Run scenarios of ``case`` under ``policy`` and return their tables and statistics.

    ``policy`` is a policy, or the folder of one; by default the one in ``output/policy`` of the case's folder.
    ``scenarios`` is by default ``simulation.num_scenarios`` of ``config.json``. Workers, backend, ``comm`` and
    ``threads`` mean the same as for `train`, and every table has the same bits on any of them. ``on_note`` is told what
    has changed in the study since the policy was trained, and gets the warnings about a case that is read from its
    folder.

    Tables go into the folder ``simulation`` of ``output``. Without ``output`` they go into a temporary folder that
    lives as long as the result; with ``comm`` there is then no place that all ranks share, and only statistics are
    kept.

    SIGINT or SIGTERM ends the simulation after the scenarios that run; the result then has no statistics and the
    folder no ``_SUCCESS``. ``on_event`` and ``control`` are those of `train`.
    """
    check_ranks(comm, num_workers, backend)
    ranks = num_workers if comm is None else comm.size
    name = backend_name(comm, ranks, backend)
    with RunEvents(progress_callback, on_event, on_note, control, ["simulation"], ranks, name) as events:
        return simulate_with(
            events, case, policy, num_workers, backend, config_overrides, output, comm, scenarios, threads
        )


def simulate_with(
    events: RunEvents,
    case: Case | str | PathLike[str] | None,
    policy: Policy | str | PathLike[str] | None,
    num_workers: int,
    backend: str,
    config_overrides: Mapping[str, Any] | None,
    output: str | PathLike[str] | None,
    comm: GroupMember | None,
    scenarios: int | None,
    threads: Threads,
) -> SimulationResult:
    """`simulate`, reporting to ``events``."""
    is_temporary = output is None and comm is None
    target = None if output is None else Path(output)
    if is_temporary:
        target = Path(tempfile.mkdtemp(prefix="cobre_simulation_"))

    def prepare() -> _Order:
        study = configured(case, config_overrides, events.note)
        count = scenario_count(study, scenarios)
        order = _Order(
            study,
            _policy(study, policy),
            count,
            target,
            RunRecord.start(study),
            threads=wanted_threads(threads),
        )
        _note_changes(order, events.note)
        if order.folder is not None:
            resources.enter_context(claim(order.folder))
            resources.enter_context(removing_unfinished(order.folder))
        kept = None if is_temporary else order.folder
        events.begin(study, order.run, kept, threads=order.threads, keeps=True)
        return replace(order, control=events.control_address, wants_details=events.wants_details)

    try:
        with ExitStack() as resources:
            if comm is not None:
                order = tell_all(comm, on_first_rank(comm, prepare))
                outcome = simulate_rank(comm, order, events.receive, events.receive)
            else:
                order = prepare()
                outcome = run_here_or_apart(
                    simulate_rank, _worker, order, num_workers, backend, events.receive
                )
            events.simulation_ended(outcome, order.n_scenarios)
    except BaseException:
        if is_temporary and target is not None:
            shutil.rmtree(target, ignore_errors=True)
        raise
    source = asdict(order.case.config.simulated_source)
    return SimulationResult.of(outcome, target, source, is_temporary=is_temporary)


def _worker(comm: GroupMember, parcel: Parcel[_Order]) -> SimulationOutcome | None:
    outcome = simulate_rank(comm, share(comm, parcel.open()), emit, emit)
    return outcome if comm.rank == 0 else None


def simulate_rank(
    comm: GroupMember, order: _Order, on_progress: OnProgress | None, on_detail: OnDetail | None
) -> SimulationOutcome:
    """Collective: simulate and write; the outcome, on every rank."""
    clock = RunClock()
    case, folder, threads = order.case, order.folder, threads_of_rank(comm, order.threads)
    sink = _open_sink(order, comm)

    def clear() -> None:
        if comm.rank == 0 and folder is not None:
            clear_simulation(folder)  # not before: a policy that does not fit leaves the last results alone

    try:
        with open_desk(order.control if comm.rank == 0 else None) as desk:
            outcome = simulate_on(
                comm,
                case,
                order.policy,
                order.n_scenarios,
                sink=sink,
                on_progress=on_progress,
                on_ready=clear,
                on_detail=on_detail if order.wants_details else None,
                desk=desk,
                threads=threads,
            )
    except BaseException:
        if sink is not None:
            sink.rows.abandon()
        raise
    if folder is None or sink is None:
        return outcome
    hosts = host_names(comm)

    def join() -> None:
        joined = sink.joined([table.schema for table in tables_of(case)])
        for schema in joined[comm.rank :: comm.size]:
            join_parts(folder, schema)
        sync_files(folder)

    def finish() -> None:
        if comm.rank == 0:
            remove_parts(folder)
            _finish(folder, order, outcome, _metadata(order, outcome, comm, hosts, clock, threads))

    for step in (sink.rows.close, join, finish):
        together(comm, step)
    return outcome


def _open_sink(order: _Order, comm: GroupMember) -> SimulationWriter | None:
    if order.folder is None:
        return None
    is_by_table = order.case.config.simulation.layout == "by_table"
    writer = TableFiles if is_by_table else ScenarioFiles
    return writer(order.folder, comm.rank, comm.size)


def _finish(folder: Path, order: _Order, outcome: SimulationOutcome, metadata: Mapping[str, Any]) -> None:
    stage_ids = [stage.id for stage in order.case.horizon.stages]
    is_complete = outcome.statistics is not None
    if is_complete:
        paths = SimulatedPaths.of(order.case, order.n_scenarios)
        write_summaries(folder, stage_ids, outcome.costs, paths.node_ids, paths.probabilities)
    solves = [(None, "simulation", outcome.counters)]
    solver_tables = [
        (SOLVER_ITERATIONS, solver_columns(solves, stage_ids)),
        (RETRY_HISTOGRAM, retry_columns(solves, stage_ids)),
    ]
    write_solver_tables(folder, solver_tables)
    write_dictionaries(folder, order.case, order.policy.state_names)
    if not (folder / CONVERGENCE).exists():  # nothing was trained here
        write_model_facts(folder, order.case)
    finish_simulation(folder, metadata, is_complete=is_complete)


def _metadata(
    order: _Order,
    outcome: SimulationOutcome,
    comm: GroupMember,
    hosts: list[str],
    clock: RunClock,
    threads: int,
) -> dict[str, Any]:
    statistics = outcome.statistics
    n = order.n_scenarios if statistics is not None else 0
    return {
        **order.run.facts("complete" if statistics is not None else "partial"),
        **clock.facts(),
        "scenarios": {"total": order.n_scenarios, "completed": n, "failed": 0},
        "cost": None
        if statistics is None
        else {"mean_cost": statistics.mean_cost, "std_cost": statistics.std_cost},
        "statistics": None if statistics is None else statistics.to_dict(),
        "layout": order.case.config.simulation.layout,
        "scenario_source": asdict(order.case.config.simulated_source),
        "wall_time_ms": outcome.wall_time_ms,
        "solve_stats": {**solve_totals(outcome.counters), "parallelism": comm.size},
        "distribution": distribution(comm.backend, hosts, threads),
        "controls": [asdict(each) for each in outcome.controls],
    }


def _policy(case: Case, given: Policy | str | PathLike[str] | None) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | PathLike):
        return Policy.load(Path(given))
    if given is not None:
        raise TypeError(f"{given!r:.80} is no policy\n  fix: pass a cobre.Policy, or the folder of one")
    if case.folder is None:
        raise TypeError("there is no policy to simulate\n  fix: pass a policy, or the folder of one")
    return Policy.load(Path(case.folder) / "output" / POLICY_FOLDER)


def _note_changes(order: _Order, on_note: Callable[[str], None]) -> None:
    changes = changes_since(order.policy, order.case)
    if changes is not None:
        on_note(f"{changes}. It decides as for the old study")


def scenario_count(case: Case, scenarios: int | None) -> int:
    """How many to simulate: ``scenarios``, by default what the settings of ``case`` say. Raises if that cannot be."""
    settings = case.config.simulation
    n = settings.n_scenarios if scenarios is None else scenarios
    if settings.is_enumerated and n != settings.n_scenarios:
        raise ValidationError(
            f"cannot simulate {n!r} scenarios: simulation.selection is enumerated, and the policy graph has "
            f"{settings.n_scenarios} paths",
            kind="IncompatibleSettings",
            context={"scenarios": repr(n), "paths": settings.n_scenarios},
            suggestion="leave the number out, or set simulation.selection to sampled",
        )
    is_number = isinstance(n, Integral) and not isinstance(n, bool)
    if is_number and 1 <= n <= MAX_SCENARIOS:
        return int(n)
    raise ValidationError(
        f"cannot simulate {n if is_number else repr(n)} scenarios",
        kind="IncompatibleSettings",
        context={"scenarios": n if is_number else repr(n)},
        suggestion=f"ask for 1 to {MAX_SCENARIOS} scenarios",
    )
