"""What every iteration of training did and how long it took: the training tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember, ReduceOp
from cobre.sddp.solver_tables import (
    COUNTERS,
    Columns,
    by_stage,
    retry_columns,
    solver_columns,
)
from cobre.sddp.stage import StageModel
from cobre.sddp.statistics import gather_rows
from cobre.solver import count_all

PHASES = ("forward", "backward", "selection", "lower_bound")
COMMUNICATION = ("allreduce_move", "other_move", "wait")


@dataclass(frozen=True)
class SelectionRecord:
    """What cut selection did to one stage."""

    iteration: int
    stage: int
    populated: int
    active_before: int
    active_after_method: int
    active_after: int
    seconds: float


@dataclass
class Journal:
    """Collects, on this rank, what each phase of each iteration did."""

    comm: GroupMember
    models: Sequence[StageModel]
    selections: list[SelectionRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._counters: list[Floats] = []
        """One entry per iteration: ``[phase, model, counter]``."""
        self._rows: list[Floats] = []
        """One entry per iteration: ``[phase]``, the rows of all programs that were solved, cuts included."""
        self._times: list[Floats] = []
        """One entry per iteration: ``[phase, (seconds, communication…)]``."""
        self._solvers = [model.solver for model in self.models]
        self._rows_without_cuts = np.array([solver.template.n_rows for solver in self._solvers])
        self._most_rows = 0
        self._marks: list[tuple[Floats, list[float]]] = []
        """Counters and active cuts of all models, and times, when this iteration began and after each phase."""

    @property
    def n_iterations(self) -> int:
        """Iterations of this part of the run."""
        return len(self._counters)

    def begin_iteration(self) -> None:
        """What happened since the last phase belongs to none."""
        self._marks = [self._mark()]

    def end_phase(self, phase: str) -> None:
        """What happened since the last call belongs to ``phase`` of this iteration; phases come in their order."""
        self._marks.append(self._mark())
        if phase != PHASES[len(self._marks) - 2]:
            raise AssertionError(f"phase {phase} out of turn")
        if len(self._marks) == 1 + len(PHASES):
            self._end_iteration()

    def _mark(self) -> tuple[Floats, list[float]]:
        return count_all(self._solvers), self._read_times()

    def _end_iteration(self) -> None:
        counted = np.stack([mark for mark, _ in self._marks])
        counters = np.diff(counted[:, :, :-1], axis=0)
        self._counters.append(counters)
        self._times.append(np.diff(np.array([times for _, times in self._marks]), axis=0))
        solves = counters[:, :, COUNTERS.index("solves")]
        rows = self._rows_without_cuts + counted[1:, :, -1]
        self._rows.append((solves * rows).sum(axis=1))
        self._most_rows = max(self._most_rows, int(rows[solves > 0].max(initial=0)))

    def _read_times(self) -> list[float]:
        stats = self.comm.stats()
        other = wait = 0.0
        for verb, entry in stats.items():
            wait += entry["wait_s"]
            if verb != "allreduce":
                other += entry["move_s"]
        return [time.perf_counter(), stats["allreduce"]["move_s"], other, wait]

    def last_iteration(self) -> tuple[Floats, Floats]:
        """Of the newest iteration on this rank: ``[counter]`` over phases and stages, and ``[phase, (seconds, …)]``."""
        counters: Floats = self._counters[-1].sum(axis=(0, 1))
        return counters, self._times[-1]

    def close(self) -> TrainingLog:
        """Collective: what all ranks did. Counters are those of all ranks together, times those of each."""
        mine = by_stage(self.models, np.stack(self._counters))
        total, rows = np.empty_like(mine), np.empty((len(mine), len(PHASES)))
        self.comm.allreduce(mine, total, ReduceOp.SUM)
        self.comm.allreduce(np.stack(self._rows), rows, ReduceOp.SUM)
        most, most_rows = np.array([self._most_rows], dtype=np.int64), np.empty(1, dtype=np.int64)
        self.comm.allreduce(most, most_rows, ReduceOp.MAX)
        times = gather_rows(self.comm, np.stack(self._times)[np.newaxis], self.comm.size)
        # Setting up a solve is measured inside the solver: this rank's part of it, per phase.
        setup = mine[:, :, :, [COUNTERS.index("patch_ns"), COUNTERS.index("basis_ns")]].sum(axis=(2, 3)) / 1e9
        setups = gather_rows(self.comm, setup[np.newaxis], self.comm.size)
        return TrainingLog(
            stage_ids=stage_ids(self.models),
            counters=total,
            rows=rows,
            most_rows=int(most_rows[0]),
            times=times,
            setups=setups,
            selections=self.selections,
        )


def stage_ids(models: Sequence[StageModel]) -> list[int]:
    """Of all stages in order; a stage may have several models."""
    return [id for _, id in sorted({(model.index, model.stage.id) for model in models})]


@dataclass(frozen=True)
class TrainingLog:
    """The training tables' numbers, equal on every rank."""

    stage_ids: list[int]
    counters: Floats
    """``[iteration, phase, stage, counter]`` of all ranks."""
    rows: Floats
    """``[iteration, phase]``: rows of all programs that were solved, cuts included, of all ranks."""
    most_rows: int
    """Of the largest program that was solved."""
    times: Floats
    """``[rank, iteration, phase, (seconds, communication…)]``."""
    setups: Floats
    """``[rank, iteration, phase]``: seconds of patching and setting bases."""
    selections: list[SelectionRecord]

    @property
    def n_iterations(self) -> int:
        return len(self.counters)

    def solves(self) -> list[int]:
        """Linear programs of each iteration."""
        return [int(n) for n in self._counter("solves").sum(axis=(1, 2))]

    def mean_rows(self) -> list[float]:
        """Rows of a program that was solved, on average, in each iteration."""
        return [float(rows.sum()) / max(1, n) for rows, n in zip(self.rows, self.solves(), strict=True)]

    def solve_seconds(self, phase: str) -> float:
        """Time inside the solver in all of a phase, of all ranks."""
        return float(self._counter("run_ns")[:, PHASES.index(phase)].sum()) / 1e9

    def phase_ms(self, phase: str) -> list[int]:
        """Time of a phase in each iteration, on the first rank."""
        return [round(1000.0 * s) for s in self.times[0, :, PHASES.index(phase), 0]]

    def _counter(self, name: str) -> Floats:
        values: Floats = self.counters[..., COUNTERS.index(name)]
        return values

    def timing_columns(self, iteration_ms: Sequence[float], first: int = 1) -> Columns:
        """`cobre.core.training_tables.TIMING`; ``iteration_ms`` are whole iterations, from number ``first`` on."""
        found: Columns = {}
        for iteration in range(self.n_iterations):
            for rank in range(len(self.times)):
                row = self._timing_row(rank, iteration, iteration_ms[iteration])
                row["iteration"] = first + iteration
                for name, value in row.items():
                    found.setdefault(name, []).append(value)
        return found

    def _timing_row(self, rank: int, iteration: int, total_ms: float) -> dict[str, int | None]:
        times, setups = self.times[rank, iteration], self.setups[rank, iteration]
        forward, backward, selection, bound = (1000.0 * times[k, 0] for k in range(len(PHASES)))
        moved = {name: 1000.0 * times[:, 1 + k] for k, name in enumerate(COMMUNICATION)}
        f, b = PHASES.index("forward"), PHASES.index("backward")
        milliseconds = {
            "forward_wall": forward,
            "backward_wall": backward,
            "cut_selection": selection,
            "mpi_allreduce": float(moved["allreduce_move"].sum()),
            "cut_sync": moved["other_move"][b],
            "lower_bound": bound,
            "state_exchange": moved["other_move"][f],
            "cut_batch_build": 0.0,
            "bwd_setup": 1000.0 * setups[b],
            "bwd_load_imbalance": moved["wait"][b],
            "bwd_scheduling_overhead": 0.0,
            "fwd_setup": 1000.0 * setups[f],
            "fwd_load_imbalance": moved["wait"][f],
            "fwd_scheduling_overhead": 0.0,
            "overhead": max(0.0, total_ms - forward - backward - selection - bound),
            "lazy_scoring": 0.0,
        }
        place = {"iteration": iteration + 1, "rank": rank, "worker_id": None}
        return {**place, **{f"{name}_ms": round(value) for name, value in milliseconds.items()}}

    def solver_columns(self, first: int = 1) -> Columns:
        """`cobre.core.training_tables.SOLVER_ITERATIONS`: a row per iteration, phase and stage with solves."""
        return solver_columns(self._by_phase(first), self.stage_ids)

    def retry_columns(self, first: int = 1) -> Columns:
        """`cobre.core.training_tables.RETRY_HISTOGRAM`: only where a solve needed more than one attempt."""
        return retry_columns(self._by_phase(first), self.stage_ids)

    def _by_phase(self, first: int) -> Iterator[tuple[int, str, Floats]]:
        for iteration, of_iteration in enumerate(self.counters):
            for phase, counters in zip(PHASES, of_iteration, strict=True):
                yield first + iteration, phase, counters

    def selection_columns(self) -> Columns:
        """`cobre.core.training_tables.CUT_SELECTION`."""
        return {
            "iteration": [each.iteration for each in self.selections],
            "stage_id": [self.stage_ids[each.stage] for each in self.selections],
            "cuts_populated": [each.populated for each in self.selections],
            "cuts_active_before": [each.active_before for each in self.selections],
            "cuts_deactivated": [each.active_before - each.active_after_method for each in self.selections],
            "cuts_reactivated": [0 for _ in self.selections],
            "cuts_active_after": [each.active_after_method for each in self.selections],
            "selection_time_ms": [1000.0 * each.seconds for each in self.selections],
            "budget_evicted": [each.active_after_method - each.active_after for each in self.selections],
            "active_after_budget": [each.active_after for each in self.selections],
        }
