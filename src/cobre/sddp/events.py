"""What training and simulation report while they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cobre.sddp.gap import GapEstimate


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One worker finished one iteration (or, in a simulation, some scenarios)."""

    phase: Literal["training", "simulation"]
    iteration: int | None
    """Of training, like the bounds and the gap; None in a simulation."""
    lower_bound: float | None
    upper_bound: float | None
    gap: float | None
    wall_time_ms: float
    """Since the phase began, on the first worker."""
    iteration_time_ms: float | None
    scenarios_complete: int
    """Trajectories that this worker has run so far; in a simulation those of all workers."""
    scenarios_total: int
    """Trajectories that there will be; in training if the iteration limit ends it, 0 without a limit."""
    worker_id: int
    gap_estimate: GapEstimate | None = None
    """What the trajectories of the last iterations say about the gap; ``gap`` is that of this iteration alone."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


OnProgress = Callable[[ProgressEvent], None]
