"""`run`: call a function on several ranks and get what each returned."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any, NoReturn

from cobre.comm.backend import Backend, RankCommand
from cobre.comm.events import receiving
from cobre.comm.launch.launcher import Plan, launch
from cobre.comm.launch.output import Console
from cobre.comm.outcomes import KEPT_LINES, OnEvent, deliver, raise_failure, result
from cobre.comm.report import HELD_SIGNALS, above_standard
from cobre.comm.selection import (
    DEFAULT_FOR_MANY,
    BackendKind,
    available_backends,
    detected,
    get_backend,
    require_available,
)
from cobre.errors import CobreError, WorkerError

__all__ = ["require_startable", "run"]

# Workers search where this process does, from their first import on: by itself an interpreter would look into the
# working directory first, where a file may have any name, and not where the program found us.
BOOT = "import sys; sys.path[:] = {path!r}; from cobre.comm.rank_main import script; sys.exit(script())"


def run(
    fn: Callable[..., Any],
    *,
    num_workers: int,
    backend: str = "auto",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    on_event: OnEvent | None = None,
    start_method: str = "fresh",
    environment: Mapping[str, str] | None = None,
    collective_timeout: float | None = None,
    relay_signals: bool = False,
) -> list[Any]:
    """Call ``fn(comm, *args, **kwargs)`` on ``num_workers`` ranks and return their results in rank order.

    Workers are fresh processes that never import the caller's ``__main__``: it works from a script without a
    guard, ``python -``, a notebook and the REPL, and functions defined there travel by value. What workers
    print appears here, in whole lines. One worker runs in this process, and there ``timeout`` is not watched.

    ``on_event(rank, event)`` is called here, in the calling thread, for whatever ranks `emit`; events of one rank keep
    their order. ``auto`` takes shm, or what the environment asks for. ``environment`` adds variables to those that
    workers inherit, and ``collective_timeout`` is how many seconds a collective waits for other workers where no
    variable says so. With ``relay_signals`` an interrupt or a request to end goes to the workers alone, which may
    finish and return; a second one kills them. It needs the main thread, and otherwise changes nothing.

    The first failure ends the others and is raised as `WorkerError`, with what the rank raised as ``inner`` and as
    cause. No process, segment or port outlives this call, even if this process is killed.
    """
    _refuse_other_than_fresh(start_method)
    size = index(num_workers)
    if size < 1:
        raise ValueError(f"cannot start {size} workers\n  fix: pass 1 or more")
    if timeout is not None and not timeout > 0:
        raise ValueError(
            f"a timeout of {timeout} s leaves no time\n  fix: pass seconds above 0, or None to wait"
        )
    if not callable(fn):
        raise TypeError(
            f"{fn!r} is no function\n  fix: pass the function itself, and its arguments as args=(…,)"
        )
    args, kwargs = tuple(args), dict(kwargs or {})
    record = require_startable(backend, size)
    if size == 1:
        return [_run_here(record, fn, args, kwargs, on_event)]
    with _task(fn, args, kwargs, on_event is not None) as descriptor:
        ending = launch(
            Plan(
                backend=record.name,
                commands=_commands(record, size, descriptor),
                local_size=size,
                output=Console(prefix=False),
                environ=record.with_timeout({**os.environ, **(environment or {})}, collective_timeout),
                timeout=timeout,
                keep_lines=KEPT_LINES,
                pass_fds=(descriptor,),
                held=HELD_SIGNALS,
                relays_signals=relay_signals and threading.current_thread() is threading.main_thread(),
                on_report=lambda rank: deliver(rank, on_event),
            )
        )
    raise_failure(ending)
    return [result(rank) for rank in ending.ranks]


def _refuse_other_than_fresh(start_method: str) -> None:
    if start_method not in ("fresh", "spawn"):
        raise CobreError(
            f"workers cannot be started by {start_method!r}: a copy of this process would share its locks, threads and "
            "communicators",
            kind="IncompatibleSettings",
            context={"start_method": start_method},
            suggestion="leave start_method alone; workers are fresh processes and need no guard in your script",
        )


def require_startable(backend: str, size: int) -> Backend:
    """The backend that `run` would take for so many workers; raises where it cannot start them."""
    record = _choose(backend, size)
    require_available(record)
    record.require_size(size)
    return record


def _choose(backend: str, size: int) -> Backend:
    """The backend that was asked for, or the one that ``auto`` means for so many workers."""
    if backend != BackendKind.AUTO:
        return get_backend(backend)
    if size == 1:
        return get_backend(BackendKind.LOCAL)
    records = [get_backend(name) for name in available_backends() if name != BackendKind.LOCAL]
    startable = [record for record in records if not record.has_starter]
    asked_for = [record for record in startable if detected(record, os.environ).fits]
    default = [record for record in startable if record.name == DEFAULT_FOR_MANY]
    for record in (*asked_for, *default, *startable):
        return record
    return get_backend(DEFAULT_FOR_MANY)


def _commands(record: Backend, size: int, descriptor: int) -> list[RankCommand]:
    boot = BOOT.format(path=[entry for entry in sys.path if isinstance(entry, str)])
    argv = (sys.executable, "-c", boot, str(descriptor))
    commands = record.rank_commands(argv, size)
    if any(command.rank is None for command in commands):
        _refuse_starter(record)
    return commands


def _refuse_starter(record: Backend) -> NoReturn:
    raise CobreError(
        f"the {record.name} backend has its own way to start ranks and cannot be used from inside a Python program",
        kind="IncompatibleSettings",
        context={"backend": record.name},
        suggestion=f"write a program that calls create_communicator() and start it with cobre launch --backend "
        f"{record.name}, or choose backend='shm' here",
    )


@contextmanager
def _task(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], wants_events: bool
) -> Iterator[int]:
    """A descriptor of memory that holds the call; one copy, whatever the number of workers."""
    import cloudpickle  # slow to import, and one worker needs none

    try:
        call = cloudpickle.dumps((fn, args, kwargs))
    except Exception as error:  # whatever a foreign object raises when it is pickled
        raise CobreError(
            f"the function or its arguments cannot be sent to the workers: {error}",
            kind="IncompatibleSettings",
            suggestion="pass what can be pickled; open files, locks and connections inside the function",
        ) from error
    descriptor = above_standard(os.memfd_create("cobre_comm_task"))
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            pickle.dump((wants_events, call), file)
        yield descriptor
    finally:
        os.close(descriptor)


def _run_here(
    record: Backend,
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    on_event: OnEvent | None,
) -> Any:
    [command] = record.rank_commands(("",), 1)
    if command.rank is None:
        _refuse_starter(record)
    config = record.configure({**os.environ, **command.env})

    def deliver(event: Any) -> None:
        if on_event is not None:
            on_event(0, event)

    try:
        with record.open(config) as comm, receiving(deliver):
            return fn(comm, *args, **kwargs)
    except Exception as error:
        raise WorkerError(0, 1, error) from error
