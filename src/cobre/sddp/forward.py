"""The forward pass: trajectories of the policy so far, one solve per stage and scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.comm import Communicator, contiguous_block
from cobre.sddp.forecast import Forecast
from cobre.sddp.stage import StageModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trajectories:
    """What this rank's scenarios met; ``states[stage]`` is ``[scenario, dimension]`` as it left that stage."""

    first_scenario: int
    costs: Floats
    """``[scenario]``, discounted to the first stage."""
    states: list[Floats]

    def __len__(self) -> int:
        return len(self.costs)


def forward_pass(
    comm: Communicator,
    models: Sequence[StageModel],
    forecast: Forecast,
    discounts: Floats,
    initial_state: Floats,
    n_scenarios: int,
    iteration: int,
) -> Trajectories:
    """Run this rank's contiguous block of the ``n_scenarios`` trajectories, stage by stage.

    A solve begins from the basis that the same scenario left at the same stage one iteration before, so that
    its result does not depend on who solved what else.
    """
    first, n = contiguous_block(n_scenarios, comm.rank, comm.size)
    costs = np.zeros(n)
    states: list[Floats] = []
    incoming = np.repeat(initial_state[np.newaxis, :], n, axis=0)
    if n:
        forecast.start_iteration(iteration, first, n)
    for model, discount in zip(models, discounts, strict=True):
        if n:
            batch = model.solve(
                model.parameters(incoming, forecast.values(model.index)),
                iteration,
                first,
                start_bases=model.bases,
                want_bases=True,
            )
            model.bases = batch.bases
            costs += discount * model.stage_costs(batch)
            incoming = model.outgoing(batch.observed_primal)
        states.append(incoming)
    return Trajectories(first, costs, states)
