"""Starting a group of ranks again after one of them has died."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cobre.errors import InitializationFailed

if TYPE_CHECKING:
    from cobre.comm.launch.blame import RankResult

__all__ = [
    "COUNT_VARIABLE",
    "SINCE_VARIABLE",
    "Outcome",
    "Restarts",
    "could_not_start",
    "outcome_of",
    "started_again_since",
]

Outcome = Literal["died", "told", "failed"]

COUNT_VARIABLE = "COBRE_LAUNCH_RESTART"
"""Tells ranks how often their group was started again; absent the first time."""
SINCE_VARIABLE = "COBRE_LAUNCH_SINCE"
"""Tells ranks when it was started for the first time, in seconds since 1970: what is older is not its work."""


@dataclass
class Restarts:
    """How often a group may still be started again, and with how many ranks.

    A rank that dies in two attempts in a row, or cannot be started, is left out of the next one.
    """

    limit: int
    used: int = 0
    since: float = field(default_factory=time.time)
    """When the group was started for the first time."""
    _last: int | None = None

    def size_after(self, size: int, rank: int | None, *, could_start: bool = True) -> int | None:
        """How many of ``size`` ranks to start again after ``rank`` has died; None if there is no attempt left."""
        if self.used >= self.limit:
            return None
        is_back = could_start and (rank is None or rank != self._last)
        self._last = rank if is_back else None
        if not is_back:
            size -= 1
        if size < 1:
            return None
        self.used += 1
        return size

    def variables(self) -> dict[str, str]:
        """The variables that ranks get."""
        return {COUNT_VARIABLE: str(self.used), SINCE_VARIABLE: repr(self.since)} if self.used else {}


def started_again_since(environ: Mapping[str, str]) -> float | None:
    """When the group of this rank was started for the first time, if it was started again since."""
    try:
        return float(environ[SINCE_VARIABLE]) if int(environ.get(COUNT_VARIABLE, "0")) > 0 else None
    except (KeyError, ValueError):
        return None


def outcome_of(result: RankResult) -> Outcome:
    """How an attempt ended whose rank to blame has this result.

    ``died``: it was killed. ``told``: it tells of a rank that is gone, on another machine perhaps. ``failed``: its
    program failed, and would fail again.
    """
    if result.failure is not None:
        return "told" if result.failure.is_consequence else "failed"
    return "died" if result.exit_code < 0 and not result.was_ended else "failed"


def could_not_start(result: RankResult) -> bool:
    """Whether this rank could not join the others when it was started."""
    return result.failure is not None and result.failure.kind == InitializationFailed.__name__
