"""What the sampled trajectories of an iteration say about the cost of the policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.comm import Communicator, block_layout
from cobre.core.sums import sum_in_order

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class CostStatistics:
    """Of the trajectories of one iteration: mean, sample deviation, half-width of the 95 % interval."""

    mean: float
    std: float
    ci_95: float


def gather_rows(comm: Communicator, mine: NDArray[Scalar], n_rows: int) -> NDArray[Scalar]:
    """The rows of all ranks in scenario order; ``mine`` are this rank's, of `contiguous_block`."""
    return gather_counted(comm, mine, block_layout(n_rows, comm.size)[0])


def gather_counted(comm: Communicator, mine: NDArray[Scalar], counts: Sequence[int]) -> NDArray[Scalar]:
    """The rows of all ranks in rank order; ``counts`` says how many each has."""
    width = math.prod(mine.shape[1:])
    everyone = np.empty((sum(counts), *mine.shape[1:]), dtype=mine.dtype)
    if width and len(everyone):
        starts = [sum(counts[:rank]) for rank in range(len(counts))]
        comm.allgatherv(
            np.ascontiguousarray(mine),
            everyone,
            [count * width for count in counts],
            [start * width for start in starts],
        )
    return everyone


def aggregate_statistics(comm: Communicator, trajectory_costs: Floats, n_scenarios: int) -> CostStatistics:
    """Collective: statistics over all ``n_scenarios``, of which this rank brings its block.

    Costs are gathered and added in scenario order, so that the split leaves no trace in the bits.
    """
    return statistics_of(gather_rows(comm, trajectory_costs, n_scenarios))


def statistics_of(costs: Iterable[float]) -> CostStatistics:
    """Statistics of ``costs``, added in order; deviation and half-width of a single one are 0."""
    values = [float(cost) for cost in costs]
    n = len(values)
    mean = sum_in_order(values) / n
    if n == 1:
        return CostStatistics(mean, 0.0, 0.0)
    squares = sum_in_order([(value - mean) * (value - mean) for value in values])
    std = math.sqrt(squares / (n - 1))
    return CostStatistics(mean, std, 1.96 * std / math.sqrt(n))
