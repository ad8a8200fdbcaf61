"""The runs of a server: started as children, watched through their folders, stopped by their guards."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cobre.errors import CobreError
from cobre.mcp.guard import Guard
from cobre.mcp.limits import check_disk, too_much
from cobre.mcp.roots import Roots
from cobre.mcp.settings import Settings

if TYPE_CHECKING:
    from cobre.study.run_state import RunState
    from cobre.study.runs import StartedRun

__all__ = ["ManagedRun", "RunStatus", "RunTable"]

RunStatus = Literal["running", "stopping", "completed", "partial", "failed"]
WATCH_S = 0.2
DISK_S = 2.0
"""How often the space on the disk is looked at."""
CLOSE_S = 10.0
"""How long the end of the server waits for a run that is just being started."""
MOST_REMEMBERED = 100
"""Ended runs that can still be asked for by their id."""


class ManagedRun:
    """One run and its handle."""

    def __init__(
        self, run: StartedRun, guard: Guard, case: Path, max_seconds: float, min_free_mb: int
    ) -> None:
        from cobre.study.run_log import EVENTS
        from cobre.study.run_state import RunState
        from cobre.study.runs import EventFile

        self.id = secrets.token_hex(8)
        self.case, self.output = case, run.folder
        self.run = run
        self.began = time.monotonic()
        self.stopped_by: str | None = None
        self._guard = guard
        self._max_seconds = max_seconds
        self._min_free_mb = min_free_mb
        self._disk_seen_at = self.began
        self._state = RunState()
        self._events = EventFile(run.folder / EVENTS)
        self._lock = threading.Lock()
        self._is_released = False

    @property
    def is_live(self) -> bool:
        """Whether its process is at work."""
        return self.run.is_live

    def state(self) -> RunState:
        """Where it stands now."""
        with self._lock:
            if self.run.facts:
                self._state.fold(self._events.read())
            return self._state

    def status(self) -> RunStatus:
        """In one word."""
        if self.is_live:
            return "stopping" if self.stopped_by else "running"
        found = self.state().status
        if found == "complete":
            return "completed"
        was_stopped = self.stopped_by is not None and found != "failed"  # perhaps before it told anything
        return "partial" if found == "partial" or was_stopped else "failed"

    def error(self) -> dict[str, Any] | None:
        """Why it failed; None unless it did."""
        if self.is_live or self.status() != "failed":
            return None
        told = self.state().error or _printed_error(self.run.console)
        if told is not None:
            return dict(told)
        code = self.run.process.returncode
        why = f"signal {-code}" if code < 0 else f"exit status {code}"
        return CobreError(
            f"the run ended with {why} before it told its end",
            kind="WorkerFailed",
            suggestion="look at training/console.log of its output folder",
        ).to_dict()

    def stop(self, why: str) -> None:
        """Ask it to stop after its iteration; its policy is kept."""
        with self._lock:
            if self.is_live and self.stopped_by is None:
                self.stopped_by = why
                self._guard.stop()

    def look(self) -> None:
        """Stop it if it took too long or fills the disk, and end its guard if it has ended."""
        if self.is_live:
            now = time.monotonic()
            if now - self.began > self._max_seconds:
                self.stop(f"it took longer than the {self._max_seconds:.0f} s of this server")
            if now - self._disk_seen_at > DISK_S:
                self._disk_seen_at = now
                if shutil.disk_usage(self.output).free // 1_000_000 < self._min_free_mb:
                    self.stop(
                        f"the disk has less than the {self._min_free_mb} MB that this server keeps free"
                    )
            return
        with self._lock:
            if self._is_released:
                return
            self._is_released = True
        self._guard.release()

    def abandon(self) -> None:
        """The server ends."""
        if self._is_released:
            return
        self._guard.abandon()


def _printed_error(console: str) -> dict[str, Any] | None:
    """The error in the answer that ``cobre run --output-format json`` prints, also where it could not start."""
    start = console.find("{\n")
    with contextlib.suppress(ValueError):
        errors = json.loads(console[start:])["errors"] if start >= 0 else []
        return dict(errors[0]) if errors else None
    return None


class RunTable:
    """All runs of a server, by id."""

    def __init__(self, settings: Settings, roots: Roots) -> None:
        self._settings = settings
        self._roots = roots
        self._runs: dict[str, ManagedRun] = {}
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self, case: Path, output: Path, workers: int | None, arguments: Sequence[str]) -> ManagedRun:
        """Start ``cobre run``; raises beyond the limits of the server."""
        from cobre.study.runs import start_run

        if workers is not None and workers > self._settings.max_workers:
            raise too_much(
                f"{workers} workers are more than the {self._settings.max_workers} of this server",
                f"ask for at most {self._settings.max_workers}",
                max_workers=self._settings.max_workers,
            )
        check_disk(output, self._settings.min_free_mb)
        with self._lock:
            self._check_room()
            guard = Guard()
            try:
                run = start_run(case, output=output, workers=workers, arguments=arguments)
                guard.watch(run.process.pid)
            except BaseException:
                guard.release()
                raise
            found = ManagedRun(run, guard, case, self._settings.max_seconds, self._settings.min_free_mb)
            self._runs[found.id] = found
            self._forget_old()
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="cobre-mcp-runs", daemon=True)
                self._watcher.start()
        return found

    def _check_room(self) -> None:
        if self._is_closed.is_set():
            raise CobreError("the server ends and starts no more runs")
        live = [each for each in self._runs.values() if each.is_live]
        if len(live) >= self._settings.max_runs:
            raise too_much(
                f"{len(live)} of at most {self._settings.max_runs} runs of this server are at work",
                "wait for one with cobre_run_status, or stop one with cobre_stop_run",
                max_runs=self._settings.max_runs,
                run_ids=[each.id for each in live],
            )

    def _forget_old(self) -> None:
        ended = [each for each in self._runs.values() if not each.is_live]
        for each in ended[: max(0, len(ended) - MOST_REMEMBERED)]:
            each.look()
            del self._runs[each.id]

    def get(self, run_id: str) -> ManagedRun:
        """The run with this id."""
        found = self._runs.get(run_id)
        if found is None:
            raise CobreError(
                "this server has no such run",
                kind="MissingReference",
                context={"run_id": run_id[:64]},
                suggestion="cobre_list_runs has the ids of its runs; results of others are read from their folders",
            )
        return found

    def all(self) -> list[ManagedRun]:
        """In the order in which they were started."""
        return list(self._runs.values())

    def _watch(self) -> None:
        while not self._is_closed.wait(WATCH_S):
            for each in self.all():
                with contextlib.suppress(
                    Exception
                ):  # one run's folder must not end the watch over the others
                    each.look()

    def close(self) -> None:
        """Ask all runs to stop after their iteration; their guards see to it, whatever becomes of this process."""
        self._is_closed.set()
        is_ours = self._lock.acquire(timeout=CLOSE_S)  # a run that is being started gets its guard first
        try:
            for each in self.all():
                each.look() if not each.is_live else each.abandon()
        finally:
            if is_ours:
                self._lock.release()
