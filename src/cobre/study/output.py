"""The folder that a run writes into."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from cobre.core.case import Case
from cobre.core.outputs import TableSchema
from cobre.core.training_tables import CUT_SELECTION, RETRY_HISTOGRAM, SOLVER_ITERATIONS, TIMING
from cobre.io.write import (
    RunRecord,
    begin,
    check_owner,
    claim,
    fail,
    finish,
    write_hydro_models,
    write_training,
)
from cobre.io.write.dictionaries import write_dictionaries
from cobre.io.write.stochastic import write_stochastic
from cobre.sddp.nature import Nature
from cobre.sddp.result import TrainingResult
from cobre.study.training_metadata import file_metadata

POLICY_FOLDER = "policy"


class RunOutput:
    """The folder a run writes into, its own until it ends; with None for a folder nothing is written."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._run: RunRecord | None = None
        self._case: Case | None = None
        self._resources = ExitStack()

    def begin(self, case: Case) -> None:
        """Take the folder over for a run of ``case``."""
        if self._folder is not None:
            self._resources.enter_context(claim(self._folder))
            run = RunRecord.start(case)
            begin(self._folder, run)
            self._run, self._case = run, case
            if case.config.exports_stochastic:
                nature = Nature.of(case)
                tree = nature.tree(None, range(len(nature.stages)))
                write_stochastic(self._folder, case, nature.of_openings.inflow, tree)

    def write(self, result: TrainingResult) -> None:
        """Write all results, then ``_SUCCESS`` unless a signal ended training."""
        if self._folder is None or self._run is None or self._case is None:
            return
        check_owner(self._folder, self._run)
        is_complete = result.termination_reason != "shutdown"
        facts = self._run.facts("complete" if is_complete else "partial")
        result.policy.save(self._folder / POLICY_FOLDER)
        write_hydro_models(self._folder, self._case)
        write_dictionaries(self._folder, self._case, result.policy.state_names)
        metadata = {**file_metadata(self._case, result), **facts}
        tables = _training_tables(result)
        write_training(self._folder, result.convergence_history, metadata, result.timings, tables)
        if is_complete:
            finish(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._folder is not None and self._run is not None:
            fail(self._folder, self._run, str(error).partition("\n")[0] or type(error).__name__)
        self._resources.close()


def _training_tables(result: TrainingResult) -> list[tuple[TableSchema, dict[str, list[Any]]]]:
    log = result.log
    if log is None:
        return []
    tables = [
        (TIMING, log.timing_columns(result.history["iteration_time_ms"])),
        (SOLVER_ITERATIONS, log.solver_columns()),
        (RETRY_HISTOGRAM, log.retry_columns()),
    ]
    if log.selections:
        tables.append((CUT_SELECTION, log.selection_columns()))
    return tables
