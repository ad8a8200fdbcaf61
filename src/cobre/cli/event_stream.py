"""``--output-format json-lines``: one event per line, and the answer last."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from cobre import study

__all__ = ["EventStream"]


class EventStream:
    """Prints events. When the reader has closed the pipe, the run continues and prints nothing."""

    def __init__(self) -> None:
        self._number = 0

    def print(self, event: Mapping[str, Any]) -> None:
        """One event, at once."""
        self._number = int(event["seq"])
        self._write(study.event_line(event))

    def print_result(self, document: Mapping[str, Any]) -> None:
        """The last line: the answer of the command."""
        self._write(study.event_line({"type": "result", "seq": self._number + 1, **document}))

    def _write(self, line: str) -> None:
        try:
            sys.stdout.write(line)
            sys.stdout.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
