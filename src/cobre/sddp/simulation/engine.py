"""Runs scenarios through all stages under a policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.comm import GroupMember
from cobre.core.case import Case
from cobre.core.distinct import distinct
from cobre.errors import ValidationError
from cobre.production.energy import energy_of
from cobre.sddp.forecast import visit_values
from cobre.sddp.itinerary import Step
from cobre.sddp.policy import Policy
from cobre.sddp.simulation.outcome import StageOutcome, StageView
from cobre.sddp.simulation.paths import SimulatedPaths
from cobre.sddp.simulation.start_bases import start_bases
from cobre.sddp.stage import StageModel
from cobre.sddp.subproblem.scope import StageScope
from cobre.sddp.workspace import open_workspace
from cobre.solver import BatchOutput


class Engine:
    """The stage problems of a case with the cuts of a policy.

    Where a solve starts follows from the case and the policy (`cobre.sddp.simulation.start_bases`). So what a scenario
    does depends on the case, the policy and the number of the scenario alone.
    """

    def __init__(
        self, comm: GroupMember, case: Case, policy: Policy, n_scenarios: int, threads: int = 1
    ) -> None:
        """Collective."""
        source = case.config.simulated_source
        last = policy.stages[-1]
        end_cost_bound = last.floor if last.active.any() else None
        work = open_workspace(comm, case, source, n_scenarios, end_cost_bound=end_cost_bound, threads=threads)
        policy = _fitted(case, policy, work.state_names)
        self._work = work
        self._paths = SimulatedPaths.of(case, n_scenarios)
        self._tree_seed = case.config.training.tree_seed
        for model, cuts in zip(work.models, policy.stages, strict=True):
            model.solver.set_cuts(cuts.intercepts, cuts.coefficients, cuts.active)
        self._starts = start_bases(
            comm,
            work.models,
            policy.stages,
            self._tree_seed,
            work.initial_state,
            is_chain=case.horizon.graph is None,
        )
        energy = energy_of(case)
        self.views = [
            StageView(StageScope(case, stage), problem, float(discount), work.n_inflow_lags, energy)
            for stage, (problem, discount) in enumerate(zip(work.problems, work.discounts, strict=True))
        ]

    @property
    def models(self) -> list[StageModel]:
        """One for each cut pool."""
        return self._work.models

    @property
    def paths(self) -> SimulatedPaths:
        """Which nodes each scenario visits."""
        return self._paths

    def run(self, scenarios: range) -> Iterator[StageOutcome]:
        """What these scenarios, numbered over all ranks, do in each stage, in order."""
        work, first, n = self._work, scenarios.start, len(scenarios)
        incoming = np.repeat(work.initial_state[np.newaxis, :], n, axis=0)
        if not self._paths.is_enumerated:
            work.forecast.start_iteration(0, first, n)
        visited = self._paths.nodes(scenarios)
        for stage, view in enumerate(self.views):
            here = visited[:, stage]
            values = self._values(stage, here, scenarios)
            parts = [self._solve(position, here, incoming, values, scenarios) for position in distinct(here)]
            outcome = StageOutcome.joined(view, parts, n)
            incoming = np.empty_like(incoming)
            for at, _, _, outgoing in parts:
                incoming[at] = outgoing
            yield outcome if self._paths.graph is None else replace(outcome, node_ids=self._paths.ids[here])

    def _values(self, stage: int, here: Ints, scenarios: range) -> Floats:
        nodes = self._work.nodes
        if self._paths.is_enumerated:
            return np.concatenate([nodes[position].openings[:1] for position in here.tolist()])
        n = len(scenarios)
        numbers = np.arange(scenarios.start, scenarios.stop, dtype=np.int64)
        step = Step(here, numbers, np.arange(n), (n,), 0, scenarios.start)
        return visit_values(self._work.forecast, nodes, step, stage, 0, self._tree_seed)

    def _solve(
        self, position: int, here: Ints, incoming: Floats, values: Floats, scenarios: range
    ) -> tuple[Ints, Floats, BatchOutput, Floats]:
        """The scenarios that are in a node: where they are, their parameters, solutions and outgoing states."""
        work = self._work
        node, at = work.nodes[position], np.flatnonzero(here == position)
        parameters = node.parameters(incoming[at], values[at])
        basis = self._starts[work.graph.pools[position]].nearest(parameters)
        numbers = [scenarios.start + int(k) for k in at]
        batch = node.solve(parameters, 0, numbers, start_bases=basis, want_solution=True)
        return at, parameters, batch, node.outgoing(batch.observed_primal)


def _check_dates(case: Case, policy: Policy) -> None:
    """Raise if a stage of the policy, where it has dates, ends on another day than that of the case."""
    by_id = {stage.id: stage for stage in case.horizon.stages}
    stages = [by_id.get(id) for id, _ in policy.calendar] if policy.node_ids else case.horizon.stages
    for stage, (_, date) in zip(stages, policy.calendar, strict=False):
        if stage is not None and date and date != stage.end_date.isoformat():
            raise ValidationError(
                f"stage {stage.id} ends on {stage.end_date.isoformat()}, and that of the policy on {date}",
                kind="IncompatibleSettings",
                context={"stage": stage.id, "case_date": stage.end_date.isoformat(), "policy_date": date},
                suggestion="simulate with a policy that was trained on these stages, or train with it as a warm start",
            )


def _fitted(case: Case, policy: Policy, state_names: list[str]) -> Policy:
    """``policy`` with the components of the state in the order of the case."""
    graph = case.horizon.graph
    ids = () if graph is None else tuple(graph.nodes[k].id for k in graph.pool_nodes)
    if policy.node_ids != ids:
        words = [f"nodes {each}" if each else "a chain of stages" for each in (policy.node_ids, ids)]
        raise ValidationError(
            f"the policy is about {words[0]}, the case about {words[1]}",
            kind="IncompatibleSettings",
            context={"policy_nodes": list(policy.node_ids), "case_nodes": list(ids)},
            suggestion="simulate with a policy that was trained on this case",
        )
    if graph is None and policy.n_stages != case.horizon.n_stages:
        raise ValidationError(
            f"the policy has {policy.n_stages} stages, the case {case.horizon.n_stages}",
            kind="IncompatibleSettings",
            context={"policy_stages": policy.n_stages, "case_stages": case.horizon.n_stages},
            suggestion="simulate with a policy that was trained on this case",
        )
    _check_dates(case, policy)
    if list(policy.state_names) == state_names:
        return policy
    if sorted(policy.state_names) == sorted(state_names):
        return policy.with_state_order(state_names)
    if not policy.state_names and policy.state_dimension == len(state_names):
        return (
            policy  # a policy of the public Cobre 0.5, which names no components and has them in this order
        )
    ours, theirs = set(state_names), set(policy.state_names)
    missing, surplus = sorted(ours - theirs), sorted(theirs - ours)
    differences = [f"the policy has no {', '.join(missing[:5])}"] if missing else []
    differences += [f"the case has no {', '.join(surplus[:5])}"] if surplus else []
    raise ValidationError(
        f"the state of the policy is not that of the case: {'; '.join(differences)} "
        f"({len(policy.state_names)} and {len(state_names)} components)",
        kind="IncompatibleSettings",
        context={"missing": missing[:20], "surplus": surplus[:20]},
        suggestion="simulate with a policy that was trained on this case",
    )
