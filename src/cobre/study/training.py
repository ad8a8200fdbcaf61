"""Load, check and train a case."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

from cobre import io
from cobre.comm import GroupMember, LocalCommunicator, emit, run
from cobre.core.case import Case
from cobre.core.outputs import TableSchema
from cobre.core.training_tables import CUT_SELECTION, RETRY_HISTOGRAM, SOLVER_ITERATIONS, TIMING
from cobre.errors import CobreError, WorkerError
from cobre.io import ValidationReport
from cobre.io.results import TrainingRecord, find_results, read_training
from cobre.io.write import begin, finish, write_training
from cobre.io.write.dictionaries import write_dictionaries
from cobre.sddp.events import ProgressEvent
from cobre.sddp.result import TrainingResult
from cobre.sddp.sharing import share
from cobre.sddp.training import train as train_on

COLLECTIVE_TIMEOUT_S = 3600
"""How long a rank waits for others: a slow linear program is no failure, and a dead rank is noticed anyway."""

TIMEOUT_VARIABLES = ("COBRE_SHM_TIMEOUT_SECS", "COBRE_TCP_TIMEOUT_SECS")
RANK_VARIABLES = ("COBRE_SHM_RANK", "COBRE_TCP_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID")
"""Set in a process that some launcher started as one rank of many."""

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
        refuse_workers_beside(comm, num_workers, backend)
        is_writer = comm.rank == 0
    else:
        check_workers(num_workers, backend)
        is_writer = True
    folder = Path(output) if output is not None and is_writer else None
    prepared: list[Case] = []

    def prepare() -> Case:
        study = configured(case, config_overrides)
        if folder is not None:
            begin(folder)
        prepared.append(study)
        return study

    if comm is not None:
        result = train_on(comm, share(comm, on_first_rank(comm, prepare)), on_progress=progress_callback)
    else:
        result = _train_here_or_apart(prepare(), num_workers, backend, progress_callback)
    if folder is not None:
        write_results(folder, prepared[0], result)
    return result


def on_first_rank(comm: GroupMember, action: Callable[[], T]) -> T | None:
    """Collective: what ``action`` gives on rank 0, None elsewhere; its error is raised on every rank.

    So no rank is left waiting for a rank 0 that could not begin.
    """
    value: T | None = None
    failure: CobreError | None = None
    if comm.rank == 0:
        try:
            value = action()
        except CobreError as error:
            failure = error
    failure = share(comm, failure)
    if failure is not None:
        raise failure
    return value


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
    if num_workers == 1 and backend in ("auto", "local"):
        with LocalCommunicator() as alone:
            return train_on(alone, case, on_progress=progress_callback)
    result: TrainingResult = run_workers(
        _train_rank, (Parcel(case),), num_workers, backend, progress_callback
    )
    return result


def run_workers(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    num_workers: int,
    backend: str,
    progress_callback: OnProgress | None,
) -> Any:
    """What ``function(comm, *arguments)`` gives on rank 0 of ``num_workers`` new processes."""

    def deliver(rank: int, event: Any) -> None:
        if progress_callback is not None:
            progress_callback(event)

    timeouts = {name: str(COLLECTIVE_TIMEOUT_S) for name in TIMEOUT_VARIABLES if not os.environ.get(name)}
    try:
        results = run(
            function,
            num_workers=num_workers,
            backend=backend,
            args=arguments,
            on_event=deliver,
            environment=timeouts,
            relay_signals=True,
        )
    except WorkerError as error:
        if num_workers == 1 and isinstance(error.inner, CobreError):
            raise error.inner from None  # it ran in this process: nobody else failed
        raise
    return results[0]


class Parcel(Generic[T]):
    """Data on its way to workers; whoever opens it leaves it empty, so that no copy stays behind."""

    def __init__(self, content: T) -> None:
        self._content: T | None = content

    def open(self) -> T | None:
        """The content, once."""
        content, self._content = self._content, None
        return content


def _train_rank(comm: GroupMember, parcel: Parcel[Case]) -> TrainingResult | None:
    """What each worker runs; rank 0 alone sends the result back."""
    result = train_on(comm, share(comm, parcel.open()), on_progress=emit)
    return result if comm.rank == 0 else None


def _training_tables(result: TrainingResult) -> list[tuple[TableSchema, dict[str, list[Any]]]]:
    tables: dict[str, tuple[TableSchema, dict[str, list[Any]]]] = {}
    first = 1
    for log in result.logs:
        milliseconds = result.history["iteration_time_ms"][first - 1 :]
        parts = (
            (TIMING, log.timing_columns(milliseconds, first)),
            (SOLVER_ITERATIONS, log.solver_columns(first)),
            (RETRY_HISTOGRAM, log.retry_columns(first)),
            (CUT_SELECTION, log.selection_columns()),
        )
        for schema, columns in parts:
            _, found = tables.setdefault(schema.name, (schema, {name: [] for name in schema.column_names}))
            for name, values in columns.items():
                found[name].extend(values)
        first += log.n_iterations
    return list(tables.values())


def write_results(folder: Path, case: Case, result: TrainingResult) -> None:
    """Write policy, tables, metadata and timings into ``folder``, then ``_SUCCESS`` unless a signal ended it."""
    result.policy.save(folder / POLICY_FOLDER)
    write_dictionaries(folder, case, result.policy.state_names)
    write_training(
        folder, result.convergence_history, metadata_of(result), result.timings, _training_tables(result)
    )
    if result.termination_reason != "shutdown":
        finish(folder)


def metadata_of(result: TrainingResult) -> dict[str, Any]:
    """How training went, as plain data."""
    workers = result.workers or []
    return {
        "cobre_version": version("pycobre"),
        "iterations": result.iterations,
        "final_lower_bound": result.final_lower_bound,
        "final_upper_bound": result.final_upper_bound,
        "final_gap": result.final_gap,
        "termination_reason": result.termination_reason,
        "total_cuts": result.total_cuts,
        "wall_time_ms": result.history["wall_time_ms"][-1],
        "policy": result.policy.summary(),
        "workers": [
            {"rank": worker.rank, "wall_time_ms": worker.wall_time_ms, "backend": worker.backend}
            for worker in workers
        ],
    }


def check_workers(num_workers: int, backend: str) -> None:
    """Raise unless this process can start that many workers."""
    is_number = isinstance(num_workers, Integral) and not isinstance(num_workers, bool)
    if not is_number or num_workers < 1:
        raise CobreError(
            f"cannot run on {num_workers if is_number else repr(num_workers)} workers",
            kind="IncompatibleSettings",
            context={"num_workers": num_workers},
            suggestion="pass num_workers=1 or more",
        )
    if backend == "mpi":
        raise CobreError(
            "the mpi backend cannot be started from inside a Python program",
            kind="IncompatibleSettings",
            context={"backend": backend, "num_workers": num_workers},
            suggestion="run `cobre launch --backend mpi -n N cobre run CASE` or `mpiexec -n N cobre run CASE`",
        )
    if num_workers == 1:
        return
    if backend == "local":
        raise CobreError(
            f"the local backend has one rank, not {num_workers}",
            kind="IncompatibleSettings",
            context={"backend": backend, "num_workers": num_workers},
            suggestion="leave backend at 'auto', or pass num_workers=1",
        )
    launched = [name for name in RANK_VARIABLES if os.environ.get(name)]
    if launched:
        raise CobreError(
            f"this process is already one rank of a launched group ({launched[0]}={os.environ[launched[0]]}) and "
            f"cannot start {num_workers} workers of its own",
            kind="IncompatibleSettings",
            context={"num_workers": num_workers, "variable": launched[0]},
            suggestion="leave the number of workers away to join that group, or start without the launcher",
        )


def refuse_workers_beside(comm: GroupMember, num_workers: int, backend: str) -> None:
    """Raise if workers are asked for although a group of ranks is given."""
    if num_workers != 1 or backend not in ("auto", comm.backend):
        raise CobreError(
            f"comm brings {comm.size} ranks over {comm.backend}; num_workers={num_workers} and backend={backend!r} "
            "ask for others",
            kind="IncompatibleSettings",
            context={"num_workers": num_workers, "backend": backend},
            suggestion="pass either comm, or num_workers and backend",
        )
