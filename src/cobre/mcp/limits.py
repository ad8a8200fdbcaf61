"""Limits that keep one caller from taking everything."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cobre.errors import CobreError

__all__ = ["MOST_AT_ONCE", "CallRate", "CallsAtOnce", "check_disk", "too_much"]


MOST_AT_ONCE = 64
"""Calls under way, those that wait for a run included."""


def too_much(message: str, suggestion: str, **context: object) -> CobreError:
    """The error to raise beyond a limit."""
    return CobreError(message, kind="LimitExceeded", context=context, suggestion=suggestion)


class CallRate:
    """Calls per minute: as many at once as a minute may have, then as they come back."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left = float(per_minute)
        self._then = clock()
        self._lock = threading.Lock()

    def take(self) -> None:
        """Count a call; raise if there were too many."""
        with self._lock:
            now = self._clock()
            self._left = min(self._per_minute, self._left + (now - self._then) * self._per_minute / 60.0)
            self._then = now
            if self._left < 1.0:
                raise too_much(
                    f"more than {self._per_minute} calls in a minute",
                    f"wait {60.0 / self._per_minute:.1f} s, then call again; wait_s lets one call wait for a run",
                    max_calls_per_minute=self._per_minute,
                )
            self._left -= 1.0


class CallsAtOnce:
    """Calls that have begun and not ended: each keeps its arguments and its answer in memory."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._count >= self._most:
                raise too_much(
                    f"{self._most} calls are under way",
                    "wait for their answers",
                    max_calls_at_once=self._most,
                )
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1


def check_disk(folder: Path, min_free_mb: int) -> None:
    """Raise if the disk of ``folder``, which may not exist yet, is nearly full."""
    existing = next(each for each in (folder, *folder.parents) if each.is_dir())
    free_mb = shutil.disk_usage(existing).free // 1_000_000
    if free_mb < min_free_mb:
        raise too_much(
            f"the disk has {free_mb} MB left, less than the {min_free_mb} that this server keeps free",
            "remove results that are no longer needed",
            min_free_mb=min_free_mb,
        )
