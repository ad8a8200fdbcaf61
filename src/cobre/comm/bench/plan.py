"""What to measure, and what one measurement looks like."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

__all__ = [
    "DEFAULT_SIZES",
    "MARK",
    "OPERATIONS",
    "SMALLEST_FOR_BANDWIDTH",
    "UNITS",
    "Collectives",
    "Plan",
    "Row",
    "human_size",
]

OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier")
DEFAULT_SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 16 << 20)
SMALLEST_FOR_BANDWIDTH = 64 << 10
"""Below this a call's fixed cost counts, not its bytes: no percentage of the machine's limit is given."""

UNITS = {"G": 1 << 30, "M": 1 << 20, "K": 1 << 10}

MARK = b"cobre-bench-row "


class Collectives(Protocol):
    """All that a measurement needs of a communicator: less than the contract, so that other people's will do."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def backend(self) -> str: ...

    def allgatherv(self, send: Any, recv: Any, counts: Sequence[int], displs: Sequence[int], /) -> None: ...
    def allreduce(self, send: Any, recv: Any, op: str, /) -> None: ...
    def broadcast(self, buf: Any, root: int, /) -> None: ...
    def barrier(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Plan:
    """``sizes`` are the bytes that each rank holds afterwards; ``seconds`` is spent on each, roughly."""

    ranks: int
    operations: tuple[str, ...] = OPERATIONS
    sizes: tuple[int, ...] = DEFAULT_SIZES
    seconds: float = 0.2

    def to_json(self, *, peer: str, limit: str) -> str:
        """For the command line of a rank."""
        return json.dumps({**asdict(self), "peer": peer, "limit": limit})


@dataclass(frozen=True)
class Row:
    """One operation at one size. ``percent`` is of what the machine can copy (or send to itself) in that time."""

    backend: str
    operation: str
    bytes: int
    calls: int
    p50_us: float
    p99_us: float
    gb_per_s: float | None
    limit_gb_per_s: float | None
    limit: str

    @property
    def percent(self) -> float | None:
        """``None`` where it would mean nothing."""
        if self.gb_per_s is None or not self.limit_gb_per_s:
            return None
        return 100 * self.gb_per_s / self.limit_gb_per_s


def human_size(number: int) -> str:
    """Bytes as people write them.

    >>> human_size(65536), human_size(24)
    ('64 KiB', '24 B')
    """
    for unit, factor in UNITS.items():
        if number and number % factor == 0:
            return f"{number // factor} {unit}iB"
    return f"{number} B"
