"""What trajectories meet: openings of the tree, or noise of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.comm import GroupMember, contiguous_block
from cobre.errors import CobreError
from cobre.sddp.nature import Nature
from cobre.stochastic import ForwardSampler, OpeningTree, TreeLayout, draw_openings

Floats = NDArray[np.float64]


class Forecast(Protocol):
    """Where trajectories take their noise from."""

    def start_iteration(self, iteration: int, first_scenario: int, n_scenarios: int) -> None:
        """Draw what these scenarios of an iteration need; the same whoever draws."""

    def values(self, stage: int) -> Floats:
        """``[scenario, value]``: inflow terms, loads and available powers of ``stage``."""


class OpeningForecast:
    """Trajectories that meet one opening of the tree in each stage."""

    def __init__(self, tree_seed: int, openings: Sequence[Floats]) -> None:
        self._seed = tree_seed
        self._openings = openings
        self._n_openings = np.array([len(rows) for rows in openings], dtype=np.uint32)
        self._drawn = np.empty((0, len(openings)), dtype=np.int32)

    def start_iteration(self, iteration: int, first_scenario: int, n_scenarios: int) -> None:
        scenarios = range(first_scenario, first_scenario + n_scenarios)
        self._drawn = draw_openings(self._seed, iteration, scenarios, self._n_openings)

    def values(self, stage: int) -> Floats:
        return self._openings[stage][self._drawn[:, stage]]


class SampledForecast:
    """Trajectories with noise of their own in at least one class of entities."""

    def __init__(self, nature: Nature, tree: OpeningTree) -> None:
        training, source = nature.case.config.training, nature.source
        self._nature = nature
        self._sampler = ForwardSampler(
            tree=tree,
            tree_seed=training.tree_seed,
            stages=nature.stages,
            entities=nature.entities,
            schemes={"inflow": source.inflow, "load": source.load, "ncs": source.ncs},
            seed=source.seed,
            correlator=nature.correlator,
            external=nature.external,
        )
        self._noise = np.empty((0, 0, 0))

    def start_iteration(self, iteration: int, first_scenario: int, n_scenarios: int) -> None:
        self._noise = self._sampler.sample(iteration, range(first_scenario, first_scenario + n_scenarios))

    def values(self, stage: int) -> Floats:
        return self._nature.values(stage, np.ascontiguousarray(self._noise[:, stage]))


def open_forecast(comm: GroupMember, nature: Nature) -> tuple[list[Floats], Forecast]:
    """Collective: the openings of each stage as parameters, one copy per node, and what trajectories draw from.

    The ranks of a node each make the openings of a block of stages.
    """
    with comm.split_local() as local:
        first, count = contiguous_block(len(nature.stages), local.rank, local.size)
    mine = range(first, first + count)
    layout = TreeLayout.of(nature.stages, nature.entities.n_entities)
    source = nature.source
    schemes = {source.inflow, source.load, source.ncs}
    region = comm.create_shared_region(layout.size if schemes != {"in_sample"} else 0)
    try:
        tree = nature.tree(region.as_mut_block(0, region.count) if region.count else None, mine)
    except MemoryError:
        raise CobreError(
            f"the opening tree of {layout.size} numbers ({layout.size / 2**27:.1f} GiB) does not fit in memory",
            context={"numbers": layout.size},
            suggestion="take a machine with more memory; num_scenarios in stages.json decides how much is needed",
        ) from None
    openings = _shared_openings(comm, nature, tree, mine)
    if schemes == {"in_sample"}:
        return openings, OpeningForecast(nature.case.config.training.tree_seed, openings)
    region.fence()
    return openings, SampledForecast(nature, tree)


def _shared_openings(comm: GroupMember, nature: Nature, tree: OpeningTree, mine: range) -> list[Floats]:
    width = nature.width
    counts = [stage.n_openings for stage in nature.stages]
    starts = np.concatenate(([0], np.cumsum(counts))) * width
    region = comm.create_shared_region(int(starts[-1]))
    for stage in mine:
        part = region.as_mut_block(int(starts[stage]), counts[stage] * width)
        part.reshape(counts[stage], width)[:] = nature.values(stage, tree.stage(stage))
    region.fence()
    everything = region.as_slice()
    return [
        everything[start : start + n * width].reshape(n, width)
        for start, n in zip(starts, counts, strict=False)
    ]
