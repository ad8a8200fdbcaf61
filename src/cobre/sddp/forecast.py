"""The noise of trajectories: openings of the tree, or noise of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember, contiguous_block
from cobre.errors import CobreError
from cobre.sddp.itinerary import Step
from cobre.sddp.nature import Nature
from cobre.sddp.stage import StageModel
from cobre.stochastic import (
    ForwardSampler,
    OpeningTree,
    TreeLayout,
    draw_openings,
    drawn_openings,
    forward_seed,
)


class Forecast(Protocol):
    """Where trajectories take their noise from."""

    def start_iteration(
        self, iteration: int, first_scenario: int, n_scenarios: int, stages: Sequence[int] | None = None
    ) -> None:
        """Draw the noise of these scenarios of an iteration; it is the same on every rank.

        ``stages`` has the stage of each step, if that is not its number.
        """

    def values(self, step: int) -> Floats:
        """``[scenario, value]``: inflow terms, loads and available powers of the stage of a step."""


class OpeningForecast:
    """Trajectories with one opening of the tree in each stage."""

    def __init__(
        self, tree_seed: int, openings: Sequence[Floats], weights: Mapping[int, Floats] | None = None
    ) -> None:
        self._seed = tree_seed
        self._openings = openings
        self._weights = weights or {}
        self._n_openings = np.array([len(rows) for rows in openings], dtype=np.uint32)
        self._stages: Sequence[int] = range(len(openings))
        self._drawn = np.empty((0, len(openings)), dtype=np.int32)

    def start_iteration(
        self, iteration: int, first_scenario: int, n_scenarios: int, stages: Sequence[int] | None = None
    ) -> None:
        scenarios = range(first_scenario, first_scenario + n_scenarios)
        self._stages = range(len(self._openings)) if stages is None else stages
        counts = self._n_openings[list(self._stages)]
        weights = {step: self._weights[t] for step, t in enumerate(self._stages) if t in self._weights}
        self._drawn = draw_openings(self._seed, iteration, scenarios, counts, weights)

    def values(self, step: int) -> Floats:
        return self._openings[self._stages[step]][self._drawn[:, step]]


class SampledForecast:
    """Trajectories with noise of their own in at least one class of entities."""

    def __init__(self, nature: Nature, tree: OpeningTree, n_scenarios: int) -> None:
        self._nature = nature
        self._sampler = ForwardSampler(
            tree=tree,
            tree_seed=nature.case.config.training.tree_seed,
            stages=nature.stages,
            entities=nature.entities,
            source=nature.source,
            n_scenarios=n_scenarios,
            correlator=nature.correlator,
            external=nature.external,
            windows=nature.windows,
            tree_entities=nature.of_openings.entities,
        )
        self._noise = np.empty((0, 0, 0))

    def start_iteration(
        self, iteration: int, first_scenario: int, n_scenarios: int, stages: Sequence[int] | None = None
    ) -> None:
        scenarios = range(first_scenario, first_scenario + n_scenarios)
        self._noise = self._sampler.sample(iteration, scenarios)
        shape, source = self._nature.residual_noise, self._nature.source
        if shape is not None and source.inflow == "out_of_sample":
            shape.shape_fresh(self._noise, source.seed or 0, iteration, scenarios)

    def values(self, step: int) -> Floats:
        return self._nature.values(step, np.ascontiguousarray(self._noise[:, step]))


def visit_values(
    forecast: Forecast, nodes: Sequence[StageModel], step: Step, number: int, iteration: int, tree_seed: int
) -> Floats:
    """``[visit, value]``: what nature gives in this rank's visits of step ``number``.

    A node that is pinned to a scenario, or has probabilities of its own, does not ask the ``forecast``.
    """
    own = [position for position in step.visited_here if nodes[position].is_own_nature]
    values = forecast.values(number)[step.my_rows]
    for position in own:
        node, at = nodes[position], np.flatnonzero(step.here == position)
        if node.probabilities is None:
            values[at] = node.openings[0]
            continue
        seeds = [
            forward_seed(tree_seed, iteration, path, number) for path in step.paths[step.mine][at].tolist()
        ]
        values[at] = node.openings[drawn_openings(seeds, node.probabilities)]
    return values


def open_forecast(
    comm: GroupMember, nature: Nature, n_scenarios: int | None = None
) -> tuple[list[Floats], Forecast, dict[int, Floats]]:
    """Collective: the openings of each stage as parameters, one copy per node, and what trajectories draw from.

    The last part is the probabilities of openings by stage index, where they are not all equal. The ranks of a node
    each make the openings of a block of stages. ``n_scenarios`` trajectories make an iteration, over all
    ranks; by default those of training.
    """
    with comm.split_local() as local:
        first, count = contiguous_block(len(nature.stages), local.rank, local.size)
    mine = range(first, first + count)
    training = nature.case.config.training
    given = nature.case.scenarios.openings
    layout = TreeLayout.of(nature.stages, nature.of_openings.entities.n_entities, given=given)
    schemes = {nature.source.inflow, nature.source.load, nature.source.ncs}
    is_tree_needed = schemes != {"in_sample"} or layout.has_weights
    region = comm.create_shared_region(layout.size if is_tree_needed and given is None else 0)
    try:
        tree = nature.tree(region.as_mut_block(0, region.count) if region.count else None, mine)
    except MemoryError:
        raise CobreError(
            f"the opening tree of {layout.size} numbers ({layout.size / 2**27:.1f} GiB) does not fit in memory",
            context={"numbers": layout.size},
            suggestion="take a machine with more memory; num_openings (num_scenarios in 0.5.1) of stages.json decides",
        ) from None
    openings = _shared_openings(comm, nature, tree, mine)
    if region.count:
        region.fence()
    weights = tree.all_weights()
    if schemes == {"in_sample"}:
        return openings, OpeningForecast(training.tree_seed, openings, weights), weights
    return openings, SampledForecast(nature, tree, n_scenarios or training.forward_passes), weights


def _shared_openings(comm: GroupMember, nature: Nature, tree: OpeningTree, mine: range) -> list[Floats]:
    width = nature.width
    counts = [stage.n_openings for stage in nature.stages]
    starts = np.concatenate(([0], np.cumsum(counts))) * width
    region = comm.create_shared_region(int(starts[-1]))
    for stage in mine:
        part = region.as_mut_block(int(starts[stage]), counts[stage] * width)
        part.reshape(counts[stage], width)[:] = nature.values(stage, tree.stage(stage), nature.of_openings)
    region.fence()
    everything = region.as_slice()
    return [
        everything[start : start + n * width].reshape(n, width)
        for start, n in zip(starts, counts, strict=False)
    ]
