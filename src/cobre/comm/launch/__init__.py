"""Start the ranks of any program, show what they print, and leave nothing behind.

``cobre launch -n 4 -- program.py args…`` is the same from a shell. What to start comes from the backend's
record, so nothing here knows any backend. Linux only.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence

from cobre.comm.backend import Backend, Startable
from cobre.comm.launch.group import Group
from cobre.comm.launch.output import Console, Nowhere, Output
from cobre.comm.launch.threads import thread_settings
from cobre.comm.launch.verdict import RankResult, first_failure, result_of
from cobre.comm.selection import get_backend
from cobre.errors import WorkerError

__all__ = ["RankResult", "first_failure", "run_ranks", "runnable", "still_running"]


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
    look at the exit codes (`first_failure`). Past ``timeout`` seconds all are killed and `WorkerError`
    names those that still ran. No process of any rank outlives this call, or this process.
    """
    if size < 1:
        raise ValueError(f"cannot start {size} ranks: pass 1 or more")
    if not argv:
        raise ValueError("there is no command to start: pass a program and its arguments")
    record = get_backend(backend) if isinstance(backend, str) else backend
    if isinstance(record, Backend):
        record.require_size(size)
    environ = {**os.environ, **(env or {})}
    deadline = time.monotonic() + timeout if timeout is not None else math.inf
    if output is None:
        output = Console(is_split=False) if echo else Nowhere()
    with Group(record.rank_commands(runnable(argv), size), output) as group:
        group.start(record.name, {**environ, **thread_settings(size, environ)})
        if not group.wait(deadline):
            raise still_running(group, timeout)
    return [result_of(rank, group.started_at) for rank in group.ranks]


def runnable(argv: Sequence[str]) -> tuple[str, ...]:
    """The command itself, or this interpreter in front of what only Python can run."""
    is_python = argv[0].endswith(".py") or argv[0] == "-m"
    return (sys.executable, *argv) if is_python else tuple(argv)


def still_running(group: Group, timeout: float | None) -> WorkerError:
    """The error for ranks that have had their time, with the last lines of everybody."""
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
