"""The options of a launch: backend, machines, options for the backend's own starter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cobre.comm.backend import Backend, Nodes, RankCommand
from cobre.comm.launch.connected import ConnectedRanks
from cobre.comm.launch.launcher import Ending, Plan, launch, runnable
from cobre.comm.launch.output import Output
from cobre.comm.selection import DEFAULT_FOR_MANY, BackendKind, get_backend, require_available
from cobre.errors import CobreError

__all__ = ["Request", "launch_request"]

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


def launch_request(request: Request, output: Output) -> Ending:
    """Run it to its end. Call from the main thread: it handles signals meanwhile."""
    is_auto = request.backend.strip().lower() == BackendKind.AUTO
    record = get_backend(DEFAULT_FOR_MANY if is_auto else request.backend)
    connected = None
    argv = runnable(request.argv)
    record.require_size(request.size)
    if record.has_starter:
        connected = ConnectedRanks(record, request.size, is_split=output.is_split, keep_lines=KEPT_LINES)
        argv = connected.wrap(argv)
    return launch(
        Plan(
            backend=record.name,
            commands=_commands(record, request, argv),
            local_size=request.size if request.nodes is None else len(request.nodes.ranks),
            output=output,
            environ={**os.environ, **request.variables},
            timeout=request.timeout,
            grace_s=request.grace_s,
            keep_lines=KEPT_LINES,
            stdin=_stdin(),
            relays_signals=True,
            connected=connected,
        )
    )


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


def _stdin() -> int:
    """This process's stdin for rank 0, but not the terminal of a foreground job."""
    try:
        descriptor = sys.stdin.fileno()
        if os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp():
            return subprocess.DEVNULL
    except (AttributeError, OSError, ValueError):  # closed, replaced, or no controlling terminal
        return subprocess.DEVNULL
    return descriptor
