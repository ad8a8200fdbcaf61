"""The one way in which ranks are started: `launch` runs commands to their end and says how each ended."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from cobre.comm.backend import Backend, RankCommand, Startable
from cobre.comm.launch.blame import RankResult, first_failure, result_of
from cobre.comm.launch.connected import ConnectedRanks
from cobre.comm.launch.group import Group
from cobre.comm.launch.kills import Explanation
from cobre.comm.launch.output import Console, Nowhere, Output
from cobre.comm.launch.process import RankProcess
from cobre.comm.launch.signals import SignalRelay
from cobre.comm.launch.threads import thread_settings
from cobre.comm.selection import get_backend
from cobre.comm.trace import merging, summary
from cobre.errors import WorkerError

__all__ = ["Ending", "Plan", "launch", "run_ranks", "runnable"]

INTERRUPT_GRACE_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to start, and how. ``local_size`` is the number of ranks on this machine."""

    backend: str
    commands: Sequence[RankCommand]
    local_size: int
    output: Output
    environ: Mapping[str, str]
    timeout: float | None = None
    grace_s: float | None = None
    keep_lines: int | None = None
    """Of each rank; None for all."""
    stdin: int = subprocess.DEVNULL
    pass_fds: tuple[int, ...] = ()
    held: Iterable[signal.Signals] = ()
    """Signals that wait until the rank unblocks them."""
    relays_signals: bool = False
    """Signals go to the ranks alone. Only from the main thread."""
    connected: ConnectedRanks | None = None
    """Ranks that the command starts, if it starts them all."""
    on_report: Callable[[RankProcess], None] = lambda rank: None


@dataclass(frozen=True)
class Ending:
    """How a launch ended: every rank's result, the signals that asked for the end, why a signal may have ended the
    rank to blame, and what was traced, if anything."""

    results: list[RankResult]
    asked_to_end: list[signal.Signals]
    explanation: Explanation | None = None
    trace: str = ""
    ranks: list[RankProcess] = field(default_factory=list, repr=False)
    """The processes, for what they reported."""

    @property
    def culprit(self) -> RankResult | None:
        """The rank to blame, if one failed."""
        return first_failure(self.results)

    @property
    def status(self) -> int:
        """Exit status of the launcher."""
        return 0 if self.culprit is None else self.culprit.status


def launch(plan: Plan) -> Ending:
    """Run it to its end.

    Past the timeout all ranks are killed and `WorkerError` names those that still ran. No process of any rank outlives
    this call, or this process.
    """
    deadline = time.monotonic() + plan.timeout if plan.timeout is not None else math.inf
    environ = {**plan.environ, **thread_settings(plan.local_size, plan.environ)}
    with (
        merging(environ) as traces,
        Group(
            plan.commands,
            plan.output,
            grace_s=plan.grace_s,
            keep_lines=plan.keep_lines,
            connected=plan.connected,
        ) as group,
        SignalRelay(group) if plan.relays_signals else nullcontext() as relay,
    ):
        group.on_report = plan.on_report
        try:
            group.start(plan.backend, environ, stdin=plan.stdin, pass_fds=plan.pass_fds, held=plan.held)
            if relay is not None:
                relay.all_started()
            is_done = group.wait(deadline)
        except KeyboardInterrupt:
            group.send(signal.SIGINT)  # ranks run in sessions of their own: the terminal did not signal them
            group.wait(min(deadline, time.monotonic() + INTERRUPT_GRACE_S))
            raise
        if not is_done:
            raise _still_running(group, plan.timeout)
    results = [result_of(rank, group.started_at) for rank in group.ranks]
    if plan.connected is not None:
        failure_of = plan.connected.culprit
        results = [failure_of(result, group.started_at) if result.exit_code else result for result in results]
    culprit = first_failure(results)
    explanation = None
    if culprit is not None and not culprit.was_ended:
        explanation = group.signals.explain(culprit.exit_code)
    asked_to_end = relay.asked_to_end if relay is not None else []
    return Ending(results, asked_to_end, explanation, summary(traces) if traces else "", group.ranks)


def run_ranks(
    backend: Startable | str,
    size: int,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    echo: bool = True,
    output: Output | None = None,
) -> list[RankResult]:
    """Run ``size`` ranks of the command ``argv`` and return how they ended, in rank order.

    A ``*.py`` file and ``-m module`` run with this interpreter. ``env`` is added to this process's
    environment. With ``echo`` every line appears on stdout as it comes, behind its rank; an ``output`` gets
    them instead.

    When a rank fails the others get a short grace, then SIGTERM, then SIGKILL; it is for the caller to
    look at the exit codes (`cobre.comm.launch.first_failure`). Past ``timeout`` seconds all are killed and
    `WorkerError` names those that still ran. No process of any rank outlives this call, or this process.
    """
    if size < 1:
        raise ValueError(f"cannot start {size} ranks: pass 1 or more")
    if not argv:
        raise ValueError("there is no command to start: pass a program and its arguments")
    record = get_backend(backend) if isinstance(backend, str) else backend
    if isinstance(record, Backend):
        record.require_size(size)
    if output is None:
        output = Console(is_split=False) if echo else Nowhere()
    return launch(
        Plan(
            backend=record.name,
            commands=record.rank_commands(runnable(argv), size),
            local_size=size,
            output=output,
            environ={**os.environ, **(env or {})},
            timeout=timeout,
        )
    ).results


def runnable(argv: Sequence[str]) -> tuple[str, ...]:
    """The command itself, or this interpreter in front of what only Python can run."""
    is_python = argv[0].endswith(".py") or argv[0] == "-m"
    return (sys.executable, *argv) if is_python else tuple(argv)


def _still_running(group: Group, timeout: float | None) -> WorkerError:
    """The error for ranks that have had their time, with the last lines of all ranks."""
    names = ", ".join(f"rank {rank.rank}" if rank.rank is not None else "the ranks" for rank in group.running)
    error = WorkerError(
        group.running[0].rank or 0,
        -signal.SIGKILL,
        TimeoutError(f"{timeout} s"),
        f"still running after {timeout} s, now killed: {names}",
        suggestion="see what these ranks wait for in their last lines, or allow more time",
    )
    for rank in group.ranks:
        for line in list(rank.tail)[-5:]:
            prefix = "" if rank.rank is None else f"[{rank.rank}] "
            error.add_note(f"{prefix}{line.decode(errors='replace')}")
    return error
