"""The forward pass: trajectories of the policy so far, one solve per visited node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.comm import Communicator, contiguous_block
from cobre.sddp.chain import Chain
from cobre.sddp.forecast import Forecast, visit_values
from cobre.sddp.itinerary import Step
from cobre.sddp.stage import StageModel
from cobre.sddp.statistics import gather_counted


@dataclass(frozen=True)
class Trajectories:
    """What this rank's paths met; ``states[step]`` is ``[visit, dimension]`` as it left that node.

    Where paths are enumerated, states and costs are those of all ranks.
    """

    first_scenario: int
    costs: Floats
    """``[path]``, discounted to the first stage."""
    states: list[Floats]
    steps: list[Step]
    visit_costs: list[Floats]
    """``[visit]`` of each step: what the node costs by itself, not discounted."""
    is_tree: bool = False
    """Whether every node was visited once, and ``costs`` are those of the leaves."""

    def __len__(self) -> int:
        return len(self.costs)

    def visits_of(self, path: int) -> list[int]:
        """Rows of ``states`` that a path of ``costs`` takes, step by step."""
        if not self.is_tree:
            found = [np.flatnonzero(step.my_rows == path) for step in self.steps]
            return [int(rows[0]) for rows in found if len(rows)]
        visits = [path]
        for step in reversed(self.steps[1:]):
            visits.append(int(step.parents[visits[-1]]))
        return visits[::-1]


def forward_pass(
    comm: Communicator,
    nodes: Sequence[StageModel],
    steps: list[Step],
    forecast: Forecast,
    discounts: Floats,
    initial_state: Floats,
    n_scenarios: int,
    iteration: int,
    tree_seed: int,
    chain: Chain | None = None,
) -> Trajectories:
    """Run this rank's contiguous block of the ``n_scenarios`` sampled paths, step by step.

    A solve begins from the basis that the same path left at the same node when it was last there, so that its result
    does not depend on who solved what else. With the ``chain`` of a study without branches that is one native call.
    """
    first, n_paths = contiguous_block(n_scenarios, comm.rank, comm.size)
    if chain is not None and n_paths:
        total, left, of_steps = chain.follow(forecast, initial_state, iteration, first, n_paths)
        return Trajectories(first, total, left, steps, of_steps)
    costs = np.zeros(n_paths)
    states: list[Floats] = []
    visit_costs: list[Floats] = []
    outgoing = initial_state[np.newaxis, :]
    before: Step | None = None
    if n_paths:
        stages = [nodes[int(step.nodes[0])].index for step in steps]
        forecast.start_iteration(iteration, first, n_paths, stages)
    for number, step in enumerate(steps):
        if before is None:
            incoming = np.repeat(outgoing, step.counts[step.rank], axis=0)
        else:
            incoming = outgoing[step.parents[step.mine] - before.first]
        if len(incoming):
            values = visit_values(forecast, nodes, step, number, iteration, tree_seed)
            of_visits, outgoing = solve_visits(nodes, step, incoming, values, iteration, n_paths)
            of_stage = discounts[[nodes[node].index for node in step.here.tolist()]]
            costs[step.my_rows] += of_stage * of_visits
        else:
            of_visits, outgoing = np.empty(0), incoming
        states.append(outgoing)
        visit_costs.append(of_visits)
        before = step
    return Trajectories(first, costs, states, steps, visit_costs)


def enumerated_pass(
    comm: Communicator,
    nodes: Sequence[StageModel],
    steps: list[Step],
    discounts: Floats,
    initial_state: Floats,
    iteration: int,
) -> Trajectories:
    """Collective: solve every node of the tree once; each rank a part of the nodes of a stage.

    Every rank gets the states and costs of all nodes. A node has one realisation.
    """
    states: list[Floats] = []
    visit_costs: list[Floats] = []
    so_far = np.zeros(1)
    outgoing = initial_state[np.newaxis, :]
    for step in steps:
        incoming = outgoing[step.parents[step.mine]]
        of_visits, mine = np.empty(0), incoming
        if len(incoming):
            values = np.concatenate([nodes[node].openings[:1] for node in step.nodes[step.mine].tolist()])
            of_visits, mine = solve_visits(nodes, step, incoming, values, iteration, None)
        outgoing = gather_counted(comm, mine, step.counts)
        everyone = gather_counted(comm, of_visits, step.counts)
        of_stage = discounts[[nodes[node].index for node in step.nodes.tolist()]]
        so_far = so_far[step.parents] + of_stage * everyone
        states.append(outgoing)
        visit_costs.append(everyone)
    return Trajectories(0, so_far, states, steps, visit_costs, is_tree=True)


def solve_visits(
    nodes: Sequence[StageModel],
    step: Step,
    incoming: Floats,
    values: Floats,
    iteration: int,
    n_paths: int | None,
) -> tuple[Floats, Floats]:
    """Costs and outgoing states of this rank's visits; ``n_paths`` of this rank, or None if nodes are enumerated."""
    if len(step.visited_here) == 1:
        return _solve_node(
            nodes[step.visited_here[0]], step, slice(None), incoming, values, iteration, n_paths
        )
    costs, outgoing = np.empty(len(incoming)), np.empty_like(incoming)
    for position in step.visited_here:
        at = np.flatnonzero(step.here == position)
        found = _solve_node(nodes[position], step, at, incoming[at], values[at], iteration, n_paths)
        costs[at], outgoing[at] = found
    return costs, outgoing


def _solve_node(
    node: StageModel,
    step: Step,
    at: Ints | slice,
    incoming: Floats,
    values: Floats,
    iteration: int,
    n_paths: int | None,
) -> tuple[Floats, Floats]:
    """Of the visits ``at`` of this rank, which are all of ``node``."""
    rows = step.my_rows[at] if n_paths is not None else np.zeros(1, dtype=np.int64)
    batch = node.solve(
        node.parameters(incoming, values),
        iteration,
        step.paths[step.mine][at].tolist(),
        start_bases=node.start_bases(rows),
        want_bases=True,
    )
    node.keep_bases(rows, batch.bases, 1 if n_paths is None else n_paths)
    return node.stage_costs(batch), node.outgoing(batch.observed_primal)
