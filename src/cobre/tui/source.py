"""Where the events come from: the folder of a run, a pipe, or a file that is replayed."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from cobre.errors import CobreError, IOError
from cobre.study import AttachedRun, Control, EventFile, StartedRun

__all__ = ["FolderSource", "PipeSource", "Reader", "ReplaySource", "Source"]

POLL_S = 0.1
BATCH = 2000
CONVERGENCE_FACTS = ("cuts_added", "cuts_removed", "cuts_active", "lp_solves")


class Source(Protocol):
    """Gives events as they come."""

    title: str
    is_replay: bool
    """Whether its end is the end of the input and nothing more."""

    def batches(self) -> Iterator[list[Any]]:
        """New events, an empty list where there are none now; ends when no more can come."""

    def control(self) -> Control:
        """Steers the run; raises a `CobreError` that says what would work where it cannot."""

    def stop(self) -> None:
        """End the run after its iteration; raises where that cannot be."""

    def folder(self) -> Path | None:
        """The folder of the run, if it is known."""


class FolderSource:
    """A run folder, live or finished."""

    is_replay = False

    def __init__(self, run: AttachedRun) -> None:
        self.run = run
        self.title = str(run.folder)

    def batches(self) -> Iterator[list[Any]]:
        """Events of the file until the run has ended or died; raises if it ended before it began."""
        from cobre.study.run_log import EVENTS

        file, is_over = EventFile(self.run.folder / EVENTS), False
        while True:
            could_go_on = self.run.may_go_on
            has_begun = self.run.has_begun
            events = file.read() if has_begun else []
            for start in range(0, len(events), BATCH):
                yield events[start : start + BATCH]
            if events:
                is_over = isinstance(events[-1], Mapping) and events[-1].get("type") == "finished"
            if isinstance(self.run, StartedRun) and not has_begun and not could_go_on:
                raise CobreError(self.run.failure)
            if is_over or (not could_go_on and not events):
                return
            if not events:
                yield []
                time.sleep(POLL_S)

    def control(self) -> Control:
        """That of the run, while it is live."""
        if not self.run.has_begun:
            raise CobreError("the run has not started yet")
        if not self.run.may_go_on:
            raise CobreError("the run has ended: nothing is left to steer")
        return self.run.control

    def stop(self) -> None:
        """Ask the run, or its process while it does not listen yet."""
        self.run.stop()

    def folder(self) -> Path | None:
        """The output folder."""
        return self.run.folder


class _Replay:
    """A run that cannot be steered; ``WHY`` says why and what to do instead."""

    WHY: str
    is_replay = True

    def control(self) -> Control:
        """Refused."""
        raise CobreError(self.WHY)

    def stop(self) -> None:
        """Nothing can be stopped from here."""
        self.control()

    def folder(self) -> Path | None:
        """Unknown."""
        return None


class PipeSource(_Replay):
    """``cobre run … --output-format json-lines | cobre tui -``."""

    WHY = "a pipe cannot steer the run: open its folder instead, cobre tui DIR"
    title = "pipe"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def batches(self) -> Iterator[list[Any]]:
        """Events until the other side closes the pipe."""
        from cobre.study.runs import parsed

        rest = b""
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except OSError:
                data = b""
            *lines, rest = (rest + data).split(b"\n")
            yield [parsed(line) for line in lines if line.strip()]
            if not data:
                if rest.strip():
                    yield [parsed(rest)]
                return


class ReplaySource(_Replay):
    """A recorded stream (``events.jsonl``) or the table ``convergence.parquet`` of any version."""

    WHY = "a recording cannot be steered: open the folder of a live run, cobre tui DIR"

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise IOError(
                str(path), f"there is no file {path}", suggestion="name events.jsonl or convergence.parquet"
            )
        self._path = path
        self.title = str(path)

    def batches(self) -> Iterator[list[Any]]:
        """All of it."""
        if self._path.suffix == ".parquet":
            events = list(convergence_events(self._path))
        else:
            events = EventFile(self._path).read()
        for start in range(0, len(events), BATCH):
            yield events[start : start + BATCH]


def convergence_events(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of ``convergence.parquet`` as events; our columns and those of the public Cobre."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IOError(
            str(path), f"cannot read {path}: {error}", suggestion="name a file that a run wrote"
        ) from error
    wall_ms = 0.0
    for row in rows:
        total_ms = float(row.get("iteration_time_ms") or row.get("time_total_ms") or 0.0)
        wall_ms = float(row.get("wall_time_ms") or wall_ms + total_ms)
        yield {
            "type": "progress",
            "phase": "training",
            "iteration": row.get("iteration"),
            "lower_bound": row.get("lower_bound"),
            "upper_bound": row.get("upper_bound", row.get("upper_bound_mean")),
            "ci_95": row.get("ci_95"),
            "gap": row.get("gap"),
            "wall_time_ms": wall_ms,
            "iteration_time_ms": total_ms,
        }
        forward, backward = (float(row.get(f"time_{name}_ms") or 0.0) for name in ("forward", "backward"))
        facts = {name: row[name] for name in CONVERGENCE_FACTS if row.get(name) is not None}
        yield {
            "type": "iteration",
            "iteration": row.get("iteration"),
            "forward_ms": forward,
            "backward_ms": backward,
            "other_ms": max(0.0, total_ms - forward - backward),
            **facts,
        }


class Reader:
    """Reads a source in a thread of its own; `take` gives what has come since the last call."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._batches: queue.Queue[list[Any]] = queue.Queue(maxsize=64)
        self._is_closed = threading.Event()
        self.is_ended = False
        """Whether no more can come, and all was taken."""
        self.failure: str | None = None
        self._thread = threading.Thread(target=self._read, name="cobre-tui-reader", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for batch in self._source.batches():
                while batch and not self._is_closed.is_set():
                    try:
                        self._batches.put(batch, timeout=POLL_S)
                        break
                    except queue.Full:
                        continue
                if self._is_closed.is_set():
                    return
        except CobreError as error:
            self.failure = error.message

    def take(self) -> list[Any]:
        """New events, at most a few batches, so that the screen stays alive while a long file is read."""
        is_last = not self._thread.is_alive()
        found: list[Any] = []
        while len(found) < 4 * BATCH:
            try:
                found.extend(self._batches.get_nowait())
            except queue.Empty:
                self.is_ended = is_last
                break
        return found

    def close(self) -> None:
        """Read no more."""
        self._is_closed.set()
