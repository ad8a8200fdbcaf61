"""Where the time of a training run goes, on this rank."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from cobre.comm import Communicator
from cobre.sddp.stage import StageModel


class CollectiveTime(NamedTuple):
    """What this rank spent in collectives."""

    wait_s: float
    move_s: float

    @classmethod
    def until_now(cls, comm: Communicator) -> CollectiveTime:
        """Since ``comm`` was created."""
        entries = comm.stats().values()
        return cls(sum(entry["wait_s"] for entry in entries), sum(entry["move_s"] for entry in entries))

    def __sub__(self, earlier: CollectiveTime) -> CollectiveTime:
        return CollectiveTime(self.wait_s - earlier.wait_s, self.move_s - earlier.move_s)

    def plus(self, other: CollectiveTime) -> CollectiveTime:
        """Both together."""
        return CollectiveTime(self.wait_s + other.wait_s, self.move_s + other.move_s)


class PhaseClock:
    """Adds up wall time by phase; `lap` ends a phase and begins the next."""

    def __init__(self) -> None:
        self.began = self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.earlier_s = 0.0
        """What earlier parts of a run took that was continued; no phase of this part."""
        self.paused_s = 0.0
        """Time of requested pauses."""
        self.uncounted = CollectiveTime(0.0, 0.0)
        """Collectives before the run began, of its set-up and of pauses: no part of what iterations wait for."""

    def elapsed_s(self) -> float:
        """Time since the run began, without pauses and the time between its parts."""
        return self.earlier_s + (time.perf_counter() - self.began) - self.paused_s

    def lap(self, phase: str) -> None:
        """What passed since the last call belongs to ``phase``."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + (now - self._last)
        self._last = now


def time_split(clock: PhaseClock, models: Sequence[StageModel], comm: Communicator) -> dict[str, float]:
    """Milliseconds: of each phase; inside the solver (running, basis, patching, extraction, cut rows); moving data
    and waiting in collectives and for other threads; and what is left, Python itself. ``wall_ms`` is all of it; inside
    the solver it is the time of the thread that runs this. Earlier parts of a run that was continued are not counted,
    nor are pauses. Collectives of the set-up are counted in its phase only.
    """
    wall_ms = 1000.0 * (time.perf_counter() - clock.began - clock.paused_s)
    split = {f"phase_{phase}_ms": 1000.0 * seconds for phase, seconds in clock.seconds.items()}
    counters = [model.solver.counters() for model in models]
    for part in ("run", "basis", "patch", "extract", "cuts"):
        split[f"solver_{part}_ms"] = sum(counter[f"own_{part}_ns"] for counter in counters) / 1e6
    collectives = CollectiveTime.until_now(comm) - clock.uncounted
    split["communication_ms"] = 1000.0 * collectives.move_s
    for_threads = sum(counter["waiting_ns"] for counter in counters) / 1e6
    split["waiting_ms"] = 1000.0 * collectives.wait_s + for_threads
    named = [name for name in split if not name.startswith("phase_")]
    split["python_ms"] = wall_ms - split["phase_setup_ms"] - sum(split[name] for name in named)
    split["wall_ms"] = wall_ms
    for name in ("solves", "chains", "iterations", "retries"):
        split[f"solver_{name}"] = float(sum(counter[name] for counter in counters))
    return split
