"""What a server may do: its folders, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "DEFAULT_LIMIT",
    "LONGEST_ARGUMENT",
    "MOST_FILE_MB",
    "MOST_ROWS",
    "MOST_TEXT_MB",
    "Confinement",
    "Settings",
]

Confinement = Literal["auto", "require", "off"]

DEFAULT_LIMIT = 200
"""Rows of an answer where the caller names no other number."""
MOST_ROWS = 10_000
"""Rows of an answer, whatever the caller asks for."""
LONGEST_ARGUMENT = 4096
"""Characters of a path."""
MOST_FILE_MB, MOST_TEXT_MB = 2000, 200
"""Of a file that is read; a text takes several times its size in memory."""


@dataclass(frozen=True)
class Settings:
    """Of one server, fixed when it starts."""

    folders: tuple[Path, ...]
    allow_write: bool = False
    max_runs: int = 1
    """Runs at the same time."""
    max_workers: int = 4
    """Processes of one run."""
    max_seconds: float = 24 * 3600.0
    """A run that takes longer is asked to stop after its iteration."""
    max_bytes: int = 60_000
    """Of an answer: hosts cut what is longer than about 25,000 tokens."""
    max_calls_per_minute: int = 600
    min_free_mb: int = 200
    """A run or an export is refused if the disk has less space."""
    confinement: Confinement = "auto"
