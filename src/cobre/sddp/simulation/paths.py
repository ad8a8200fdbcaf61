"""Which nodes of the policy graph simulated scenarios visit, and how likely each of them is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.case import Case
from cobre.core.graph import PolicyGraph
from cobre.sddp.itinerary import next_nodes


@dataclass(frozen=True, eq=False)
class SimulatedPaths:
    """Paths drawn for scenario numbers, or all paths of a tree (a census)."""

    graph: PolicyGraph | None
    """None: a chain, which every scenario goes along."""
    n_stages: int
    listed: tuple[tuple[tuple[int, ...], float], ...] = ()
    """All paths with their probabilities, where they are enumerated."""

    @classmethod
    def of(cls, case: Case, n_scenarios: int) -> SimulatedPaths:
        """Those that the settings of ``case`` ask for; the first ``n_scenarios``."""
        graph = case.horizon.policy_graph
        listed: tuple[tuple[tuple[int, ...], float], ...] = ()
        if (
            case.config.simulation.is_enumerated
        ):  # numbered as in the public Cobre: a node's paths follow each other
            listed = tuple(sorted(graph.paths(), key=lambda path: [graph.nodes[k].id for k in path[0]]))
            listed = listed[:n_scenarios]
        return cls(case.horizon.graph, case.horizon.n_stages, listed)

    @property
    def is_enumerated(self) -> bool:
        return bool(self.listed)

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """By node: its id."""
        graph = PolicyGraph.chain(self.n_stages) if self.graph is None else self.graph
        return np.array([node.id for node in graph.nodes], dtype=np.int32)

    @property
    def probabilities(self) -> Floats | None:
        """Of each scenario; None where they are drawn, each as likely as another."""
        return np.array([probability for _, probability in self.listed]) if self.listed else None

    def node_ids(self, scenarios: range) -> NDArray[np.int32]:
        """``[scenario, stage]``."""
        return self.ids[self.nodes(scenarios)]

    def nodes(self, scenarios: range) -> Ints:
        """``[scenario, stage]``: positions of the nodes."""
        if self.listed:
            return np.array([self.listed[k][0] for k in scenarios], dtype=np.int64)
        if self.graph is None or self.graph.is_cyclic:  # of a cycle the first round is simulated
            return np.tile(np.arange(self.n_stages, dtype=np.int64), (len(scenarios), 1))
        numbers = np.arange(scenarios.start, scenarios.stop, dtype=np.int64)
        found = np.zeros((len(numbers), self.n_stages), dtype=np.int64)
        for stage in range(1, self.n_stages):
            found[:, stage] = next_nodes(self.graph, 1.0, found[:, stage - 1], numbers, 0, stage - 1)
        return found
