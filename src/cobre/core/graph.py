"""How stages follow each other: a chain, a graph with branches, or a cycle without end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Node:
    """A stage in one of several situations, and what may follow.

    ``children`` are positions in `PolicyGraph.nodes`, each with its probability. What is missing to a sum of 1 is the
    probability that nothing follows; only a cycle ends like that.
    """

    id: int
    stage: int
    """Index of the stage."""
    children: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    scenario: int | None = None
    """The external scenario that happens here; None: the openings of the stage."""
    opening_probabilities: tuple[float, ...] | None = None
    """Of the stage's openings in this node; None: those of the stage."""
    label: str = field(default="", compare=False)

    @property
    def stop_probability(self) -> float:
        """That nothing follows although there are children."""
        return max(0.0, 1.0 - sum(self.probabilities)) if self.children else 0.0


@dataclass(frozen=True)
class PolicyGraph:
    """Nodes in the order of their stages, and of their ids in a stage. The first one is the root."""

    nodes: tuple[Node, ...]

    @classmethod
    def chain(cls, n_stages: int) -> PolicyGraph:
        """One node per stage, each with the next as its only child."""
        return cls(
            tuple(Node(t, t, (t + 1,), (1.0,)) if t + 1 < n_stages else Node(t, t) for t in range(n_stages))
        )

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def is_cyclic(self) -> bool:
        """Whether a stage is followed by an earlier one, or by itself."""
        return any(self._is_back(node) for node in self.nodes)

    @cached_property
    def n_stages(self) -> int:
        return 1 + max(node.stage for node in self.nodes)

    @cached_property
    def cycle_start(self) -> int | None:
        """Index of the stage that follows the last one; None if the study ends."""
        if not self.is_cyclic:
            return None
        return min(
            self.nodes[child].stage for node in self.nodes for child in node.children if self._is_back(node)
        )

    def _is_back(self, node: Node) -> bool:
        return any(self.nodes[child].stage <= node.stage for child in node.children)

    def stage_of_step(self, step: int) -> int:
        """Index of the stage that a path is in after ``step`` moves."""
        if step < self.n_stages or self.cycle_start is None:
            return step
        return self.cycle_start + (step - self.cycle_start) % (self.n_stages - self.cycle_start)

    @cached_property
    def of_stage(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the nodes of each stage."""
        return tuple(
            tuple(k for k, node in enumerate(self.nodes) if node.stage == t) for t in range(self.n_stages)
        )

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """By node: the positions of those that it may follow."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for k, node in enumerate(self.nodes):
            for child in node.children:
                found[child].append(k)
        return tuple(map(tuple, found))

    @property
    def is_tree(self) -> bool:
        """Whether every node has one way to it."""
        return all(len(parents) == (0 if k == 0 else 1) for k, parents in enumerate(self.parents))

    @property
    def is_chain(self) -> bool:
        """Whether nothing ever branches, and the end is the end."""
        return all(len(nodes) == 1 for nodes in self.of_stage) and not self.is_cyclic

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Positions of the nodes that nothing follows."""
        return tuple(k for k, node in enumerate(self.nodes) if not node.children)

    @cached_property
    def pools(self) -> tuple[int, ...]:
        """By node: the number of its cut pool. Nodes with a future have one each, all leaves share the last."""
        found, n = [], 0
        for node in self.nodes:
            found.append(n if node.children else -1)
            n += bool(node.children)
        return tuple(n if pool < 0 else pool for pool in found)

    @cached_property
    def pool_nodes(self) -> tuple[int, ...]:
        """By pool: its node; of the leaves the first."""
        first: dict[int, int] = {}
        for node, pool in enumerate(self.pools):
            first.setdefault(pool, node)
        return tuple(first[pool] for pool in range(len(first)))

    def paths(self) -> Iterator[tuple[tuple[int, ...], float]]:
        """Of a tree: the nodes of every way from the root to a leaf, and its probability, in the order of leaves."""
        for leaf in self.leaves:
            yield self._path_to(leaf)

    def _path_to(self, leaf: int) -> tuple[tuple[int, ...], float]:
        path, probability = [leaf], 1.0
        while self.parents[path[-1]]:
            parent = self.parents[path[-1]][0]
            node = self.nodes[parent]
            probability *= node.probabilities[node.children.index(path[-1])]
            path.append(parent)
        return tuple(reversed(path)), probability


def normalised(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Divided by their sum, which is not 0."""
    total = sum(probabilities)
    return tuple(probability / total for probability in probabilities)
