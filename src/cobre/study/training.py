"""Train a policy, on this process, on several, or on a group of ranks that is there already."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.comm import GroupMember, LocalCommunicator, emit
from cobre.core.case import Case
from cobre.sddp.events import OnProgress
from cobre.sddp.result import TrainingResult
from cobre.sddp.sharing import share
from cobre.sddp.training import train as train_on
from cobre.study.cases import configured
from cobre.study.output import RunOutput
from cobre.study.ranks import (
    Parcel,
    check_workers,
    is_here,
    on_first_rank,
    refuse_workers_beside,
    run_workers,
)


def train(
    case: Case | str | PathLike[str] | None,
    num_workers: int = 1,
    backend: str = "auto",
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: OnProgress | None = None,
    output: str | PathLike[str] | None = None,
    comm: GroupMember | None = None,
) -> TrainingResult:
    """Train a policy for ``case`` (a study, or the folder of one; None on ranks of ``comm`` after the first).

    One worker runs in this process. Several are fresh processes over shared memory, or over what ``backend`` names;
    this one only waits for them. With ``comm`` this process is one rank of a group that is there already: every
    rank calls this, rank 0's case counts, and every rank gets the result. The bits of the policy and its bounds are the
    same in all these ways.

    ``config_overrides`` has the keys of ``config.json`` and is merged into it. ``progress_callback`` is called here
    after each iteration of each worker (with ``comm``, for this rank). Nothing is written unless ``output`` names a
    folder; ``_SUCCESS`` in it comes last, and only if no signal ended training early.

    SIGINT or SIGTERM lets the running iteration finish; the result then says ``shutdown``.
    """
    if comm is not None:
        refuse_workers_beside(comm, num_workers, backend)
        is_writer = comm.rank == 0
    else:
        check_workers(num_workers, backend)
        is_writer = True
    with RunOutput(Path(output) if output is not None and is_writer else None) as results:

        def prepare() -> Case:
            study = configured(case, config_overrides)
            results.begin(study)
            return study

        if comm is not None:
            result = train_on(comm, share(comm, on_first_rank(comm, prepare)), on_progress=progress_callback)
        else:
            result = _train_here_or_apart(prepare(), num_workers, backend, progress_callback)
        results.write(result)
    return result


def _train_here_or_apart(
    case: Case, num_workers: int, backend: str, progress_callback: OnProgress | None
) -> TrainingResult:
    if is_here(num_workers, backend):
        with LocalCommunicator() as alone:
            return train_on(alone, case, on_progress=progress_callback)
    result: TrainingResult = run_workers(
        _train_rank, (Parcel(case),), num_workers, backend, progress_callback
    )
    return result


def _train_rank(comm: GroupMember, parcel: Parcel[Case]) -> TrainingResult | None:
    """What each worker runs; rank 0 alone sends the result back."""
    result = train_on(comm, share(comm, parcel.open()), on_progress=emit)
    return result if comm.rank == 0 else None
