"""The training loop: forward, backward, selection, bound, and whether to go on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember
from cobre.core.case import Case
from cobre.core.config import SimulationStopping
from cobre.errors import CobreError
from cobre.sddp.agreement import agree
from cobre.sddp.backward import backward_pass, give_cuts_to_outcomes
from cobre.sddp.bounds import LowerBound, relative_gap
from cobre.sddp.checkpoint import TrainingState
from cobre.sddp.checkpointing import (
    CheckpointPlan,
    Saver,
    first_bases,
    gather_bases,
    gather_tree_bases,
    pool_state,
    restore,
)
from cobre.sddp.control import ControlDesk, ControlPoint, Request, changed_rules
from cobre.sddp.cut_selector import CutSelector
from cobre.sddp.events import CheckpointSaved, OnDetail, OnProgress
from cobre.sddp.forward import Trajectories
from cobre.sddp.gap import GapEstimate, comparison_of, estimate_gap
from cobre.sddp.given_cuts import Boundary, CutRows
from cobre.sddp.hosts import host_names
from cobre.sddp.identity import identity_of
from cobre.sddp.inspection import newest_cuts, paths_of
from cobre.sddp.interruption import StopRequest
from cobre.sddp.iteration_facts import facts_of, progress_of, rank_figures
from cobre.sddp.journal import Journal, TrainingLog
from cobre.sddp.passes import Passes
from cobre.sddp.policy import Policy
from cobre.sddp.result import IterationRecord, TrainingResult, WorkerInfo, convergence_columns
from cobre.sddp.sharing import share
from cobre.sddp.slots import slots_of
from cobre.sddp.stage import Bases
from cobre.sddp.statistics import gather_rows
from cobre.sddp.stopping import TerminationReason, reason_to_stop, rule_states
from cobre.sddp.timing import CollectiveTime, PhaseClock, time_split
from cobre.sddp.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from cobre.sddp.inner_bound import InnerBound
    from cobre.sddp.simulation.check import SimulationCheck


def train(
    comm: GroupMember,
    case: Case,
    *,
    on_progress: OnProgress | None = None,
    start: TrainingState | None = None,
    checkpoints: CheckpointPlan | None = None,
    first_cuts: Sequence[CutRows | None] = (),
    boundary: Boundary | None = None,
    on_detail: OnDetail | None = None,
    desk: ControlDesk | None = None,
    threads: int = 1,
) -> TrainingResult:
    """Collective: train the policy of ``case`` on all ranks of ``comm``; every rank gets the result.

    With ``start`` it continues where a run stood that `check_identity` finds to be the same; the result is that of a
    run which was never interrupted. With ``checkpoints`` it saves where it stands, at the end as well. Without
    ``start`` the stages begin with ``first_cuts``, if there are any. What follows the last stage costs what
    ``boundary`` says, and nothing without one.

    ``threads`` of this rank solve its programs. Bits depend on the case alone, not on the ranks nor their threads.
    SIGINT and SIGTERM end training after the iteration that runs, on all ranks together, with a policy that can be
    used. ``on_progress`` is called on every rank that has one, after each iteration. ``on_detail``, on the first rank,
    is told what each iteration did, of checkpoints and of requests. Those arrive at ``desk`` of the first rank and are
    taken up by all ranks between two iterations.
    """
    with StopRequest() as stop:
        training = _Training(comm, case, stop, on_progress, checkpoints, boundary, on_detail, desk, threads)
        training.begin(start, first_cuts)
        result = training.run()
        training.free_shared_memory()
        return result


class _Training:
    def __init__(
        self,
        comm: GroupMember,
        case: Case,
        stop: StopRequest,
        on_progress: OnProgress | None,
        checkpoints: CheckpointPlan | None,
        boundary: Boundary | None,
        on_detail: OnDetail | None,
        desk: ControlDesk | None,
        threads: int,
    ) -> None:
        self.clock = PhaseClock()
        self.comm = comm
        self.stop = stop
        self.on_progress = on_progress
        self.on_detail = on_detail if comm.rank == 0 else None
        self.control = ControlPoint(comm, stop, desk, "training", self._perform, self.on_detail)
        self.rules = case.config.training.stopping_rules
        self.n_hydros = len(case.system.hydros)
        self.trajectories: Trajectories | None = None
        self.settings = case.config.training
        self.comparison = comparison_of(case)
        self.plants = {hydro.id: hydro.name for hydro in case.system.hydros}
        self.boundary = boundary
        self.graph = case.horizon.graph
        self.identity = identity_of(case, None if boundary is None else boundary.digest)
        self.threads = threads
        self.work: Workspace = open_workspace(
            comm, case, end_cost_bound=None if boundary is None else boundary.floor, threads=threads
        )
        if self.settings.is_multi_cut:
            give_cuts_to_outcomes(self.work.nodes)
        self.passes = Passes(comm, self.work, self.settings)
        self.journal = Journal(comm, self.work.models)
        self.bound = LowerBound(comm, self.work.nodes[0], self.work.initial_state)
        self.inner: InnerBound | None = None
        self.records: list[IterationRecord] = []
        self.lower_bounds: list[float] = []
        self.check = self._simulation_check(case)
        self.selector = CutSelector(
            comm,
            self.settings.cut_selection,
            self.work.models,
            self.journal,
            self.work.state_dimension,
            self.work.graph,
        )
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
        self._open_inner_bound({} if start is None else start.vertices)
        self.clock.lap("setup")
        self.clock.uncounted = CollectiveTime.until_now(self.comm)

    def free_shared_memory(self) -> None:
        """Collective, at the end: there is little of it, and the garbage collector may come late."""
        self.passes.chain = None
        for model in self.work.models:
            model.free_shared_cuts()

    def _open_inner_bound(self, vertices: Mapping[int, Floats]) -> None:
        settings = self.settings.upper_bound
        if settings is None:
            return
        from cobre.sddp.inner_bound import InnerBound  # few studies ask for it

        self.inner = InnerBound(self.comm, self.work, settings)
        self.inner.restore(vertices)

    def _inner_bound(self, iteration: int) -> float | None:
        """Collective: the inner bound, if this iteration computes it."""
        if self.inner is None or not self.inner.is_due(iteration):
            return None
        return self.inner.evaluate(iteration)

    def _continue_from(self, start: TrainingState) -> None:
        n_passes = None if self.passes.is_exact else self.settings.forward_passes
        restore(
            self.comm, start, self.work.models, self.work.nodes, self.bound, n_passes, self.passes.owned_nodes
        )
        self.records = list(start.records)
        self.lower_bounds = [record.lower_bound for record in start.records]
        self.clock.earlier_s = start.elapsed_s
        self.earlier_logs = list(start.logs)
        self.selector.restore(start.archives)
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
            sums = self._meet(began)
            is_saved = self._save_if(self._is_checkpoint_due(sums))
            self._report(sums)
            self.clock.lap("decision")
            signal = self._settle(sums)
            reason = self._reason(self.records[-1].wall_time_ms / 1000.0)
            if reason is not None or signal:
                self._save_if(not is_saved)
                return self._result(reason or "shutdown", None if reason else signal)
        raise AssertionError("count() has no end")

    def _iterate(self, iteration: int) -> IterationRecord:
        """One iteration; the times in its record are filled in when all ranks agree on them."""
        work, self.trajectories = self.work, None
        n_cuts = sum(model.pool.size for model in work.models)
        self.journal.begin_iteration()
        trajectories = self.passes.forward(iteration)
        costs = self.passes.cost(trajectories)
        self.selector.archive(trajectories)
        if self.inner is not None:
            self.inner.archive(trajectories)
        self.trajectories = trajectories
        self.clock.lap("forward")
        self.journal.end_phase("forward")
        backward_pass(
            self.comm,
            work.nodes,
            trajectories,
            iteration,
            self.selector.activity_tolerance,
            is_enumerated=self.passes.is_exact,
            chain=self.passes.chain,
        )
        self.clock.lap("backward")
        self.journal.end_phase("backward")
        n_removed = self.selector.select(iteration)
        self.clock.lap("selection")
        self.journal.end_phase("selection")
        lower = self.bound.evaluate(iteration)
        self.clock.lap("bound")
        self.journal.end_phase("lower_bound")
        self.lower_bounds.append(lower)
        inner = self._inner_bound(iteration)
        self.clock.lap("inner_bound")
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
            forward_passes=self.settings.forward_passes,
            is_exact=self.passes.is_exact,
            inner_bound=inner,
        )

    def _simulation_check(self, case: Case) -> SimulationCheck | None:
        rules = [rule for rule in self.settings.stopping_rules if isinstance(rule, SimulationStopping)]
        if not rules:
            return None
        from cobre.sddp.simulation.check import SimulationCheck  # few studies stop by simulation

        work = self.work
        seed = case.config.training.tree_seed
        return SimulationCheck(self.comm, rules[0], work.models, work.discounts, work.initial_state, seed)

    def _state(self) -> TrainingState | None:
        """Collective: where training stands, on rank 0; None elsewhere."""
        models, nodes, n = self.work.models, self.work.nodes, self.settings.forward_passes
        if self.passes.is_exact:
            forward = gather_tree_bases(self.comm, nodes, self.work.graph.of_stage)
            (bound,) = gather_bases(self.comm, [self.bound.bases], [nodes[0].n_openings])
        else:
            mine = [*(node.bases for node in nodes), self.bound.bases]
            *forward, bound = gather_bases(self.comm, mine, [*[n] * len(nodes), nodes[0].n_openings])
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
            archives=self.selector.archives,
            vertices={} if self.inner is None else self.inner.archives,
            simulated_by_stage=None if self.check is None else self.check.by_stage,
            simulated_cost=None if self.check is None else self.check.cost,
            simulated_distance=None if self.check is None else self.check.distance,
            logs=[*self.earlier_logs, log],
        )

    def _meet(self, began: float) -> dict[str, float]:
        """Collective: what every rank has to know to decide the same, and what the ranks did, added up.

        Equal on all ranks, whichever received a signal; time and requests are those of rank 0.
        """
        mine = {**self.stop.counts(), "elapsed_s": 0.0, "iteration_s": 0.0, "wants_checkpoint": 0.0}
        mine["requests"] = float(self.control.pending())
        mine.update(rank_figures(self.journal))
        if self.comm.rank == 0:
            mine["elapsed_s"] = self.clock.elapsed_s()
            mine["iteration_s"] = time.perf_counter() - began
            mine["wants_checkpoint"] = float(self.saver is not None and self.saver.wants_by_time())
        sums = agree(self.comm, mine)
        self.records[-1] = replace(
            self.records[-1],
            wall_time_ms=1000.0 * sums["elapsed_s"],
            iteration_time_ms=1000.0 * sums["iteration_s"],
        )
        return sums

    def _is_checkpoint_due(self, sums: dict[str, float]) -> bool:
        if self.saver is None:
            return False
        return bool(sums["wants_checkpoint"]) or self.saver.plan.is_due_at(self.records[-1].iteration)

    def _save_if(self, is_due: bool) -> bool:
        """Collective: save where training stands, if it can be saved and ``is_due``; whether it was."""
        if self.saver is None or not is_due:
            return False
        began = time.perf_counter()
        self.saver.save(self._state())
        self.clock.lap("checkpoint")
        if self.on_detail is not None:
            iteration, seconds = self.records[-1].iteration, time.perf_counter() - began
            path = str(self.saver.plan.path(iteration))
            self.on_detail(CheckpointSaved(iteration, path, 1000.0 * seconds))
        return True

    def _settle(self, sums: dict[str, float]) -> int:
        """Collective: carry out requests, wait while the run is paused; the signal to stop on, or 0."""
        before, paused = CollectiveTime.until_now(self.comm), self.control.paused_s
        signal = StopRequest.signal_of(sums)
        signal = self.control.settle(int(sums["requests"]), signal, self.records[-1].iteration)
        if self.control.paused_s > paused:
            self.clock.paused_s = self.control.paused_s
            pause = CollectiveTime.until_now(self.comm) - before
            self.clock.uncounted = self.clock.uncounted.plus(pause)
            self.clock.lap("paused")
        return signal

    def _perform(self, request: Request) -> dict[str, Any]:
        """Collective: what a request of training asks for, beside pausing and stopping."""
        match request.action:
            case "set_rule":
                name, values = request.arguments["rule"], request.arguments["values"]
                self.rules = changed_rules(self.rules, name, values)
                return {}
            case "snapshot":
                return self._snapshot(Path(request.arguments["path"]))
            case "cuts":
                return newest_cuts(self.work.models, self.work.state_names, request.arguments["stage"])
            case _:
                return paths_of(self.trajectories, self.n_hydros)

    def _snapshot(self, path: Path) -> dict[str, Any]:
        """Collective: the policy so far as a folder that simulations can use; rank 0 writes it."""
        path = path.with_name(path.name.replace("{iteration}", f"{self.records[-1].iteration:06d}"))
        policy = self._policy()
        failure: CobreError | None = None
        if self.comm.rank == 0:
            try:
                if path.exists():
                    raise CobreError(f"{path} exists already", suggestion="name a new folder")
                policy.save(path)
            except CobreError as error:
                failure = error
        failure = share(self.comm, failure)
        if failure is not None:
            raise failure
        return {"path": str(path)}

    def _reason(self, elapsed_s: float) -> TerminationReason | None:
        return reason_to_stop(
            self.rules,
            need_all=self.settings.stop_when_all,
            limit_is_cap=self.settings.iteration_limit_is_cap,
            lower_bounds=self.lower_bounds,
            elapsed_s=elapsed_s,
            simulations_agree=self._simulations_agree(),
            upper_bound=self._exact_upper_bound(),
        )

    def _exact_upper_bound(self) -> float | None:
        """The least true one of the last iteration; None where there is only an estimate."""
        last = self.records[-1]
        known = [last.upper_bound] if last.is_exact else []
        return min([*known, *([] if last.inner_bound is None else [last.inner_bound])], default=None)

    def _simulations_agree(self) -> bool:
        return self.check is not None and self.check.agrees

    def _report(self, sums: dict[str, float]) -> None:
        record = self.records[-1]
        if self.on_progress is not None:
            estimate = self._estimate_gap()
            self.on_progress(progress_of(self.comm, self.settings, self.rules, record, estimate))
        if self.on_detail is not None:
            states = rule_states(
                self.rules,
                self.lower_bounds,
                sums["elapsed_s"],
                simulations_agree=self._simulations_agree(),
                upper_bound=self._exact_upper_bound(),
            )
            self.on_detail(facts_of(record, self.journal, self.work.models, sums, self.comm.size, states))

    def _start_bases(self) -> list[Bases]:
        """Collective: what the first trajectory that came there left at each stage or node; may be empty."""
        work = self.work
        return first_bases(self.comm, work.nodes, work.graph.pools)

    def _estimate_gap(self) -> GapEstimate:
        return estimate_gap(
            self.lower_bounds[-1],
            [record.upper_bound for record in self.records],
            [record.upper_bound_std for record in self.records],
            self.settings.forward_passes,
            self.comparison,
        )

    def _policy(self) -> Policy:
        """Collective: what training has learned so far, in memory of its own."""
        work = self.work
        bases = [
            basis[:0] if model.n_outcomes else basis  # those belong to programs with columns for outcomes
            for model, basis in zip(work.models, self._start_bases(), strict=True)
        ]
        return Policy.from_pools(
            [model.cuts() for model in work.models],
            work.state_names,
            [model.future_cost_floor for model in work.models],
            bases,
            [model.stage for model in work.models],
            self.identity,
            self.plants,
            None if self.graph is None else [model.node.id for model in work.models],
            [slots_of(work.problems[model.node.stage].carried, model.node.stage) for model in work.models],
        )

    def _result(self, reason: TerminationReason, signal: int | None) -> TrainingResult:
        work, last = self.work, self.records[-1]
        policy = self._policy()
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
            threads=self.threads,
            stop_signal=signal,
            timings=timings,
            logs=logs,
            simulated_cost=None if self.check is None else self.check.cost,
            gap_estimate=self._estimate_gap(),
            controls=self.control.taken,
        )
