"""Continues a run after one of its workers has died."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cobre.comm.launch.kills import signal_name
from cobre.comm.launch.restarts import Restarts
from cobre.errors import InitializationFailed, WorkerError

T = TypeVar("T")


def with_restarts(
    attempt: Callable[[int, Restarts], T],
    num_workers: int,
    max_restarts: int,
    on_note: Callable[[str], None] | None,
) -> T:
    """What ``attempt(workers, restarts)`` returns; it is called again after a worker was killed.

    An error that a worker raised is not cured by another attempt and is raised at once.
    """
    restarts, workers = Restarts(max_restarts), num_workers
    while True:
        try:
            return attempt(workers, restarts)
        except WorkerError as error:
            if error.inner is not None:
                raise
            size = restarts.size_after(workers, error.rank)
            if size is None:
                raise
            how = signal_name(error.exit_code) if error.exit_code < 0 else f"exit status {error.exit_code}"
            what = f"worker {error.rank} of {workers} ended with {how}"
        except InitializationFailed as error:
            size = restarts.size_after(workers, None, could_start=False) if restarts.used else None
            if size is None:
                raise
            what = error.message
        if on_note is not None:
            left = f"restart {restarts.used} of {max_restarts}"
            on_note(f"{what}: starting again with {size} worker{'s' if size > 1 else ''} ({left})")
        workers = size
