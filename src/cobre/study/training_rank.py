"""What each rank of a training runs. Workers import this module and nothing that reads or writes files of results."""

from __future__ import annotations

import time
from dataclasses import dataclass

from cobre.comm import GroupMember, emit
from cobre.core.case import Case
from cobre.sddp.checkpoint import TrainingState
from cobre.sddp.checkpointing import CheckpointPlan
from cobre.sddp.events import OnDetail, OnProgress
from cobre.sddp.given_cuts import Boundary, CutRows
from cobre.sddp.result import TrainingResult
from cobre.sddp.sharing import tell_all
from cobre.sddp.training import train
from cobre.study.control_desk import open_desk
from cobre.study.parcel import Parcel
from cobre.study.threads import threads_of_rank

SHARING_MS = "sharing_ms"
"""Among the timings of a result: giving case and start to all ranks, before its clock starts."""


@dataclass(frozen=True, eq=False)
class TrainingOrder:
    """What every rank needs."""

    case: Case
    start: TrainingState | None
    checkpoints: CheckpointPlan | None
    first_cuts: tuple[CutRows | None, ...]
    boundary: Boundary | None
    control: str | None = None
    """Where the first rank listens for requests."""
    wants_details: bool = False
    """Whether the first rank reports what each iteration did."""
    threads: int | str = 1
    """Of each rank: see `cobre.study.threads`."""


def train_on(
    comm: GroupMember, order: TrainingOrder, on_progress: OnProgress | None, on_detail: OnDetail | None
) -> TrainingResult:
    """Collective: train as ``order`` says."""
    threads = threads_of_rank(comm, order.threads)
    with open_desk(order.control if comm.rank == 0 else None) as desk:
        return train(
            comm,
            order.case,
            on_progress=on_progress,
            start=order.start,
            checkpoints=order.checkpoints,
            first_cuts=order.first_cuts,
            boundary=order.boundary,
            on_detail=on_detail if order.wants_details else None,
            desk=desk,
            threads=threads,
        )


def train_together(
    comm: GroupMember,
    order: TrainingOrder | None,
    on_progress: OnProgress | None,
    on_detail: OnDetail | None,
) -> TrainingResult:
    """Collective: train as ``order`` of rank 0 says; the timings of the result have the time of sharing it."""
    began = time.perf_counter()
    shared = tell_all(comm, order)
    sharing_ms = 1000.0 * (time.perf_counter() - began)
    result = train_on(comm, shared, on_progress, on_detail)
    result.timings[SHARING_MS] = sharing_ms
    return result


def train_rank(comm: GroupMember, parcel: Parcel[TrainingOrder]) -> TrainingResult | None:
    """What each worker runs; rank 0 alone sends the result back."""
    result = train_together(comm, parcel.open(), emit, emit)
    return result if comm.rank == 0 else None
