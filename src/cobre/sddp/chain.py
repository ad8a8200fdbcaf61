"""The forward pass of a study without branches: every path visits the same node in each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.arrays import Floats
from cobre.sddp.forecast import Forecast
from cobre.sddp.itinerary import Step
from cobre.sddp.stage import StageModel
from cobre.solver import follow_paths


class Chain:
    """The nodes of all steps, solved for all paths of this rank in one native call."""

    def __init__(self, models: list[StageModel], discounts: Floats) -> None:
        self._models = models
        self._stages = [model.index for model in models]
        self._solvers = [model.solver for model in models]
        low, high = zip(*(model.state_limits for model in models), strict=True)
        self._low, self._high = np.stack(low), np.stack(high)
        self._discounts = discounts[self._stages][:, np.newaxis]
        self._future_shares = np.array(
            [[0.0 if model.counts_future else model.stage.discount] for model in models]
        )

    @classmethod
    def of(cls, nodes: Sequence[StageModel], steps: Sequence[Step], discounts: Floats) -> Chain | None:
        """None where paths differ, or where a solve needs more than its state and what nature gives."""
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
        return cls(models, discounts) if is_chain else None

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
