"""A launch as a user asks for it: backend, machines, options passed on, signals, and how it ended."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cobre.comm.backend import Backend, Nodes, RankCommand
from cobre.comm.launch import runnable, still_running
from cobre.comm.launch.group import Group
from cobre.comm.launch.kills import Explanation
from cobre.comm.launch.output import Output
from cobre.comm.launch.signals import SignalRelay
from cobre.comm.launch.threads import thread_settings
from cobre.comm.launch.verdict import RankResult, first_failure, result_of
from cobre.comm.launch.visitors import Visitors
from cobre.comm.selection import DEFAULT_FOR_MANY, BackendKind, get_backend, require_available
from cobre.comm.trace import merging, summary
from cobre.errors import CobreError

__all__ = ["Ending", "Request", "launch"]

KEPT_LINES = 200
"""Of each rank, for the report of a failure; a long run may print more than memory holds."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to start. ``passed_on`` are options for the backend's own starter."""

    argv: Sequence[str]
    size: int
    backend: str = DEFAULT_FOR_MANY
    passed_on: Sequence[str] = ()
    nodes: Nodes | None = None
    timeout: float | None = None
    grace_s: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the ranks."""


@dataclass(frozen=True)
class Ending:
    """How a launch ended: every rank's result, the signals that asked for the end, why a signal may have ended the
    rank to blame, and what was traced, if anything."""

    results: list[RankResult]
    asked_to_end: list[signal.Signals]
    explanation: Explanation | None = None
    trace: str = ""

    @property
    def culprit(self) -> RankResult | None:
        """The rank to blame, if one failed."""
        return first_failure(self.results)

    @property
    def status(self) -> int:
        """Exit status of the launcher."""
        return 0 if self.culprit is None else self.culprit.status


def launch(request: Request, output: Output) -> Ending:
    """Run it to its end. Call from the main thread: it handles signals meanwhile.

    Past the timeout all ranks are killed and `WorkerError` names those that still ran.
    """
    is_auto = request.backend.strip().lower() == BackendKind.AUTO
    record = get_backend(DEFAULT_FOR_MANY if is_auto else request.backend)
    visitors = None
    argv = runnable(request.argv)
    record.require_size(request.size)
    if record.has_starter:
        rank_variables = [names.rank for names in record.launch_variables]
        visitors = Visitors(request.size, rank_variables, is_split=output.is_split, keep_lines=KEPT_LINES)
        argv = visitors.wrap(argv)
    commands = _commands(record, request, argv)
    deadline = time.monotonic() + request.timeout if request.timeout is not None else math.inf
    environ = {**os.environ, **thread_settings(_local_size(request), os.environ), **request.variables}
    with (
        merging(environ) as traces,
        Group(commands, output, grace_s=request.grace_s, keep_lines=KEPT_LINES, visitors=visitors) as group,
        SignalRelay(group) as relay,
    ):
        group.start(record.name, environ, stdin=_stdin())
        relay.all_started()
        if not group.wait(deadline):
            raise still_running(group, request.timeout)
    results = [result_of(rank, group.started_at) for rank in group.ranks]
    if visitors is not None:
        results = [
            visitors.culprit(result, group.started_at) if result.exit_code else result for result in results
        ]
    culprit = first_failure(results)
    explanation = None
    if culprit is not None and not culprit.was_ended:
        explanation = group.signals.explain(culprit.exit_code)
    return Ending(results, relay.asked_to_end, explanation, summary(traces) if traces else "")


def _commands(record: Backend, request: Request, argv: Sequence[str]) -> list[RankCommand]:
    require_available(record)
    if request.nodes is not None:
        if record.node_commands is None:
            raise CobreError(
                f"the {record.name} backend cannot be started on several machines with --nodes",
                suggestion="choose --backend tcp, or for mpi pass a host list on to mpiexec",
            )
        return record.node_commands(argv, request.nodes)
    if request.passed_on:
        if record.option_commands is None:
            raise CobreError(
                f"unknown options {' '.join(request.passed_on)}: the {record.name} backend has no starter of its own "
                "to pass them on to",
                suggestion="see cobre launch --help; put -- in front of the program if they belong to it",
            )
        return record.option_commands(argv, request.size, request.passed_on)
    return record.rank_commands(argv, request.size)


def _local_size(request: Request) -> int:
    return request.size if request.nodes is None else len(request.nodes.ranks)


def _stdin() -> int:
    """This process's stdin for rank 0, but not the terminal of somebody who works in the foreground."""
    try:
        descriptor = sys.stdin.fileno()
        if os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp():
            return subprocess.DEVNULL
    except (AttributeError, OSError, ValueError):  # closed, replaced, or no controlling terminal
        return subprocess.DEVNULL
    return descriptor
