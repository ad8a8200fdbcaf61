"""When, where and with what a run was made."""

from __future__ import annotations

import datetime as dt
import socket
import time
from typing import Any

from cobre.core.versions import version


class RunClock:
    """Notes when a run began."""

    def __init__(self) -> None:
        self._began_at = dt.datetime.now(dt.UTC)
        self._began = time.perf_counter()

    def facts(self) -> dict[str, Any]:
        """Versions, machine and times up to now."""
        return {
            "software": "cobre",
            "software_version": version("pycobre"),
            "hostname": socket.gethostname(),
            "solver": "highs",
            "solver_version": version("highspy"),
            "started_at": self._began_at.isoformat(timespec="milliseconds"),
            "completed_at": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
            "duration_seconds": time.perf_counter() - self._began,
        }
