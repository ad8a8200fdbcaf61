"""`SocketsConfig`: where the ranks meet, and who this process is."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from cobre.errors import InitializationFailed

LIMITS = {"chunk_bytes": 1 << 20}
LONGEST_ADDRESS = 107  # bytes of a Unix-domain socket's path, without the final zero


@dataclass(frozen=True)
class SocketsConfig:
    """``path`` is a directory that rank 0 makes, and removes once all ranks have joined."""

    path: str
    rank: int
    size: int
    chunk_bytes: int = LIMITS["chunk_bytes"]
    connect_timeout: float = 30.0
    timeout: float = 60.0

    @property
    def address(self) -> str:
        return str(Path(self.path) / "hub")

    def __post_init__(self) -> None:
        problems = []
        for name, least in (("rank", 0), ("size", 1), ("chunk_bytes", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                problems.append(f"{name}={value!r} is not a whole number from {least}")
        for name in ("connect_timeout", "timeout"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < math.inf:
                problems.append(f"{name}={value!r} is not a positive number of seconds")
        if not problems and self.rank >= self.size:
            problems.append(f"rank={self.rank} is not below size={self.size}")
        if len(os.fsencode(self.address)) > LONGEST_ADDRESS:
            problems.append(f"path={self.path!r} is too long for a socket (set TMPDIR to a shorter one)")
        if problems:
            text = f"the sockets settings are malformed: {'; '.join(problems)}"
            raise InitializationFailed("sockets", ValueError(text), text, suggestion="correct these values")
