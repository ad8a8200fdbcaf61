"""What training hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cobre.sddp.events import ControlTaken
from cobre.sddp.gap import GapEstimate
from cobre.sddp.journal import TrainingLog
from cobre.sddp.policy import Policy
from cobre.sddp.statistics import CostStatistics
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
    cuts_added: int = 0
    cuts_removed: int = 0
    cuts_active: int = 0
    forward_passes: int = 1
    wall_time_ms: float = 0.0
    iteration_time_ms: float = 0.0
    is_exact: bool = False
    """Whether the upper bound is what the policy costs, not an estimate."""
    inner_bound: float | None = None
    """What the optimum is at most, where this iteration computed it."""


@dataclass(frozen=True)
class TrainingResult:
    """A trained policy and how training went. Every rank gets an equal one."""

    policy: Policy
    history: dict[str, list[Any]] = field(repr=False)
    """`convergence_history` as plain lists."""
    iterations: int
    final_lower_bound: float
    final_upper_bound: float
    final_gap: float
    termination_reason: TerminationReason
    total_cuts: int
    workers: list[WorkerInfo] | None
    """By rank; None with one worker."""
    backend: str = "local"
    hosts: list[str] = field(default_factory=list, repr=False, compare=False)
    """Name of the machine of each rank."""
    threads: int = field(default=1, compare=False)
    """Of this rank."""
    stop_signal: int | None = None
    """The signal that asked for a graceful stop, if one did."""
    timings: dict[str, float] = field(default_factory=dict, repr=False)
    """Where this rank's time went, in milliseconds: `cobre.sddp.timing.time_split`."""
    gap_estimate: GapEstimate | None = None
    """What the trajectories of the last iterations say about the gap; ``final_gap`` is that of the last one alone."""
    simulated_cost: CostStatistics | None = None
    """Of the last simulation that the stopping rule ``simulation`` made, if it made one."""
    logs: list[TrainingLog] = field(default_factory=list, repr=False, compare=False)
    """What each phase of each iteration did, for the training tables; one for each part of a run that was continued."""
    controls: list[ControlTaken] = field(default_factory=list, repr=False, compare=False)
    """Requests that this run carried out: pauses, changed rules, snapshots, a stop."""

    @property
    def inner_bound(self) -> float | None:
        """What the optimum is at most, by the last iteration that computed it; None if none did."""
        known = [value for value in self.history["inner_bound"] if value is not None]
        return known[-1] if known else None

    @property
    def true_gap(self) -> float | None:
        """From the lower bound to the inner one, relative to the former; holds with risk measures, too."""
        upper = self.inner_bound
        return (
            None
            if upper is None
            else (upper - self.final_lower_bound) / max(1.0, abs(self.final_lower_bound))
        )

    @cached_property
    def convergence_history(self) -> pa.Table:
        """One row per iteration: `cobre.core.training_tables.CONVERGENCE`."""
        from cobre.core.arrow import arrow_table  # pyarrow is slow to import
        from cobre.core.training_tables import CONVERGENCE

        return arrow_table(CONVERGENCE, self.history)

    def __repr__(self) -> str:
        return (
            f"<TrainingResult of {self.iterations} iterations ({self.termination_reason}): "
            f"lower bound {self.final_lower_bound:,.2f}, {self.total_cuts} cuts>"
        )

    def _repr_html_(self) -> str:
        from cobre.sddp.pictures import training_html

        return training_html(self)


def convergence_columns(
    records: Sequence[IterationRecord], logs: Sequence[TrainingLog]
) -> dict[str, list[Any]]:
    """The history, one column per name of `cobre.core.training_tables.CONVERGENCE`."""
    columns = {
        part.name: [getattr(record, part.name) for record in records] for part in fields(IterationRecord)
    }
    return {
        **columns,
        "upper_bound_kind": ["exact" if record.is_exact else "statistical" for record in records],
        "upper_bound_mean": columns["upper_bound"],
        "gap_percent": [_gap_percent(record) for record in records],
        "time_forward_ms": [ms for log in logs for ms in log.phase_ms("forward")],
        "time_backward_ms": [ms for log in logs for ms in log.phase_ms("backward")],
        "time_total_ms": [round(record.iteration_time_ms) for record in records],
        "lp_solves": [n for log in logs for n in log.solves()],
        "mean_rows_in_lp": [n for log in logs for n in log.mean_rows()],
    }


def _gap_percent(record: IterationRecord) -> float | None:
    if record.lower_bound <= 0.0:
        return None
    return 100.0 * (record.upper_bound - record.lower_bound) / max(1.0, abs(record.lower_bound))


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One rank of a training run."""

    rank: int
    wall_time_ms: float
    backend: str
