"""Runs scenarios through all stages under a policy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cobre.comm import GroupMember
from cobre.core.case import Case
from cobre.errors import ValidationError
from cobre.production.energy import energy_of
from cobre.sddp.policy import Policy
from cobre.sddp.simulation.outcome import StageOutcome, StageView
from cobre.sddp.stage import Bases, StageModel
from cobre.sddp.stage_cuts import StageCuts
from cobre.sddp.subproblem.scope import StageScope
from cobre.sddp.workspace import open_workspace


class Engine:
    """The stage problems of a case with the cuts of a policy.

    A solve starts from the basis that the policy keeps for its stage. So what a scenario does depends on the case, the
    policy and the number of the scenario alone.
    """

    def __init__(self, comm: GroupMember, case: Case, policy: Policy, n_scenarios: int) -> None:
        """Collective."""
        source = case.config.simulated_source
        last = policy.stages[-1]
        end_cost_bound = last.floor if last.active.any() else None
        work = open_workspace(comm, case, source, n_scenarios, end_cost_bound=end_cost_bound)
        policy = _fitted(case, policy, work.state_names)
        self._initial_state = work.initial_state
        self._forecast = work.forecast
        self._models = work.models
        self._bases = [_prepare(model, cuts) for model, cuts in zip(work.models, policy.stages, strict=True)]
        energy = energy_of(case)
        self.views = [
            StageView(StageScope(case, model.index), problem, float(discount), work.n_inflow_lags, energy)
            for model, problem, discount in zip(work.models, work.problems, work.discounts, strict=True)
        ]

    @property
    def models(self) -> list[StageModel]:
        return self._models

    def run(self, scenarios: range) -> Iterator[StageOutcome]:
        """What these scenarios, numbered over all ranks, do in each stage, in order."""
        first, n = scenarios.start, len(scenarios)
        incoming = np.repeat(self._initial_state[np.newaxis, :], n, axis=0)
        self._forecast.start_iteration(0, first, n)
        for model, view, basis in zip(self._models, self.views, self._bases, strict=True):
            parameters = model.parameters(incoming, self._forecast.values(model.index))
            batch = model.solve(parameters, 0, first, start_bases=basis, want_solution=True)
            incoming = model.outgoing(batch.observed_primal)
            yield StageOutcome.of(view, parameters, batch)


def _prepare(model: StageModel, cuts: StageCuts) -> Bases | None:
    """Put the cuts into the stage's program; returns the start basis of its solves, if it fits the program."""
    model.solver.set_cuts(cuts.intercepts, cuts.coefficients, cuts.active)
    template = model.solver.template
    size_without_cuts = template.n_columns + template.n_rows
    fits = size_without_cuts <= len(cuts.basis) <= size_without_cuts + len(cuts.intercepts)
    return np.ascontiguousarray(cuts.basis[np.newaxis, :]) if fits else None


def _check_dates(case: Case, policy: Policy) -> None:
    """Raise if a stage of the policy, where it has dates, ends on another day than that of the case."""
    for stage, (_, date) in zip(case.horizon.stages, policy.calendar, strict=False):
        if date and date != stage.end_date.isoformat():
            raise ValidationError(
                f"stage {stage.id} ends on {stage.end_date.isoformat()}, and that of the policy on {date}",
                kind="IncompatibleSettings",
                context={"stage": stage.id, "case_date": stage.end_date.isoformat(), "policy_date": date},
                suggestion="simulate with a policy that was trained on these stages, or train with it as a warm start",
            )


def _fitted(case: Case, policy: Policy, state_names: list[str]) -> Policy:
    """``policy`` with the components of the state in the order of the case."""
    if policy.n_stages != case.horizon.n_stages:
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
