"""Which run wrote a folder of results: its id, the study and the settings it was about, when, where and with what."""

from __future__ import annotations

import datetime as dt
import os
import platform
import secrets
import socket
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from cobre.core.case import Case
from cobre.core.config import plain_settings
from cobre.core.digest import digest
from cobre.core.versions import version

__all__ = ["RunRecord", "Status"]

Status = Literal["running", "complete", "partial", "failed"]
"""``partial``: stopped on request, with results of the iterations that were finished."""


@dataclass(frozen=True)
class RunRecord:
    """What is known of a run when it starts."""

    run_id: str
    case_name: str
    case_digest: str
    """SHA-256 over the study without its name and settings: equal where equal data was read."""
    config_digest: str
    """SHA-256 over all settings, overrides included."""
    cobre_version: str
    settings: dict[str, Any]
    """All settings, overrides included."""
    hostname: str
    platform: str
    python_version: str
    pid: int
    started_at: str

    @classmethod
    def start(cls, case: Case) -> Self:
        """A new run of ``case``, now, in this process."""
        now = _now()
        study = (case.system, case.horizon, case.tables, case.scenarios, case.initial)
        return cls(
            run_id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
            case_name=case.name,
            case_digest=digest(study),
            config_digest=digest(case.config),
            cobre_version=version("pycobre"),
            settings=plain_settings(case.config),
            hostname=socket.gethostname(),
            platform=f"{platform.system()} {platform.release()} {platform.machine()}",
            python_version=platform.python_version(),
            pid=os.getpid(),
            started_at=_text(now),
        )

    def facts(self, status: Status) -> dict[str, Any]:
        """The run as plain data; with the time of its end unless it is still running."""
        facts = {**asdict(self), "status": status}
        if status == "running":
            return facts
        now = _now()
        duration = now - dt.datetime.fromisoformat(self.started_at)
        return {**facts, "completed_at": _text(now), "duration_seconds": duration.total_seconds()}


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _text(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
