"""What a run writes about itself while it is at work: ``training/run.json`` and ``training/events.jsonl``."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobre.errors import IOError
from cobre.files import write_atomically

__all__ = ["EVENTS", "RUN", "RunLog", "event_line", "whole_lines"]

RUN = "training/run.json"
EVENTS = "training/events.jsonl"


def event_line(event: Mapping[str, Any]) -> str:
    """An event as one line of JSON without NaN; control characters of names are escaped."""
    return json.dumps(event, separators=(",", ":"), allow_nan=False) + "\n"


def whole_lines(path: Path) -> int:
    """Bytes of ``path`` up to the end of its last whole line; 0 if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            place = size
            while place > 0:
                start = max(0, place - (1 << 16))
                file.seek(start)
                found = file.read(place - start).rfind(b"\n")
                if found >= 0:
                    return start + found + 1
                place = start
    except FileNotFoundError:
        pass
    return 0


class RunLog:
    """The open files. A disk that takes no more ends the log and not the run, whose results say what is wrong."""

    def __init__(self, folder: Path, facts: Mapping[str, Any], *, keeps: bool) -> None:
        """Begin; with ``keeps`` after what an earlier part of the run, or its training, wrote."""
        self._path = folder / EVENTS
        self._descriptor: int | None = None
        self.next_number = 1
        self.told_iterations = 0
        """The last iteration whose progress is in the file."""
        with contextlib.suppress(OSError, IOError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # The events before the facts: who finds the facts of this run must not read the events of another.
            if keeps:
                self._repair()
            else:
                self._path.unlink(missing_ok=True)
            write_atomically(folder / RUN, (json.dumps(facts, indent=2) + "\n").encode())
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o666)

    def _repair(self) -> None:
        """Cut off half a line that a killed run left, and find where to go on."""
        end = whole_lines(self._path)
        if not end:
            return
        os.truncate(self._path, end)
        with self._path.open("rb") as file:
            file.seek(max(0, end - (1 << 20)))
            lines = file.read().splitlines()
        with contextlib.suppress(ValueError, KeyError, TypeError):
            self.next_number = int(json.loads(lines[-1])["seq"]) + 1
        for line in reversed(lines):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                event = json.loads(line)
                if event["type"] == "progress":
                    self.told_iterations = int(event["iteration"])
                    return

    def write(self, line: str) -> None:
        """Append a line, in one call of the kernel."""
        if self._descriptor is None:
            return
        data = line.encode()
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            written = -1
        if written != len(data):
            with contextlib.suppress(OSError):
                os.truncate(self._path, whole_lines(self._path))
            self.close()

    def close(self) -> None:
        """Write no more."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
