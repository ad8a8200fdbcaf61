"""When training saves where it stands, where, and what it takes back when it continues."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cobre.comm import GroupMember, ReduceOp, contiguous_block
from cobre.core.files import sync_folder, unwritable
from cobre.errors import CobreError, IOError, ValidationError
from cobre.sddp.bounds import LowerBound
from cobre.sddp.checkpoint import Bases, PoolState, TrainingState
from cobre.sddp.sharing import share_failure
from cobre.sddp.stage import StageModel
from cobre.sddp.statistics import gather_rows

PREFIX = "iteration_"
SUFFIX = ".checkpoint"
KEPT = 2


@dataclass(frozen=True)
class CheckpointPlan:
    """When and where to save."""

    folder: Path
    interval_iterations: int | None = None
    """None: by time alone."""
    first_iteration: int | None = None
    """The first to be saved; by default the interval."""
    interval_s: float | None = 600.0
    is_compressed: bool = False

    def is_due_at(self, iteration: int) -> bool:
        """Whether the number of the iteration asks for a checkpoint; the same on every rank."""
        if self.interval_iterations is None:
            return False
        first = self.interval_iterations if self.first_iteration is None else self.first_iteration
        return iteration >= first and (iteration - first) % self.interval_iterations == 0

    def is_due_after(self, seconds: float) -> bool:
        """Whether that much time since the last checkpoint asks for one."""
        return self.interval_s is not None and seconds >= self.interval_s

    def path(self, iteration: int) -> Path:
        """The file of an iteration."""
        return self.folder / f"{PREFIX}{iteration:06d}{SUFFIX}"


def checkpoints_in(folder: Path, since: float | None = None) -> list[Path]:
    """The checkpoints of a folder, the newest first; only those written after ``since`` (seconds since 1970)."""
    found = [path for path in folder.glob(f"{PREFIX}*{SUFFIX}") if _digits(path).isdecimal()]
    found.sort(key=iteration_of, reverse=True)
    return found if since is None else [path for path in found if _written_at(path) >= since]


def iteration_of(path: Path) -> int:
    """The iteration after which a checkpoint was written."""
    return int(_digits(path))


def _digits(path: Path) -> str:
    return path.name[len(PREFIX) : -len(SUFFIX)]


def _written_at(path: Path) -> float:
    return path.stat(follow_symlinks=False).st_mtime


@dataclass(frozen=True)
class FoundCheckpoint:
    """A checkpoint that can be used, and newer ones that cannot, with the reason."""

    path: Path
    state: TrainingState
    unusable: list[str]


def newest_checkpoint(folder: Path, since: float | None = None) -> FoundCheckpoint:
    """The newest whole checkpoint of ``folder``, written after ``since``; a damaged one is passed over."""
    unusable: list[str] = []
    for path in checkpoints_in(folder, since):
        try:
            return FoundCheckpoint(path, TrainingState.load(path), unusable)
        except CobreError as error:
            unusable.append(error.message)
    if unusable:
        raise ValidationError(
            f"no checkpoint in {folder} can be used: " + "; ".join(unusable),
            kind="ParseError",
            context={"path": str(folder), "reasons": unusable},
            suggestion="start again without --resume",
        )
    raise IOError(
        str(folder),
        f"there is no checkpoint in {folder}",
        suggestion="start without --resume: nothing was saved",
    )


def save(plan: CheckpointPlan, state: TrainingState) -> None:
    """Write a checkpoint; beside it stays the one before it. What is newer is not of this run, or cannot be read."""
    path = plan.path(state.iteration)
    try:
        state.save(path, is_compressed=plan.is_compressed)
        sync_folder(plan.folder)  # before an older one is removed
    except IOError as error:
        error.kind = "CheckpointFailed"
        raise
    before = [each for each in checkpoints_in(plan.folder) if iteration_of(each) < state.iteration]
    kept = {path, *before[: KEPT - 1]}
    for other in checkpoints_in(plan.folder):
        if other not in kept:
            with contextlib.suppress(OSError):
                other.unlink()


def remove_unfinished(folder: Path) -> None:
    """Take away files that a killed run was writing."""
    _remove(list(folder.glob(f".{PREFIX}*{SUFFIX}.*")))


def remove_checkpoints(folder: Path) -> None:
    """Take away what another run has saved there."""
    _remove(checkpoints_in(folder))


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        try:
            path.unlink()
        except OSError as error:
            raise unwritable(path, error) from error


class Saver:
    """Saves a run when the plan asks for it; the same decision on every rank."""

    def __init__(self, comm: GroupMember, plan: CheckpointPlan) -> None:
        self.comm = comm
        self.plan = plan
        self._last = time.perf_counter()
        self.saved_iteration = 0

    def wants_by_time(self) -> bool:
        """This rank's view; rank 0's counts."""
        return self.plan.is_due_after(time.perf_counter() - self._last)

    def save(self, state: TrainingState | None) -> None:
        """Collective: rank 0 writes ``state``; if that fails, every rank raises the error."""
        failure: CobreError | None = None
        if state is not None:
            try:
                save(self.plan, state)
            except CobreError as error:
                failure = error
        share_failure(self.comm, failure)
        self._last = time.perf_counter()


def gather_bases(comm: GroupMember, mine: Sequence[Bases | None], n_rows: Sequence[int]) -> list[Bases]:
    """Collective: of several arrays of bases, all ranks' rows in order; None where this rank has no row."""
    own = np.array([0 if bases is None else bases.shape[1] for bases in mine], dtype=np.int64)
    widths = np.empty_like(own)
    comm.allreduce(own, widths, ReduceOp.MAX)
    found = []
    for bases, width, n in zip(mine, widths.tolist(), n_rows, strict=True):
        rows = np.empty((0, width), dtype=np.uint8) if bases is None else bases
        found.append(gather_rows(comm, rows, n))
    return found


def pool_state(model: StageModel) -> PoolState:
    """What a stage's cuts are now; views, not copies."""
    pool = model.pool
    return PoolState(pool.rows, pool.active, pool.last_active, pool.active_count, pool.iterations)


def restore(
    comm: GroupMember,
    state: TrainingState,
    models: Sequence[StageModel],
    bound: LowerBound,
    n_passes: int,
) -> None:
    """Put cuts and bases of ``state`` into the stages of this rank."""
    first, n = contiguous_block(n_passes, comm.rank, comm.size)
    for model, saved, bases in zip(models, state.pools, state.forward_bases, strict=True):
        model.pool.restore(saved.rows, saved.active, saved.last_active, saved.active_count, saved.made_in)
        model.solver.set_cuts(saved.rows[:, 0], saved.rows[:, 1:], saved.active)
        model.bases = np.ascontiguousarray(bases[first : first + n]) if n else None
    start, count = contiguous_block(models[0].n_openings, comm.rank, comm.size)
    bound.bases = np.ascontiguousarray(state.bound_bases[start : start + count]) if count else None
