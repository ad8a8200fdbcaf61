"""The product in a few verbs. Composes `cobre.io` and `cobre.sddp`; computes nothing itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

from cobre import io
from cobre.comm import GroupMember, LocalCommunicator, emit, run
from cobre.comm.backend import Backend, LaunchedGroup
from cobre.comm.selection import BackendKind, chosen_in, get_backend, launched_group, require_joinable
from cobre.core.case import Case
from cobre.errors import CobreError, CollectiveFailed, WorkerError
from cobre.io import ProblemReport, ValidationReport
from cobre.io.results import TrainingRecord, find_results, read_training
from cobre.io.write import RunRecord, begin, check_owner, claim, fail, finish, write_training
from cobre.sddp.events import ProgressEvent
from cobre.sddp.policy import Policy
from cobre.sddp.result import TrainingResult, WorkerInfo
from cobre.sddp.sharing import share
from cobre.sddp.training import train as train_on

__all__ = [
    "Case",
    "CaseLoader",
    "Policy",
    "ProgressEvent",
    "TrainingResult",
    "WorkerInfo",
    "load_case",
    "train",
    "validate",
]

COLLECTIVE_TIMEOUT_S = 3600
"""How long a rank waits for others: a slow linear program is no failure, and a dead rank is noticed anyway."""

POLICY_FOLDER = "policy"

T = TypeVar("T")
OnProgress = Callable[[ProgressEvent], None]


def load_case(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
    """The study in a case directory.

    Raises one `cobre.ValidationError` whose ``errors`` lists every problem, or `cobre.IOError` if the folder is not
    there or may not be read. ``config_overrides`` has the keys of ``config.json`` and is merged into it.
    """
    return io.load(path, config_overrides)


def load_with_report(path: str | PathLike[str]) -> tuple[Case, ValidationReport]:
    """Like `load_case`, with the warnings."""
    return io.load_with_report(path)


class CaseLoader:
    """`load_case` under the name that users of the public Cobre know."""

    @staticmethod
    def load(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
        """See `load_case`."""
        return load_case(path, config_overrides)


def validate(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None
) -> ValidationReport:
    """Every error and warning about a case directory; raises only if there is no such folder."""
    return io.validate(path, config_overrides)


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
        _refuse_workers_beside(comm, num_workers, backend)
        is_writer = comm.rank == 0
    else:
        _check_workers(num_workers, backend)
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


class RunOutput:
    """The folder a run writes into, its own until it ends; with None for a folder nothing is written."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._run: RunRecord | None = None
        self._resources = ExitStack()

    def begin(self, case: Case) -> None:
        """Take the folder over for a run of ``case``."""
        if self._folder is not None:
            self._resources.enter_context(claim(self._folder))
            run = RunRecord.start(case)
            begin(self._folder, run)
            self._run = run

    def write(self, result: TrainingResult) -> None:
        """Write policy, convergence, timings and metadata, then ``_SUCCESS`` unless a signal ended training."""
        if self._folder is None or self._run is None:
            return
        check_owner(self._folder, self._run)
        is_complete = result.termination_reason != "shutdown"
        facts = self._run.facts("complete" if is_complete else "partial")
        result.policy.save(self._folder / POLICY_FOLDER)
        write_training(
            self._folder, result.convergence_history, {**metadata_of(result), **facts}, result.timings
        )
        if is_complete:
            finish(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._folder is not None and self._run is not None:
            fail(self._folder, self._run, str(error).partition("\n")[0] or type(error).__name__)
        self._resources.close()


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


def idle_workers(case: Case, ranks: int) -> list[ProblemReport]:
    """A warning if there are more ranks than trajectories to share among them."""
    trajectories = case.config.training.forward_passes
    if ranks <= trajectories:
        return []
    count = "1 trajectory" if trajectories == 1 else f"{trajectories} trajectories"
    return [
        ProblemReport(
            "IncompatibleSettings",
            "config.json",
            f"an iteration has {count}, so {ranks - trajectories} of {ranks} workers are idle",
            f"start {trajectories} or fewer (-n {trajectories}), or raise training.forward_passes",
            field="training.forward_passes",
            value=trajectories,
        )
    ]


def read_results(path: str | PathLike[str]) -> TrainingRecord:
    """What a run left in a folder of results, or in ``output`` of a case's folder."""
    return read_training(find_results(Path(path)))


def configured(case: Case | str | PathLike[str] | None, config_overrides: Mapping[str, Any] | None) -> Case:
    """The study with other settings laid over those of its ``config.json``."""
    if case is None:
        raise TypeError("there is no case to train\n  fix: pass a case, or the folder of one")
    if not isinstance(case, Case):
        return io.load(case, config_overrides)
    if not config_overrides:
        return case
    if case.folder is None:
        raise CobreError(
            "config_overrides lie over config.json, and this case was not read from a folder",
            kind="IncompatibleSettings",
            suggestion="change case.config with dataclasses.replace, or load the case from its folder",
        )
    return io.load(case.folder, config_overrides)


def _train_here_or_apart(
    case: Case, num_workers: int, backend: str, progress_callback: OnProgress | None
) -> TrainingResult:
    if num_workers == 1 and backend in (BackendKind.AUTO, BackendKind.LOCAL):
        with LocalCommunicator() as alone:
            return train_on(alone, case, on_progress=progress_callback)

    def deliver(rank: int, event: Any) -> None:
        if progress_callback is not None:
            progress_callback(event)

    try:
        results = run(
            _train_rank,
            num_workers=num_workers,
            backend=backend,
            args=(_Parcel(case),),
            on_event=deliver,
            collective_timeout=COLLECTIVE_TIMEOUT_S,
            relay_signals=True,
        )
    except WorkerError as error:
        if num_workers == 1 and isinstance(error.inner, CobreError):
            raise error.inner from None  # it ran in this process: nobody else failed
        raise
    result: TrainingResult = results[0]
    return result


class _Parcel:
    """A case on its way to workers; whoever opens it leaves it empty, so that no copy stays behind."""

    def __init__(self, case: Case) -> None:
        self._case: Case | None = case

    def open(self) -> Case | None:
        case, self._case = self._case, None
        return case


def _train_rank(comm: GroupMember, parcel: _Parcel) -> TrainingResult | None:
    """What each worker runs; rank 0 alone sends the result back."""
    result = train_on(comm, share(comm, parcel.open()), on_progress=emit)
    return result if comm.rank == 0 else None


def metadata_of(result: TrainingResult) -> dict[str, Any]:
    """How training went, as plain data."""
    workers = result.workers or []
    return {
        "cobre_version": version("pycobre"),
        "iterations": result.iterations,
        "final_lower_bound": result.final_lower_bound,
        "final_upper_bound": result.final_upper_bound,
        "final_gap": result.final_gap,
        "gap_estimate": None if result.gap_estimate is None else asdict(result.gap_estimate),
        "termination_reason": result.termination_reason,
        "total_cuts": result.total_cuts,
        "wall_time_ms": result.convergence_history["wall_time_ms"][-1].as_py(),
        "policy": result.policy.summary(),
        "workers": [
            {"rank": worker.rank, "wall_time_ms": worker.wall_time_ms, "backend": worker.backend}
            for worker in workers
        ],
    }


def _check_workers(num_workers: int, backend: str) -> None:
    is_number = isinstance(num_workers, Integral) and not isinstance(num_workers, bool)
    if not is_number or num_workers < 1:
        raise CobreError(
            f"cannot train on {num_workers if is_number else repr(num_workers)} workers",
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
    if num_workers != 1 or backend not in ("auto", comm.backend):
        raise CobreError(
            f"comm brings {comm.size} ranks over {comm.backend}; num_workers={num_workers} and backend={backend!r} "
            "ask for others",
            kind="IncompatibleSettings",
            context={"num_workers": num_workers, "backend": backend},
            suggestion="pass either comm, or num_workers and backend",
        )
