"""What training and simulation report while they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cobre.sddp.gap import GapEstimate
from cobre.sddp.stopping import RuleState


@dataclass(frozen=True, slots=True)
class IterationFacts:
    """What one iteration of training did, for people who watch it. Reported by the first rank."""

    iteration: int
    forward_ms: float
    """Phases are timed on the first rank."""
    backward_ms: float
    selection_ms: float
    bound_ms: float
    forward_sync_ms: float
    """Moving data and waiting for other ranks in the forward pass, on the first rank."""
    cut_sync_ms: float
    """The same in the backward pass, where cuts are gathered."""
    other_ms: float
    """What is left of the iteration."""
    solver_ms: float
    """Inside the solver, mean of the ranks; so are the next two."""
    move_ms: float
    wait_ms: float
    lp_solves: int
    """Of all ranks, like the next one."""
    simplex_iterations: int
    cuts_added: int
    cuts_removed: int
    cuts_active: int
    cuts_total: int
    cuts_per_stage: tuple[int, ...]
    """Active cuts of each stage."""
    memory_mb: float
    """Resident memory of all ranks; memory that they share is counted by each."""
    peak_memory_mb: float
    cuts_memory_mb: float
    """Cuts as the first rank holds them."""
    rules: tuple[RuleState, ...]


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """Training can continue from here."""

    iteration: int
    path: str
    time_ms: float


@dataclass(frozen=True, slots=True)
class ControlTaken:
    """A request to steer the run was carried out between two iterations, or refused."""

    action: str
    arguments: Mapping[str, Any]
    phase: Literal["training", "simulation"]
    iteration: int | None
    """The iteration that had just ended; None in a simulation."""
    timestamp: str
    outcome: Mapping[str, Any]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunWarning:
    """Something that the user should know about the run."""

    message: str


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
    """Since the phase began, on the first worker, without the time of pauses."""
    iteration_time_ms: float | None
    scenarios_complete: int
    """Trajectories that this worker has run so far; in a simulation those of all workers."""
    scenarios_total: int
    """Trajectories that there will be; in training if the iteration limit ends it, 0 without a limit."""
    worker_id: int
    gap_estimate: GapEstimate | None = None
    """What the trajectories of the last iterations say about the gap; ``gap`` is that of this iteration alone."""
    upper_bound_std: float | None = None
    """Sample deviation of the costs of this iteration's trajectories; None in a simulation."""
    ci_95: float | None = None
    """Half-width of the 95 % interval of ``upper_bound``; None in a simulation."""
    iteration_limit: int | None = None
    """How many iterations there will be at most; None where no rule limits them."""
    time_limit_s: float | None = None
    """How long training will take at most, beside its last iteration; None where no rule limits it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


Detail = IterationFacts | CheckpointSaved | ControlTaken | RunWarning
OnProgress = Callable[[ProgressEvent], None]
OnDetail = Callable[[Detail], None]
