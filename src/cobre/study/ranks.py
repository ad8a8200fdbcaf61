"""Which processes compute: this one, workers that it starts, or a group of ranks that exists already."""

from __future__ import annotations

import os
from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

from cobre.comm import GroupMember, LocalCommunicator
from cobre.comm.backend import Backend, LaunchedGroup
from cobre.comm.selection import BackendKind, chosen_in, get_backend, launched_group, require_joinable
from cobre.errors import CobreError, CollectiveFailed, WorkerError
from cobre.sddp.events import OnProgress
from cobre.sddp.sharing import share
from cobre.study.parcel import Parcel

COLLECTIVE_TIMEOUT_S = 3600
"""How long a rank waits for others: a slow linear program is no failure, and a dead rank is noticed anyway."""

T = TypeVar("T")


def is_here(num_workers: int, backend: str) -> bool:
    """Whether this process does the work itself."""
    return num_workers == 1 and backend in (BackendKind.AUTO, BackendKind.LOCAL)


def backend_name(comm: GroupMember | None, num_workers: int, backend: str) -> str:
    """How these ranks will talk."""
    if comm is not None:
        return comm.backend
    if is_here(num_workers, backend):
        return "local"
    from cobre.comm.run_on_ranks import require_startable

    return require_startable(backend, num_workers).name


def on_first_rank(comm: GroupMember, action: Callable[[], T]) -> T | None:
    """Collective: what ``action`` gives on rank 0, None elsewhere; its error is raised on every rank.

    So no rank is left waiting for a rank 0 that could not begin. The error is marked ``is_shared``, and on the
    other ranks its cause says that it is rank 0's.
    """
    value: T | None = None
    failure: CobreError | None = None
    if comm.rank == 0:
        try:
            value = action()
        except CobreError as error:
            failure = error
            failure.is_shared = True
    failure = share(comm, failure)
    if failure is None:
        return value
    if comm.rank == 0:
        raise failure
    raise failure from CollectiveFailed("train", message=f"rank 0 of {comm.size} could not begin")


def run_workers(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    num_workers: int,
    backend: str,
    progress_callback: OnProgress | None,
) -> Any:
    """What ``function(comm, *arguments)`` gives on rank 0 of ``num_workers`` new processes."""
    # Not above: one worker needs nothing that starts processes.
    from cobre.comm.run_on_ranks import run

    def deliver(rank: int, event: Any) -> None:
        if progress_callback is not None:
            progress_callback(event)

    try:
        results = run(
            function,
            num_workers=num_workers,
            backend=backend,
            args=arguments,
            on_event=deliver,
            collective_timeout=COLLECTIVE_TIMEOUT_S,
            relay_signals=True,
        )
    except WorkerError as error:
        if num_workers == 1 and isinstance(error.inner, CobreError):
            raise error.inner from None  # it ran in this process: no other rank failed
        raise
    return results[0]


def run_here_or_apart(
    function: Callable[..., T],
    worker: Callable[..., T | None],
    order: object,
    num_workers: int,
    backend: str,
    receive: Callable[[Any], None],
) -> T:
    """What ``function(comm, order, receive, receive)`` gives in this process, or ``worker`` on rank 0 of new ones."""
    if is_here(num_workers, backend):
        with LocalCommunicator() as alone:
            return function(alone, order, receive, receive)
    result: T = run_workers(worker, (Parcel(order),), num_workers, backend, receive)
    return result


def check_ranks(comm: GroupMember | None, num_workers: int, backend: str) -> None:
    """Raise if these ranks cannot be had: those of a group that is given, or workers that this process starts."""
    if comm is not None:
        _refuse_workers_beside(comm, num_workers, backend)
    else:
        _check_workers(num_workers, backend)


def _check_workers(num_workers: int, backend: str) -> None:
    """Raise unless this process can start that many workers."""
    is_number = isinstance(num_workers, Integral) and not isinstance(num_workers, bool)
    if not is_number or num_workers < 1:
        raise CobreError(
            f"cannot run on {num_workers if is_number else repr(num_workers)} workers",
            kind="IncompatibleSettings",
            context={"num_workers": num_workers},
            suggestion="pass num_workers=1 or more",
        )
    if backend != BackendKind.AUTO and get_backend(backend).has_starter:
        raise CobreError(
            f"the {backend} backend cannot be started from inside a Python program",
            kind="IncompatibleSettings",
            context={"backend": backend, "num_workers": num_workers},
            suggestion=f"run `cobre launch --backend {backend} -n N cobre run CASE` or `mpiexec -n N cobre run CASE`",
        )
    if backend == BackendKind.LOCAL and num_workers > 1:
        raise CobreError(
            f"the local backend has one rank, not {num_workers}",
            kind="IncompatibleSettings",
            context={"backend": backend, "num_workers": num_workers},
            suggestion="leave backend at 'auto', or pass num_workers=1",
        )
    launched = launched_group(os.environ)
    if launched is not None:
        _refuse_workers_of_a_rank(*launched, num_workers, backend)
    if not is_here(num_workers, backend):
        from cobre.comm.run_on_ranks import require_startable

        require_startable(backend, int(num_workers))


def _refuse_workers_of_a_rank(record: Backend, group: LaunchedGroup, num_workers: int, backend: str) -> None:
    """A process that a launcher started as one of several ranks trains with them, or says that it means to be alone."""
    context = {"num_workers": num_workers, "variable": group.variable}
    if num_workers > 1:
        raise CobreError(
            f"this process is already one rank of a launched group ({group.variable}={group.value}) and "
            f"cannot start {num_workers} workers of its own",
            kind="IncompatibleSettings",
            context=context,
            suggestion="leave the number of workers away to join that group, or start without the launcher",
        )
    if backend != BackendKind.AUTO or chosen_in(os.environ) != BackendKind.AUTO:
        return
    require_joinable(record, group)
    raise CobreError(
        f"a launcher started {group.described}, and each of them would train the whole case alone",
        kind="IncompatibleSettings",
        context=context,
        suggestion="pass comm=create_communicator() to train together, or backend='local' to train alone",
    )


def _refuse_workers_beside(comm: GroupMember, num_workers: int, backend: str) -> None:
    """Raise if workers are asked for although a group of ranks is given."""
    if num_workers != 1 or backend not in ("auto", comm.backend):
        raise CobreError(
            f"comm brings {comm.size} ranks over {comm.backend}; num_workers={num_workers} and backend={backend!r} "
            "ask for others",
            kind="IncompatibleSettings",
            context={"num_workers": num_workers, "backend": backend},
            suggestion="pass either comm, or num_workers and backend",
        )
