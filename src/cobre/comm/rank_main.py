"""What runs in each process that `cobre.comm.run` starts, with the descriptor of its task as only argument."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

import cloudpickle

from cobre._lazy import collecting_garbage_later
from cobre._process import needs_whole_end, run_alone
from cobre.comm.events import receiving
from cobre.comm.report import HELD_SIGNALS, Outbox, Tag, failure_of
from cobre.comm.selection import create_communicator
from cobre.errors import CobreError

__all__ = ["dump_exception", "load_task", "main", "script"]


def load_task(descriptor: int) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], bool]:
    """The function, its arguments, and whether the caller receives events."""
    with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ) as memory:
        wants_events, call = pickle.loads(memory)  # noqa: S301 - from the process that started us
    os.close(descriptor)
    function, args, kwargs = pickle.loads(call)  # noqa: S301
    return function, args, kwargs, wants_events


def _load_uninterrupted(descriptor: int) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], bool]:
    """`load_task`, with signals held until what it needs is imported.

    Libraries that are being imported print tracebacks of their own when a KeyboardInterrupt meets them.
    """
    try:
        with collecting_garbage_later():
            task = load_task(descriptor)
            if not _is_of_cobre(task[0]):
                needs_whole_end()
            import_module("cobre._native")
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS)
    return task


def _is_of_cobre(function: Callable[..., Any]) -> bool:
    """Whether a rank runs Cobre's own work, which closes every file by itself."""
    return str(getattr(function, "__module__", None)).startswith("cobre.")


class _WithoutConstructor:
    """Stands for an exception whose constructor refuses what pickle gives it, and loads as that exception."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Callable[..., BaseException], tuple[Any, ...]]:
        return _remake, (type(self._error), self._error.args, self._error.__dict__)


def _remake(kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def dump_exception(error: BaseException) -> bytes:
    """A description, and the exception itself if it can be sent at all."""
    description = "".join(traceback.format_exception_only(error)).strip()
    data = b""
    for form in (error, _WithoutConstructor(error)):
        with contextlib.suppress(
            Exception
        ):  # whatever a foreign class raises when it is pickled, made or shown
            candidate = cloudpickle.dumps(form)
            again = pickle.loads(candidate)  # noqa: S301
            if isinstance(again, BaseException) and str(again) == str(error):
                data = candidate
                break
    return pickle.dumps((description, data))


def _dump_result(result: Any, rank: int) -> bytes:
    try:
        data: bytes = cloudpickle.dumps(result)
    except Exception as error:
        raise CobreError(
            f"what rank {rank} returned cannot be sent back: {error}",
            kind="IncompatibleSettings",
            suggestion="return what can be pickled: numbers, arrays, plain objects",
        ) from error
    return data


def script() -> int:
    """`main` as the program of a whole process."""
    return run_alone(main)


def main() -> int:
    """Call the function, send back what it returned or raised; the exit status."""
    outbox = Outbox.from_environment()
    if outbox is None or len(sys.argv) != 2:
        raise CobreError(
            "only cobre.comm.run starts this module", suggestion="call cobre.comm.run from Python"
        )
    try:
        function, args, kwargs, wants_events = _load_uninterrupted(int(sys.argv[1]))

        def send_event(event: Any) -> None:
            if wants_events:
                outbox.send(Tag.EVENT, cloudpickle.dumps(event))

        with create_communicator() as comm, receiving(send_event):
            result = function(comm, *args, **kwargs)
        outbox.send(Tag.RESULT, _dump_result(result, comm.rank))
    except SystemExit:
        raise
    except BaseException as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            error.__traceback__ = error.__traceback__.tb_next  # the user's frames, not this one
        outbox.send(Tag.EXCEPTION, dump_exception(error))
        outbox.send(Tag.FAILURE, failure_of(error).to_bytes())
        if isinstance(error, KeyboardInterrupt):
            _end_by(signal.SIGINT)
        return 1
    return 0


def _end_by(number: signal.Signals) -> None:
    """End as a program does that does not handle this signal, so that the parent sees why."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
