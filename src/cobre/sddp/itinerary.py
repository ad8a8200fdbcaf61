"""Which nodes of the policy graph an iteration visits, in which order, and which rank solves what.

A step is what all paths do at the same time: a stage of a finite study. Every rank knows the nodes of all paths, since
they come from hashed indices; so nothing has to be told, and no number depends on who computes what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobre.arrays import Ints
from cobre.comm import Communicator, block_layout
from cobre.core.distinct import distinct
from cobre.core.graph import PolicyGraph
from cobre.core.horizon import Stage
from cobre.stochastic import forward_seed

BRANCHES = 0x6E7469736E617274
"""A seed of their own, so that branches never meet the noise."""
LONGEST_REACH = 1e-9
"""A path through a cycle ends at the latest where it is reached with this probability."""


@dataclass(frozen=True, eq=False)
class Step:
    """The visits of one step, of all ranks in order."""

    nodes: Ints
    """``[visit]``: position of the node."""
    paths: Ints
    """``[visit]``: number of the path, or of the node among those of its stage where paths are enumerated."""
    parents: Ints
    """``[visit]``: the visit of the step before that it comes from."""
    counts: tuple[int, ...]
    """Visits of each rank."""
    rank: int
    first_path: int
    """The first one of this rank, whether it goes on to here or not."""

    @cached_property
    def first(self) -> int:
        """The first visit of this rank."""
        return sum(self.counts[: self.rank])

    @cached_property
    def mine(self) -> slice:
        """Visits of this rank."""
        return slice(self.first, self.first + self.counts[self.rank])

    @cached_property
    def visited(self) -> list[int]:
        """Positions of the nodes of all visits, each once."""
        return distinct(self.nodes)

    @cached_property
    def here(self) -> Ints:
        """``[visit of this rank]``: position of the node."""
        return self.nodes[self.mine]

    @cached_property
    def visited_here(self) -> list[int]:
        """Positions of the nodes of this rank's visits, each once."""
        return distinct(self.here)

    @cached_property
    def my_rows(self) -> Ints:
        """Of this rank's visits: the numbers of their paths among this rank's."""
        rows: Ints = self.paths[self.mine] - self.first_path
        return rows

    @cached_property
    def my_paths(self) -> list[int]:
        """Numbers of the paths of this rank's visits."""
        numbers: list[int] = self.paths[self.mine].tolist()
        return numbers

    def __len__(self) -> int:
        return len(self.nodes)


def enumerated_steps(graph: PolicyGraph, comm: Communicator) -> list[Step]:
    """Every node of a tree once; the nodes of each stage are split over the ranks."""
    steps = []
    place: dict[int, int] = {}
    for nodes in graph.of_stage:
        counts, starts = block_layout(len(nodes), comm.size)
        parents = [place[graph.parents[node][0]] if graph.parents[node] else 0 for node in nodes]
        steps.append(
            Step(
                np.array(nodes, dtype=np.int64),
                np.arange(len(nodes)),
                np.array(parents, dtype=np.int64),
                tuple(counts),
                comm.rank,
                starts[comm.rank],
            )
        )
        place = {node: k for k, node in enumerate(nodes)}
    return steps


def sampled_steps(
    graph: PolicyGraph, survival: float, n_paths: int, iteration: int, comm: Communicator
) -> list[Step]:
    """``n_paths`` paths from the root, drawn for ``iteration`` (0: a simulation); ranks have blocks of paths.

    At the end of a cycle a path goes on with the probability ``survival``.
    """
    _, starts = block_layout(n_paths, comm.size)
    bounds = [*starts, n_paths]
    nodes, paths = np.zeros(n_paths, dtype=np.int64), np.arange(n_paths, dtype=np.int64)
    parents, steps = paths, []
    limit = most_steps(graph, survival)
    while len(nodes):
        per_rank = tuple(np.diff(np.searchsorted(paths, bounds)).tolist())
        steps.append(Step(nodes, paths, parents, per_rank, comm.rank, starts[comm.rank]))
        if len(steps) == limit:
            break
        following = next_nodes(graph, survival, nodes, paths, iteration, len(steps) - 1)
        parents = np.flatnonzero(following >= 0)
        nodes, paths = following[parents], paths[parents]
    return steps


def is_drawn(graph: PolicyGraph) -> bool:
    """Whether paths of `sampled_steps` differ, or end by chance."""
    return graph.is_cyclic or any(node.children and node.probabilities != (1.0,) for node in graph.nodes)


def next_nodes(
    graph: PolicyGraph, survival: float, nodes: Ints, paths: Ints, iteration: int, step: int
) -> Ints:
    """``[visit]``: the node that follows; -1 where a path ends. Where only one can follow nothing is drawn."""
    following = np.empty_like(nodes)
    for position in distinct(nodes):
        at = np.flatnonzero(nodes == position)
        node = graph.nodes[position]
        is_back = any(graph.nodes[child].stage <= node.stage for child in node.children)
        shares = (survival,) if is_back else node.probabilities
        if not node.children or (len(node.children) == 1 and shares[0] >= 1.0):
            following[at] = node.children[0] if node.children else -1
            continue
        limits = np.add.accumulate(np.array(shares))
        if not is_back:
            limits[-1] = np.inf  # a sum of 1 but for rounding
        draws = [branch_draw(iteration, path, step) for path in paths[at].tolist()]
        places = np.searchsorted(limits, draws, "right")
        choices = np.array([*node.children, -1], dtype=np.int64)
        following[at] = choices[np.minimum(places, len(node.children))]
    return following


def branch_draw(iteration: int, path: int, step: int) -> float:
    """From 0 to before 1: which way a path takes after ``step``."""
    return (forward_seed(BRANCHES, iteration, path, step) >> 11) / 2.0**53


def most_steps(graph: PolicyGraph, survival: float) -> int:
    """Steps of a path at most: the stages, or so many cycles that hardly a path gets there."""
    first = graph.cycle_start
    if first is None:
        return graph.n_stages
    rounds = int(np.ceil(np.log(LONGEST_REACH) / np.log(survival))) if survival > 0.0 else 1
    return first + (graph.n_stages - first) * max(1, rounds)


def survival_of(graph: PolicyGraph, stages: Sequence[Stage]) -> float:
    """With which probability a sampled path goes once more round a cycle; 0 if the study ends.

    That is the probability of the graph times the discount of a whole cycle. So the costs of all rounds count alike,
    and their mean is the discounted cost of a study without end.
    """
    if graph.cycle_start is None:
        return 0.0
    survival = sum(graph.nodes[-1].probabilities)
    for stage in stages[graph.cycle_start :]:
        survival *= stage.discount
    return survival
