"""When training saves where it stands, where, and what it takes back when it continues."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cobre.comm import GroupMember, ReduceOp, contiguous_block
from cobre.errors import CobreError, IOError, ValidationError
from cobre.files import sync_folder, unwritable
from cobre.sddp.bounds import LowerBound
from cobre.sddp.checkpoint import Bases, PoolState, TrainingState
from cobre.sddp.sharing import broadcast_value, share_failure
from cobre.sddp.stage import BASIC, StageModel
from cobre.sddp.statistics import gather_rows
from cobre.solver import NO_BASIS

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
        failure = IOError(
            str(folder),
            f"no checkpoint in {folder} can be used: " + "; ".join(unusable),
            kind="ParseError",
            suggestion="start again with --fresh (in Python resume=False)",
        )
        failure.context["reasons"] = unusable
        raise failure
    raise IOError(
        str(folder),
        f"there is no checkpoint in {folder}",
        suggestion="start without --resume (policy.mode fresh): nothing was saved",
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


def check_writable(folder: Path) -> None:
    """Raise before a run begins, not when its first checkpoint is due, if ``folder`` is there and takes no files."""
    if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        raise IOError(
            str(folder),
            f"cannot write checkpoints into {folder}: "
            + ("it may not be written to" if folder.is_dir() else "it is no folder"),
            suggestion="remove it, choose another output folder, or set policy.checkpointing.enabled to false",
        )


def remove_unfinished(folder: Path) -> None:
    """Take away files that a killed run was writing."""
    _remove(list(folder.glob(f".{PREFIX}*{SUFFIX}.*")))


def remove_surplus(folder: Path) -> None:
    """Keep the newest ones. A rank of a killed attempt may have saved an older one after the last of this run."""
    _remove(checkpoints_in(folder)[KEPT:])


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
    """Collective: of several arrays of bases, all ranks' rows in order; None where this rank has no row.

    Rows of a rank that has none say `NO_BASIS`, and shorter ones than others do not know the newest cuts.
    """
    widths = _widths(comm, mine)
    found = []
    for bases, width, n in zip(mine, widths, n_rows, strict=True):
        count = contiguous_block(n, comm.rank, comm.size)[1]
        found.append(gather_rows(comm, _padded(bases, count, width), n if width else 0))
    return found


def gather_tree_bases(
    comm: GroupMember, nodes: Sequence[StageModel], of_stage: Sequence[Sequence[int]]
) -> list[Bases]:
    """Collective: the single basis of each node of a tree, whose nodes of a stage are split over the ranks."""
    widths = _widths(comm, [node.bases for node in nodes])
    found: list[Bases] = [np.empty((0, 0), dtype=np.uint8)] * len(nodes)
    for members in of_stage:
        first, count = contiguous_block(len(members), comm.rank, comm.size)
        width = max(widths[k] for k in members)
        mine = [_padded(nodes[k].bases, 1, width) for k in members[first : first + count]]
        rows = np.concatenate([np.empty((0, width), dtype=np.uint8), *mine])
        for k, row in zip(members, gather_rows(comm, rows, len(members)), strict=True):
            found[k] = row[np.newaxis, : widths[k] or None]
    return found


def _widths(comm: GroupMember, mine: Sequence[Bases | None]) -> list[int]:
    own = np.array([0 if bases is None else bases.shape[1] for bases in mine], dtype=np.int64)
    widths = np.empty_like(own)
    comm.allreduce(own, widths, ReduceOp.MAX)
    found: list[int] = widths.tolist()
    return found


def _padded(bases: Bases | None, n_rows: int, width: int) -> Bases:
    if bases is not None and bases.shape[1] == width:
        return bases
    rows = np.full((n_rows, width), BASIC, dtype=np.uint8)
    if bases is None:
        rows[:, :1] = NO_BASIS
    else:
        rows[:, : bases.shape[1]] = bases
    return rows


def first_bases(comm: GroupMember, nodes: Sequence[StageModel], pools: Sequence[int]) -> list[Bases]:
    """Collective: by pool, what the first trajectory that came to one of its nodes left there; empty if none did."""
    own = [node.first_basis() for node in nodes]
    widths = _widths(comm, [node.bases for node in nodes])
    mine = np.array([comm.size if basis is None else comm.rank for basis in own], dtype=np.int64)
    first = np.empty_like(mine)
    comm.allreduce(mine, first, ReduceOp.MIN)
    chosen: dict[int, int] = {}
    for node, pool in enumerate(pools):
        if first[node] < comm.size:
            chosen.setdefault(pool, node)
    found = [np.empty(0, dtype=np.uint8)] * (1 + max(pools))
    for rank in sorted({int(first[node]) for node in chosen.values()}):
        of_rank = [pool for pool, node in chosen.items() if first[node] == rank]
        parts: list[Bases] | None = None
        if comm.rank == rank:
            parts = [_first_row(own[chosen[pool]], widths[chosen[pool]]) for pool in of_rank]
        for pool, basis in zip(of_rank, broadcast_value(comm, parts, rank), strict=True):
            found[pool] = basis
    return found


def _first_row(basis: Bases | None, width: int) -> Bases:
    row: Bases = _padded(None if basis is None else basis[np.newaxis, :], 1, width)[0]
    return row


def pool_state(model: StageModel) -> PoolState:
    """What a stage's cuts are now; views, not copies."""
    pool = model.pool
    return PoolState(pool.rows, pool.active, pool.last_active, pool.active_count, pool.iterations)


