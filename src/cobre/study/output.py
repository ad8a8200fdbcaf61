"""The folder that a run writes into."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from cobre.core.case import Case
from cobre.core.outputs import TableSchema
from cobre.core.training_tables import CUT_SELECTION, RETRY_HISTOGRAM, SOLVER_ITERATIONS, TIMING
from cobre.errors import CobreError, WorkerError
from cobre.files import FREE_SPACE, syncing_together
from cobre.io.write import (
    RunRecord,
    begin,
    check_owner,
    claim,
    fail,
    finish,
    write_fixed_deliveries,
    write_generic_constraints,
    write_hydro_models,
    write_model_facts,
    write_training,
)
from cobre.io.write.dictionaries import write_dictionaries
from cobre.io.write.folder import SUCCESS, TRAINING_SUCCESS
from cobre.io.write.stochastic import write_stochastic
from cobre.sddp.checkpointing import check_writable, remove_checkpoints, remove_surplus, remove_unfinished
from cobre.sddp.nature import Nature
from cobre.sddp.result import TrainingResult
from cobre.study.starting import (
    CHECKPOINT_FOLDER,
    Start,
    StartRequest,
    UnfinishedPart,
    find_start,
    how_to_continue,
    plan_of,
)
from cobre.study.training_metadata import file_metadata

POLICY_FOLDER = "policy"


class RunOutput:
    """The folder a run writes into, its own until it ends; with None for a folder nothing is written."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = self._folder = folder
        self.run: RunRecord | None = None
        self.is_continued = False
        """Whether the run continues from a checkpoint of its own folder."""
        self._case: Case | None = None
        self._start = Start()
        self._resources = ExitStack()

    def begin(self, case: Case, wanted: StartRequest) -> Start:
        """Take the folder over for a run of ``case``; where training starts.

        Nothing of an earlier run is removed before it is clear that this one can start.
        """
        folder = self._folder
        if folder is None:
            return find_start(case, wanted, None)
        self._resources.enter_context(claim(folder))
        start = find_start(case, wanted, folder, _unfinished_part(folder))
        own = folder / CHECKPOINT_FOLDER
        if plan_of(case, folder) is not None:
            check_writable(own)
        remove_unfinished(own)
        self.is_continued = (
            start.checkpoint is not None and start.checkpoint.parent.resolve() == own.resolve()
        )
        if not self.is_continued:
            remove_checkpoints(own)
        self.run, self._case, self._start = RunRecord.start(case), case, start
        begin(folder, self.run, keeps_policy=bool(start.first_cuts))
        if case.config.exports_stochastic:
            nature = Nature.of(case)
            tree = nature.tree(None, range(len(nature.stages)))
            write_stochastic(folder, case, nature.of_openings.inflow, tree)
        return start

    def begin_again(self, case: Case, wanted: StartRequest) -> Start:
        """Where training of the same run starts after an attempt that failed."""
        self._start = find_start(case, wanted, self._folder)
        if self._folder is not None:
            remove_unfinished(self._folder / CHECKPOINT_FOLDER)
        return self._start

    def write(self, result: TrainingResult) -> None:
        """Write all results, then ``_SUCCESS`` unless a signal ended training."""
        if self._folder is None or self.run is None or self._case is None:
            return
        check_owner(self._folder, self.run)
        is_complete = result.termination_reason != "shutdown"
        facts = self.run.facts("complete" if is_complete else "partial")
        with syncing_together():
            self._write_files(self._folder, self._case, result, facts)
        # A rank of an attempt that was killed may have lived on for a moment and have begun to write another one.
        remove_unfinished(self._folder / CHECKPOINT_FOLDER)
        remove_surplus(self._folder / CHECKPOINT_FOLDER)
        if is_complete:
            finish(self._folder)

    def _write_files(self, folder: Path, case: Case, result: TrainingResult, facts: dict[str, Any]) -> None:
        result.policy.save(folder / POLICY_FOLDER)
        write_hydro_models(folder, case)
        write_model_facts(folder, case)
        write_generic_constraints(folder, case)
        write_fixed_deliveries(folder, case)
        write_dictionaries(folder, case, result.policy.state_names)
        metadata = {
            **file_metadata(case, result),
            "resumed_from": self._start.facts(),
            **facts,
        }
        tables = _training_tables(result)
        write_training(folder, result.convergence_history, metadata, result.timings, tables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._folder is not None and self.run is not None:
            fail(self._folder, self.run, str(error).partition("\n")[0] or type(error).__name__)
            tell_how_to_continue(error, self._folder)
        self._resources.close()


def tell_how_to_continue(error: BaseException, folder: Path) -> None:
    """Add it to an error that another attempt may not meet: a worker was killed, or the disk is full."""
    is_killed = isinstance(error, WorkerError) and error.inner is None
    if isinstance(error, CobreError) and (is_killed or error.suggestion == FREE_SPACE):
        steps = [error.suggestion, how_to_continue(folder)]
        error.suggestion = "; then ".join(step for step in steps if step)


def _unfinished_part(folder: Path) -> UnfinishedPart | None:
    """What the last run in ``folder`` did not finish; None if it ended."""
    if (folder / SUCCESS).exists():
        return None
    return "simulation" if (folder / TRAINING_SUCCESS).exists() else "training"


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
    if not any(log.selections for log in result.logs):
        tables.pop(CUT_SELECTION.name, None)
    return list(tables.values())
