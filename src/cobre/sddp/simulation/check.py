"""The stopping rule ``simulation``: do two simulations in a row cost about the same in every stage?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember, contiguous_block
from cobre.core.config import SimulationStopping
from cobre.sddp.forecast import OpeningForecast
from cobre.sddp.stage import Bases, StageModel
from cobre.sddp.statistics import CostStatistics, gather_rows, statistics_of


class SimulationCheck:
    """Simulates the policy so far, always with the same openings, and compares with the time before."""

    def __init__(
        self,
        comm: GroupMember,
        rule: SimulationStopping,
        models: Sequence[StageModel],
        discounts: Floats,
        initial_state: Floats,
        tree_seed: int,
    ) -> None:
        self.rule = rule
        self.cost: CostStatistics | None = None
        """Of the last simulation: an upper bound of the cost of the policy, with its interval."""
        self._comm = comm
        self._models = models
        self._discounts = discounts
        self._initial_state = initial_state
        self._forecast = OpeningForecast(tree_seed, [model.openings for model in models])
        self.by_stage: Floats | None = None
        """Mean cost of each stage in the last simulation."""
        self.distance: float | None = None
        """Between the last two simulations; None if the last iteration had no simulation to compare with another."""

    @property
    def agrees(self) -> bool:
        """Whether the simulation of the last iteration cost about the same as the one before it."""
        return self.distance is not None and self.distance < self.rule.distance_tolerance

    def restore(self, by_stage: Floats | None, cost: CostStatistics | None, distance: float | None) -> None:
        """Continue after a simulation of an earlier part of the run."""
        self.by_stage, self.cost, self.distance = by_stage, cost, distance

    def is_due(self, lower_bounds: Sequence[float]) -> bool:
        """Whether this iteration has a check and the bound is stable."""
        k, window = len(lower_bounds), self.rule.bound_window
        if k % self.rule.period or k <= window:
            return False
        now, then = lower_bounds[-1], lower_bounds[-1 - window]
        return abs(now - then) < self.rule.bound_tolerance * max(1.0, abs(now))

    def update(self, lower_bounds: Sequence[float], start_bases: Callable[[], Sequence[Bases]]) -> None:
        """Collective: simulate if this iteration has a check, and compare the costs by stage with the last ones."""
        self.distance = self._distance(start_bases()) if self.is_due(lower_bounds) else None

    def _distance(self, bases: Sequence[Bases]) -> float | None:
        by_stage = self._simulate(bases)
        before, self.by_stage = self.by_stage, by_stage
        if before is None:
            return None
        distance = 0.0
        for now, then in zip(by_stage.tolist(), before.tolist(), strict=True):
            distance += ((now - then) / max(1.0, abs(then))) ** 2
        return math.sqrt(distance)

    def _simulate(self, bases: Sequence[Bases]) -> Floats:
        """``[stage]``: mean cost of each stage, discounted costs of scenarios on the way."""
        n_all = self.rule.replications
        first, n = contiguous_block(n_all, self._comm.rank, self._comm.size)
        costs = np.empty((n, len(self._models)))
        incoming = np.repeat(self._initial_state[np.newaxis, :], n, axis=0)
        if n:
            self._forecast.start_iteration(0, first, n)
            for k, (model, basis) in enumerate(zip(self._models, bases, strict=True)):
                parameters = model.parameters(incoming, self._forecast.values(model.index))
                start = np.ascontiguousarray(basis[np.newaxis, :])
                batch = model.solve(parameters, 0, first, start_bases=start)
                costs[:, k] = model.stage_costs(batch)
                incoming = model.outgoing(batch.observed_primal)
        everyone = gather_rows(self._comm, costs, n_all)
        self.cost = statistics_of(np.add.accumulate(everyone * self._discounts, axis=1)[:, -1])
        return np.array([statistics_of(everyone[:, k]).mean for k in range(len(self._models))])