def restore(
    comm: GroupMember,
    state: TrainingState,
    models: Sequence[StageModel],
    nodes: Sequence[StageModel],
    bound: LowerBound,
    n_passes: int | None,
    owned: Collection[int],
) -> None:
    """Put cuts and bases of ``state`` into the pools and nodes of this rank.

    Without ``n_passes`` nodes are enumerated, and this rank solves the ``owned`` ones.
    """
    _check_fit(state, models, nodes, 1 if n_passes is None else n_passes)
    for model, saved in zip(models, state.pools, strict=True):
        model.pool.restore(saved.rows, saved.active, saved.last_active, saved.active_count, saved.made_in)
        model.share_cuts()
        model.keep_active_cuts()
    first, n = (0, 1) if n_passes is None else contiguous_block(n_passes, comm.rank, comm.size)
    for k, (node, bases) in enumerate(zip(nodes, state.forward_bases, strict=True)):
        is_here = n > 0 and len(bases) > 0 and k in owned
        node.bases = np.ascontiguousarray(_fitting(bases, node)[first : first + n]) if is_here else None
    start, count = contiguous_block(nodes[0].n_openings, comm.rank, comm.size)
    first_bases = _fitting(state.bound_bases, nodes[0])
    bound.bases = np.ascontiguousarray(first_bases[start : start + count]) if count else None


def _check_fit(
    state: TrainingState, models: Sequence[StageModel], nodes: Sequence[StageModel], n_rows: int
) -> None:
    """Raise unless ``state`` has what every stage and node needs, whatever its digests say."""
    widths = [pool.rows.shape[1] for pool in state.pools]
    known = [bases for bases in (*state.forward_bases, state.bound_bases) if bases.shape[1]]
    rows = [n_rows] * (len(known) - 1) + [nodes[0].n_openings]
    if (
        widths == [model.pool.rows.shape[1] for model in models]
        and len(state.forward_bases) == len(nodes)
        and [len(bases) for bases in known] == rows
    ):
        return
    raise _does_not_fit(
        f"it has {len(widths)} stages, {widths[0] - 1} components of the state, "
        f"{len(state.forward_bases)} nodes and start bases of {sorted({len(bases) for bases in known})} solves"
    )


def _fitting(bases: Bases, node: StageModel) -> Bases:
    """Raise unless ``bases`` are of the node's program with some of its cuts."""
    template, width = node.solver.template, bases.shape[1]
    least = template.n_columns + template.n_rows
    if not len(bases) or least <= width <= least + node.solver.n_slots:
        return bases
    raise _does_not_fit(
        f"start bases of stage {node.stage.id} have {width} entries, its program with its cuts {least} to "
        f"{least + node.solver.n_slots}"
    )


def _does_not_fit(reason: str) -> ValidationError:
    return ValidationError(
        f"the checkpoint does not fit the study: {reason}",
        kind="ParseError",
        suggestion="start again with --fresh (in Python resume=False)",
    )
