"""The events of one run: numbered, kept in its folder, and passed to callbacks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from cobre._machine import process_start
from cobre.core.case import Case
from cobre.errors import CobreError
from cobre.io.write import RunRecord
from cobre.sddp.events import OnProgress, ProgressEvent, RunWarning
from cobre.sddp.result import IterationRecord, TrainingResult
from cobre.study.control import Control
from cobre.study.event_lines import detail_fields, plain, progress_fields, record_fields, terminated_fields
from cobre.study.event_types import SCHEMA_ID
from cobre.study.run_log import RunLog, event_line

if TYPE_CHECKING:
    from cobre.sddp.simulation import SimulationOutcome

__all__ = ["OnEvent", "RunEvents"]

OnEvent = Callable[[Mapping[str, Any]], None]
Phase = Literal["training", "simulation"]


class RunEvents:
    """Everything that is reported about a run passes here, in the process that owns its folder."""

    def __init__(
        self,
        progress_callback: OnProgress | None = None,
        on_event: OnEvent | None = None,
        on_note: Callable[[str], None] | None = None,
        control: Control | None = None,
        phases: Sequence[Phase] = ("training",),
        ranks: int = 1,
        backend: str = "local",
    ) -> None:
        for name, each in (
            ("progress_callback", progress_callback),
            ("on_event", on_event),
            ("on_note", on_note),
        ):
            if each is not None and not callable(each):
                raise TypeError(f"{name} is {each!r:.80}\n  fix: pass a function, or nothing")
        self._progress_callback = progress_callback
        self._on_event = on_event
        self._on_note = on_note
        self._control = control
        self._phases = list(phases)
        self._ranks = ranks
        self._backend = backend
        self._log: RunLog | None = None
        self._number = 0
        self._is_begun = False
        self._is_partial = False
        self._notes: list[str] = []

    def begin(
        self,
        case: Case,
        run: RunRecord | None,
        folder: Path | None,
        *,
        threads: int | str,
        keeps: bool = False,
        earlier: Sequence[IterationRecord] = (),
    ) -> None:
        """The run can start. Does nothing for the second phase of a run, or without folder and listeners.

        ``threads`` are those of each rank, or "auto" if the ranks find it out. ``earlier`` are iterations of the
        checkpoint that it continues. With ``keeps`` the folder has them already, except the last one if the
        run was killed between its checkpoint and its progress.
        """
        if self._is_begun or (folder is None and self._on_event is None):
            return
        run = run or RunRecord.start(case)
        self._is_begun = True
        told_iterations = 0
        if folder is not None:
            self._open_control()
            self._log = RunLog(folder, self._facts(case, run), keeps=keeps)
            self._number = self._log.next_number - 1
            told_iterations = self._log.told_iterations
        resumed_from = earlier[-1].iteration if earlier else None
        self._write("started", self._started(case, run, threads, resumed_from))
        for note in self._notes:
            self._write("warning", {"message": note})
        for record in earlier:
            if record.iteration > told_iterations:
                self._write("progress", record_fields(record))

    def _open_control(self) -> None:
        if self._control is not None:
            return
        try:
            self._control = Control()
        except CobreError as error:
            self.note(f"this run cannot be steered: {error.message}")

    @property
    def control_address(self) -> str | None:
        """Where the first rank listens for requests; None where the run cannot be steered."""
        return None if self._control is None else self._control.address

    @property
    def wants_details(self) -> bool:
        """Whether any listener gets the events of each iteration."""
        return self._is_begun

    def _facts(self, case: Case, run: RunRecord) -> dict[str, Any]:
        facts = run.facts("running")
        del facts["status"]
        return {
            **facts,
            "case_directory": None if case.folder is None else str(Path(case.folder).absolute()),
            "ranks": self._ranks,
            "backend": self._backend,
            "phases": self._phases,
            "process_start": process_start(run.pid),
            "control": self.control_address,
        }

    def _started(
        self, case: Case, run: RunRecord, threads: int | str, resumed_from: int | None
    ) -> dict[str, Any]:
        system = case.system
        return {
            "$schema": SCHEMA_ID,
            "run_id": run.run_id,
            "case": case.name,
            "stages": case.horizon.n_stages,
            "hydros": len(system.hydros),
            "thermals": len(system.thermals),
            "buses": len(system.buses),
            "lines": len(system.lines),
            "ranks": self._ranks,
            "threads_per_rank": threads,
            "backend": self._backend,
            "phases": self._phases,
            "resumed_from": resumed_from,
            "timestamp": run.started_at,
            "cobre_version": run.cobre_version,
        }

    def receive(self, event: Any) -> None:
        """What a rank reports: progress for the caller, and everything of the first rank for the log."""
        if isinstance(event, ProgressEvent):
            if event.worker_id == 0:
                self._write("progress", progress_fields(event))
            if self._progress_callback is not None:
                self._progress_callback(event)
        else:
            self._write(*detail_fields(event))
            if isinstance(event, RunWarning) and self._on_note is not None:
                self._on_note(event.message)

    def remember(self, texts: Sequence[str]) -> None:
        """What was reported already: events of the run when it starts."""
        self._notes.extend(texts)

    def note(self, text: str) -> None:
        """A note for the user."""
        if self._is_begun:
            self._write("warning", {"message": text})
        else:
            self._notes.append(text)
        if self._on_note is not None:
            self._on_note(text)

    def training_ended(self, result: TrainingResult) -> None:
        """Report how training ended."""
        self._is_partial = result.termination_reason == "shutdown"
        self._write("terminated", terminated_fields(result))

    def simulation_ended(self, outcome: SimulationOutcome, n_scenarios: int) -> None:
        """Report how the simulation ended."""
        statistics = outcome.statistics
        self._is_partial = statistics is None
        self._write(
            "simulation_finished",
            {
                "scenarios": 0 if statistics is None else n_scenarios,
                "scenarios_total": n_scenarios,
                "mean_cost": None if statistics is None else plain(statistics.mean_cost),
                "std_cost": None if statistics is None else plain(statistics.std_cost),
                "elapsed_ms": round(outcome.wall_time_ms),
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._is_begun:
            failure = None if error is None else _facts_of(error)
            status = "failed" if error is not None else "partial" if self._is_partial else "complete"
            now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
            self._write("finished", {"status": status, "error": failure, "timestamp": now})
        if self._log is not None:
            self._log.close()

    def _write(self, kind: str, fields: Mapping[str, Any]) -> None:
        if not self._is_begun:
            return
        self._number += 1
        event = {"type": kind, "seq": self._number, **fields}
        if self._log is not None:
            self._log.write(event_line(event))
        if self._on_event is not None:
            self._on_event(event)


def _facts_of(error: BaseException) -> dict[str, Any]:
    if isinstance(error, CobreError):
        return dict(plain(error.to_dict()))
    return {"type": type(error).__name__, "message": str(error)}
