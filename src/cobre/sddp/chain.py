"""The passes of a study without branches: every path visits the same node in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.comm import GroupMember
from cobre.core.horizon import RiskMeasure
from cobre.sddp.cuts import insert_cuts, synchronize_cuts
from cobre.sddp.forecast import Forecast
from cobre.sddp.itinerary import Step
from cobre.sddp.shared_trial_points import SharedTrialPoints
from cobre.sddp.stage import Bases, StageModel
from cobre.sddp.units import openings_per_block
from cobre.solver import follow_paths

if TYPE_CHECKING:
    from cobre.sddp.forward import Trajectories


@dataclass(frozen=True)
class _CutStep:
    """A step whose node has a future."""

    number: int
    step: Step
    node: StageModel
    child: StageModel

    @property
    def block_length(self) -> int:
        return openings_per_block(self.child.n_openings, len(self.step))

    @property
    def can_be_claimed(self) -> bool:
        """Whether a trial point is one unit of work, and this rank one thread."""
        return self.block_length >= self.child.n_openings and not self.child.solver.is_threaded

    def fill_cuts(
        self,
        rows: Floats,
        trial: Floats,
        iteration: int,
        paths: Sequence[int],
        start_bases: Bases | None,
        claims: Ints | None = None,
    ) -> None:
        """Fill ``rows`` with cuts at the ``trial`` points of these ``paths``, or at those that this rank claims."""
        risk = self.node.risk
        tail = risk if isinstance(risk, RiskMeasure) and not risk.is_expectation else None
        self.child.fill_cuts(
            rows,
            trial,
            iteration,
            paths,
            self.block_length,
            start_bases,
            claims,
            tail,
        )


class Chain:
    """The nodes of all steps, solved for all paths of this rank in one native call."""

    def __init__(
        self, comm: GroupMember, models: list[StageModel], steps: Sequence[Step], discounts: Floats
    ) -> None:
        self._models = models
        pairs = list(pairwise(models))
        self.makes_cuts = all(_is_cut_native(node) for node, _ in pairs) and not (models[-1].node.children)
        """Whether `add_cuts` makes the cuts of this study."""
        self._cut_steps = [
            _CutStep(number, steps[number], node, child) for number, (node, child) in enumerate(pairs)
        ]
        self._comm = comm
        self._n_paths = len(steps[0])
        self._shared: SharedTrialPoints | None = None
        self._is_sharing_wanted = True
        self._stages = [model.index for model in models]
        self._solvers = [model.solver for model in models]
        low, high = zip(*(model.state_limits for model in models), strict=True)
        self._low, self._high = np.stack(low), np.stack(high)
        self._discounts = discounts[self._stages][:, np.newaxis]
        self._future_shares = np.array(
            [[0.0 if model.counts_future else model.stage.discount] for model in models]
        )

    @classmethod
    def of(
        cls, comm: GroupMember, nodes: Sequence[StageModel], steps: Sequence[Step], discounts: Floats
    ) -> Chain | None:
        """Collective. None where paths differ, or where a solve needs more than its state and what nature gives."""
        models = [nodes[int(step.nodes[0])] for step in steps]
        first = models[0]
        is_chain = all(
            len(step.visited) == 1
            and len(step) == len(steps[0])
            and model.truncation is None
            and not model.is_own_nature
            and model.openings.shape[1] == first.openings.shape[1]
            and model.layout.state_dimension == first.layout.state_dimension
            for step, model in zip(steps, models, strict=True)
        )
        is_chain = is_chain and len({id(model.solver) for model in models}) == len(models)
        return cls(comm, models, steps, discounts) if is_chain else None

    def follow(
        self, forecast: Forecast, initial_state: Floats, iteration: int, first: int, n_paths: int
    ) -> tuple[Floats, list[Floats], list[Floats]]:
        """Costs of this rank's paths, from the ``first`` on, discounted; then states and costs of each step."""
        dimension = len(initial_state)
        forecast.start_iteration(iteration, first, n_paths, self._stages)
        parameters = np.empty((len(self._models), n_paths, dimension + self._models[0].openings.shape[1]))
        parameters[0, :, :dimension] = initial_state
        for step in range(len(self._models)):
            parameters[step, :, dimension:] = forecast.values(step)
        starts = [model.bases for model in self._models]
        found, stage, outcome = follow_paths(self._solvers, parameters, self._low, self._high, starts)
        if not outcome.is_optimal:
            raise self._models[stage].failure(outcome, iteration, f"scenario {first + outcome.index}")
        for model, bases in zip(self._models, found.bases, strict=True):
            model.bases = bases
        costs = found.objective - self._future_shares * found.next
        total: Floats = np.add.accumulate(self._discounts * costs, axis=0)[-1] + 0.0
        return total, list(found.states), list(costs)

    def add_cuts(self, trajectories: Trajectories, iteration: int) -> None:
        """Collective: a cut for every trial point."""
        if self._is_sharing_wanted:
            self._shared, self._is_sharing_wanted = self._open_shared(), False
        if self._shared is not None and self._publish(self._shared, trajectories):
            self._add_claimed(self._shared, iteration)
            return
        self.close()
        for each in reversed(self._cut_steps):
            trial, pool = trajectories.states[each.number], each.node.pool
            mine = np.empty((len(trial), 1 + pool.state_dimension))
            if len(trial):
                each.fill_cuts(mine, trial, iteration, each.step.my_paths, each.child.bases)
            synchronize_cuts(self._comm, pool, mine, len(each.step), iteration, each.step.counts)
            each.node.share_cuts()

    def close(self) -> None:
        """Collective: free what ranks share."""
        if self._shared is not None:
            self._shared.close()
        self._shared = None

    def _open_shared(self) -> SharedTrialPoints | None:
        can_claim = all(each.can_be_claimed for each in self._cut_steps)  # ranks may have unlike threads
        dimension = self._models[0].layout.state_dimension
        return SharedTrialPoints.of(
            self._comm, len(self._models), self._n_paths, dimension, can_claim=can_claim
        )

    def _publish(self, shared: SharedTrialPoints, trajectories: Trajectories) -> bool:
        bases = [model.bases for model in self._models]
        widths = [solver.basis_size for solver in self._solvers]
        return shared.publish(trajectories.first_scenario, trajectories.states, bases, widths)

    def _add_claimed(self, shared: SharedTrialPoints, iteration: int) -> None:
        """The same where every rank can take every trial point."""
        for each in reversed(self._cut_steps):
            k = each.number
            rows, bases = shared.rows[k], shared.bases(k + 1)
            each.fill_cuts(rows, shared.states[k], iteration, range(len(each.step)), bases, shared.claims[k])
            self._comm.barrier()
            insert_cuts(each.node.pool, rows, iteration)
            each.node.share_cuts()


def _is_cut_native(node: StageModel) -> bool:
    """Whether the cuts of ``node`` are those of the expectation or CVaR of the openings of what follows."""
    is_known = node.risk.is_expectation or isinstance(node.risk, RiskMeasure)
    return node.node.probabilities == (1.0,) and is_known and not node.n_outcomes
