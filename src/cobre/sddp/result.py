"""What training hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from cobre.sddp.gap import GapEstimate
from cobre.sddp.policy import Policy
from cobre.sddp.stopping import TerminationReason

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class IterationRecord:
    """One line of the convergence history."""

    iteration: int
    lower_bound: float
    upper_bound: float
    upper_bound_std: float
    ci_95: float
    gap: float
    wall_time_ms: float = 0.0
    iteration_time_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One rank of a training run."""

    rank: int
    wall_time_ms: float
    backend: str


@dataclass(frozen=True)
class TrainingResult:
    """A trained policy and how training went. Every rank gets an equal one."""

    policy: Policy
    convergence_history: pa.Table
    """One row per iteration: `IterationRecord`."""
    iterations: int
    final_lower_bound: float
    final_upper_bound: float
    final_gap: float
    termination_reason: TerminationReason
    total_cuts: int
    workers: list[WorkerInfo] | None
    """By rank; None with one worker."""
    stop_signal: int | None = None
    """The signal that asked for a graceful stop, if one did."""
    timings: dict[str, float] = field(default_factory=dict, repr=False)
    """Where this rank's time went, in milliseconds: `cobre.sddp.timing.time_split`."""
    gap_estimate: GapEstimate | None = None
    """What the trajectories of the last iterations say about the gap; ``final_gap`` is that of the last one alone."""

    def __repr__(self) -> str:
        return (
            f"<TrainingResult of {self.iterations} iterations ({self.termination_reason}): "
            f"lower bound {self.final_lower_bound:,.2f}, {self.total_cuts} cuts>"
        )


def convergence_table(records: Sequence[IterationRecord]) -> pa.Table:
    """The history as a table, one column per field."""
    import pyarrow as pa  # slow to import, and needed once

    columns = {
        column.name: pa.array(
            [getattr(record, column.name) for record in records],
            type=pa.int64() if column.name == "iteration" else pa.float64(),
        )
        for column in fields(IterationRecord)
    }
    return pa.table(columns)
