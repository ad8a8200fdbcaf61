"""The training loop: forward, backward, selection, bound, and whether to go on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from cobre.comm import GroupMember, ReduceOp, contiguous_block
from cobre.core.case import Case
from cobre.core.config import SimulationStopping
from cobre.sddp.backward import backward_pass
from cobre.sddp.bounds import LowerBound, relative_gap
from cobre.sddp.checkpoint import TrainingState
from cobre.sddp.checkpointing import CheckpointPlan, Saver, gather_bases, pool_state, restore
from cobre.sddp.events import OnProgress, ProgressEvent
from cobre.sddp.forward import Trajectories, forward_pass
from cobre.sddp.gap import GapEstimate, comparison_of, estimate_gap
from cobre.sddp.given_cuts import Boundary, CutRows
from cobre.sddp.hosts import host_names
from cobre.sddp.identity import identity_of
from cobre.sddp.interruption import StopRequest
from cobre.sddp.journal import Journal, SelectionRecord, TrainingLog
from cobre.sddp.policy import Policy
from cobre.sddp.result import IterationRecord, TrainingResult, WorkerInfo, convergence_columns
from cobre.sddp.selection import StateArchive, select_cuts
from cobre.sddp.sharing import share
from cobre.sddp.simulation.check import SimulationCheck
from cobre.sddp.stage import Bases
from cobre.sddp.statistics import aggregate_statistics, gather_rows
from cobre.sddp.stopping import TerminationReason, iteration_limit, reason_to_stop
from cobre.sddp.timing import PhaseClock, time_split
from cobre.sddp.workspace import Workspace, open_workspace


def train(
    comm: GroupMember,
    case: Case,
    *,
    on_progress: OnProgress | None = None,
    start: TrainingState | None = None,
    checkpoints: CheckpointPlan | None = None,
    first_cuts: Sequence[CutRows | None] = (),
    boundary: Boundary | None = None,
) -> TrainingResult:
    """Collective: train the policy of ``case`` on all ranks of ``comm``; every rank gets the result.

    With ``start`` it continues where a run stood that `check_identity` finds to be the same; the result is that of a
    run which was never interrupted. With ``checkpoints`` it saves where it stands, at the end as well. Without
    ``start`` the stages begin with ``first_cuts``, if there are any. What follows the last stage costs what
    ``boundary`` says, and nothing without one.

    Bits depend on the case alone, not on the ranks. SIGINT and SIGTERM end training after the iteration that
    runs, on all ranks together, with a policy that can be used. ``on_progress`` is called on every rank that
    has one, after each iteration.
    """
    with StopRequest() as stop:
        training = _Training(comm, case, stop, on_progress, checkpoints, boundary)
        training.begin(start, first_cuts)
        return training.run()


class _Training:
    def __init__(
        self,
        comm: GroupMember,
        case: Case,
        stop: StopRequest,
        on_progress: OnProgress | None,
        checkpoints: CheckpointPlan | None,
        boundary: Boundary | None,
    ) -> None:
        self.clock = PhaseClock()
        self.comm = comm
        self.stop = stop
        self.on_progress = on_progress
        self.settings = case.config.training
        self.comparison = comparison_of(case)
        self.boundary = boundary
        self.identity = identity_of(case, None if boundary is None else boundary.digest)
        self.work: Workspace = open_workspace(
            comm, case, end_cost_bound=None if boundary is None else boundary.floor
        )
        self.journal = Journal(comm, self.work.models)
        self.bound = LowerBound(comm, self.work.models[0], self.work.initial_state)
        self.records: list[IterationRecord] = []
        self.lower_bounds: list[float] = []
        self.check = self._simulation_check(case)
        self.archives: dict[int, StateArchive] = {}
        if self.settings.cut_selection.method == "domination":
            dimension = self.work.state_dimension
            self.archives = {index: StateArchive(dimension) for index in self._selected_stages()}
        self.saver = None if checkpoints is None else Saver(comm, checkpoints)
        self.earlier_logs: list[TrainingLog] = []

    def begin(self, start: TrainingState | None, first_cuts: Sequence[CutRows | None]) -> None:
        """Put cuts of earlier runs into the stages."""
        models = self.work.models
        if start is not None:
            self._continue_from(start)
        else:
            for model, cuts in zip(models, first_cuts, strict=False):
                if cuts is not None:
                    model.set_cuts(cuts.rows, cuts.active)
            if self.boundary is not None:
                models[-1].set_cuts(self.boundary.cuts.rows, self.boundary.cuts.active)
        self.clock.lap("setup")

    def _continue_from(self, start: TrainingState) -> None:
        restore(self.comm, start, self.work.models, self.bound, self.settings.forward_passes)
        self.records = list(start.records)
        self.lower_bounds = [record.lower_bound for record in start.records]
        self.clock.earlier_s = start.elapsed_s
        self.earlier_logs = list(start.logs)
        for index, states in start.archives.items():
            self.archives[index].extend(states)
        if self.check is not None:
            self.check.restore(start.simulated_by_stage, start.simulated_cost, start.simulated_distance)

    def run(self) -> TrainingResult:
        if self.records and (reason := self._reason(self.records[-1].wall_time_ms / 1000.0)) is not None:
            return self._result(reason, None)
        for iteration in count(len(self.records) + 1):
            began = time.perf_counter()
            self.records.append(self._iterate(iteration))
            if self.check is not None:
                self.check.update(self.lower_bounds, self._start_bases)
            reason, signal, is_checkpoint_due = self._decide(began)
            if self.saver is not None and (is_checkpoint_due or reason is not None):
                self.saver.save(self._state())
                self.clock.lap("checkpoint")
            self._report(iteration)
            self.clock.lap("decision")
            if reason is not None:
                return self._result(reason, signal)
        raise AssertionError("count() has no end")

    def _iterate(self, iteration: int) -> IterationRecord:
        """One iteration; the times in its record are filled in when all ranks agree on them."""
        n = self.settings.forward_passes
        work = self.work
        n_cuts = sum(model.pool.size for model in work.models)
        self.journal.begin_iteration()
        trajectories = forward_pass(
            self.comm, work.models, work.forecast, work.discounts, work.initial_state, n, iteration
        )
        costs = aggregate_statistics(self.comm, trajectories.costs, n)
        self._archive(trajectories)
        self.clock.lap("forward")
        self.journal.end_phase("forward")
        backward_pass(self.comm, work.models, trajectories, n, iteration, self._activity_tolerance())
        self.clock.lap("backward")
        self.journal.end_phase("backward")
        n_removed = self._select(iteration)
        self.clock.lap("selection")
        self.journal.end_phase("selection")
        lower = self.bound.evaluate(iteration)
        self.clock.lap("bound")
        self.journal.end_phase("lower_bound")
        self.lower_bounds.append(lower)
        return IterationRecord(
            iteration=iteration,
            lower_bound=lower,
            upper_bound=costs.mean,
            upper_bound_std=costs.std,
            ci_95=costs.ci_95,
            gap=relative_gap(lower, costs.mean),
            cuts_added=sum(model.pool.size for model in work.models) - n_cuts,
            cuts_removed=n_removed,
            cuts_active=sum(int(np.count_nonzero(model.pool.active)) for model in work.models),
            forward_passes=n,
        )

    def _simulation_check(self, case: Case) -> SimulationCheck | None:
        rules = [rule for rule in self.settings.stopping_rules if isinstance(rule, SimulationStopping)]
        if not rules:
            return None
        work = self.work
        seed = case.config.training.tree_seed
        return SimulationCheck(self.comm, rules[0], work.models, work.discounts, work.initial_state, seed)

    def _selected_stages(self) -> range:
        """Stages whose cuts may be dropped: the first keeps all for the bound, the last has none."""
        return range(1, len(self.work.models) - 1)

    def _activity_tolerance(self) -> float | None:
        """What makes a cut count as binding; None if nobody asks."""
        selection = self.settings.cut_selection
        is_counted = selection.method in ("level1", "lml1") or selection.max_active_per_stage is not None
        return selection.activity_tolerance if is_counted else None

    def _archive(self, trajectories: Trajectories) -> None:
        for index, archive in self.archives.items():
            states = gather_rows(self.comm, trajectories.states[index], self.settings.forward_passes)
            archive.extend(states)

    def _select(self, iteration: int) -> int:
        """Take cuts out of the stage problems; how many."""
        selection = self.settings.cut_selection
        n_removed = 0
        if selection.method is None and selection.max_active_per_stage is None:
            return n_removed
        for index in self._selected_stages():
            model, began = self.work.models[index], time.perf_counter()
            before = int(np.count_nonzero(model.pool.active))
            by_method, by_cap = select_cuts(
                self.comm, model.pool, self.archives.get(index), iteration, selection
            )
            if len(by_method) + len(by_cap):
                model.keep_active_cuts()
            n_removed += len(by_method) + len(by_cap)
            after_method = before - len(by_method)
            seconds = time.perf_counter() - began
            self.journal.selections.append(
                SelectionRecord(
                    iteration,
                    index,
                    model.pool.size,
                    before,
                    after_method,
                    after_method - len(by_cap),
                    seconds,
                )
            )
        return n_removed

    def _state(self) -> TrainingState | None:
        """Collective: where training stands, on rank 0; None elsewhere."""
        models, n = self.work.models, self.settings.forward_passes
        mine = [*(model.bases for model in models), self.bound.bases]
        *forward, bound = gather_bases(self.comm, mine, [*[n] * len(models), models[0].n_openings])
        log = self.journal.close()
        if self.comm.rank != 0:
            return None
        return TrainingState(
            identity=self.identity,
            records=self.records,
            elapsed_s=self.clock.elapsed_s(),
            pools=[pool_state(model) for model in models],
            forward_bases=forward,
            bound_bases=bound,
            archives={index: archive.states for index, archive in self.archives.items()},
            simulated_by_stage=None if self.check is None else self.check.by_stage,
            simulated_cost=None if self.check is None else self.check.cost,
            simulated_distance=None if self.check is None else self.check.distance,
            logs=[*self.earlier_logs, log],
        )

    def _decide(self, began: float) -> tuple[TerminationReason | None, int | None, bool]:
        """Collective: whether to stop, on which signal, and whether to save before going on.

        One answer for all ranks, whoever got the signal; time is that of rank 0.
        """
        mine = np.zeros(4)
        mine[0] = float(self.stop.signal or 0)
        if self.comm.rank == 0:
            mine[1:3] = self.clock.elapsed_s(), time.perf_counter() - began
            mine[3] = float(self.saver is not None and self.saver.wants_by_time())
        shared = np.empty(4)
        self.comm.allreduce(mine, shared, ReduceOp.MAX)
        signal, elapsed_s, iteration_s = int(shared[0]), float(shared[1]), float(shared[2])
        self.records[-1] = replace(
            self.records[-1], wall_time_ms=1000.0 * elapsed_s, iteration_time_ms=1000.0 * iteration_s
        )
        reason = self._reason(elapsed_s)
        is_due = bool(shared[3]) or (
            self.saver is not None and self.saver.plan.is_due_at(self.records[-1].iteration)
        )
        if reason is None and signal:
            return "shutdown", signal, is_due
        return reason, None, is_due

    def _reason(self, elapsed_s: float) -> TerminationReason | None:
        return reason_to_stop(
            self.settings.stopping_rules,
            need_all=self.settings.stop_when_all,
            lower_bounds=self.lower_bounds,
            elapsed_s=elapsed_s,
            simulations_agree=self.check is not None and self.check.agrees,
        )

    def _report(self, iteration: int) -> None:
        if self.on_progress is None:
            return
        record = self.records[-1]
        _, n_mine = contiguous_block(self.settings.forward_passes, self.comm.rank, self.comm.size)
        limit = iteration_limit(self.settings.stopping_rules) or 0
        self.on_progress(
            ProgressEvent(
                phase="training",
                iteration=iteration,
                lower_bound=record.lower_bound,
                upper_bound=record.upper_bound,
                gap=record.gap,
                wall_time_ms=record.wall_time_ms,
                iteration_time_ms=record.iteration_time_ms,
                scenarios_complete=n_mine * iteration,
                scenarios_total=n_mine * limit,
                worker_id=self.comm.rank,
                gap_estimate=self._estimate_gap(),
            )
        )

    def _start_bases(self) -> list[Bases]:
        """Collective: what the first trajectory, which is rank 0's, left at each stage."""
        mine: list[Bases] | None = None
        if self.comm.rank == 0:
            mine = [model.bases[0] for model in self.work.models if model.bases is not None]
        return share(self.comm, mine)

    def _estimate_gap(self) -> GapEstimate:
        return estimate_gap(
            self.lower_bounds[-1],
            [record.upper_bound for record in self.records],
            [record.upper_bound_std for record in self.records],
            self.settings.forward_passes,
            self.comparison,
        )

    def _result(self, reason: TerminationReason, signal: int | None) -> TrainingResult:
        work, last = self.work, self.records[-1]
        policy = Policy.from_pools(
            [model.pool for model in work.models],
            work.state_names,
            [model.future_cost_floor for model in work.models],
            self._start_bases(),
            [model.stage for model in work.models],
            self.identity,
        )
        logs = [*self.earlier_logs, *([self.journal.close()] if self.journal.n_iterations else [])]
        timings = time_split(self.clock, work.models, self.comm)
        elapsed_ms = 1000.0 * self.clock.elapsed_s()
        times = gather_rows(self.comm, np.array([elapsed_ms]), self.comm.size)
        workers = [WorkerInfo(rank, float(ms), self.comm.backend) for rank, ms in enumerate(times)]
        return TrainingResult(
            policy=policy,
            history=convergence_columns(self.records, logs),
            iterations=last.iteration,
            final_lower_bound=last.lower_bound,
            final_upper_bound=last.upper_bound,
            final_gap=last.gap,
            termination_reason=reason,
            total_cuts=sum(model.pool.size for model in work.models),
            workers=workers if self.comm.size > 1 else None,
            backend=self.comm.backend,
            hosts=host_names(self.comm),
            stop_signal=signal,
            timings=timings,
            logs=logs,
            simulated_cost=None if self.check is None else self.check.cost,
            gap_estimate=self._estimate_gap(),
        )
