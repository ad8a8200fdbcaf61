"""What training reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cobre.sddp.gap import GapEstimate


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One worker finished one iteration (or, in a simulation, some scenarios)."""

    phase: Literal["training", "simulation"]
    iteration: int
    lower_bound: float
    upper_bound: float
    gap: float
    wall_time_ms: float
    """Since training began, on the first worker."""
    iteration_time_ms: float
    scenarios_complete: int
    """Trajectories that this worker has run so far."""
    scenarios_total: int
    """Trajectories that this worker will run if the iteration limit ends training; 0 without a limit."""
    worker_id: int
    gap_estimate: GapEstimate | None = None
    """What the trajectories of the last iterations say about the gap; ``gap`` is that of this iteration alone."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


OnProgress = Callable[[ProgressEvent], None]
