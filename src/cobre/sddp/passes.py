"""The trajectories of an iteration: sampled paths through the policy graph, or all paths of a tree."""

from __future__ import annotations

import numpy as np

from cobre.comm import GroupMember
from cobre.core.config import TrainingConfig
from cobre.sddp.chain import Chain
from cobre.sddp.forward import Trajectories, enumerated_pass, forward_pass
from cobre.sddp.itinerary import Step, enumerated_steps, is_drawn, sampled_steps, survival_of
from cobre.sddp.risk import risk_of
from cobre.sddp.statistics import CostStatistics, aggregate_statistics
from cobre.sddp.workspace import Workspace


class Passes:
    """Runs the forward passes of a study and says what they cost."""

    def __init__(self, comm: GroupMember, work: Workspace, settings: TrainingConfig) -> None:
        self._comm = comm
        self._work = work
        self._settings = settings
        self._survival = survival_of(work.graph, work.stages)
        self._tree = enumerated_steps(work.graph, comm) if settings.is_enumerated else []
        self._fixed: list[Step] | None = None
        """The steps of every iteration, where nothing of them is drawn."""
        self.chain: Chain | None = None
        """What runs the passes of a study without branches, from the first iteration on."""

    @property
    def is_exact(self) -> bool:
        """Whether `cost` is what the policy costs, not an estimate."""
        return self._settings.is_enumerated

    @property
    def owned_nodes(self) -> set[int]:
        """Those whose forward solves may be this rank's."""
        if not self.is_exact:
            return set(range(len(self._work.nodes)))
        return {node for step in self._tree for node in step.nodes[step.mine].tolist()}

    def close(self) -> None:
        """Collective: free what ranks share."""
        if self.chain is not None:
            self.chain.close()

    def forward(self, iteration: int) -> Trajectories:
        """Collective: the trajectories of an iteration."""
        work, n = self._work, self._settings.forward_passes
        if self.is_exact:
            return enumerated_pass(
                self._comm, work.nodes, self._tree, work.discounts, work.initial_state, iteration
            )
        steps = self._steps(iteration)
        return forward_pass(
            self._comm,
            work.nodes,
            steps,
            work.forecast,
            work.discounts,
            work.initial_state,
            n,
            iteration,
            self._settings.tree_seed,
            self.chain,
        )

    def _steps(self, iteration: int) -> list[Step]:
        if self._fixed is not None:
            return self._fixed
        graph = self._work.graph
        steps = sampled_steps(graph, self._survival, self._settings.forward_passes, iteration, self._comm)
        if not is_drawn(graph):
            self._fixed = steps
            self.chain = Chain.of(self._comm, self._work.nodes, steps, self._work.discounts)
        return steps

    def cost(self, trajectories: Trajectories) -> CostStatistics:
        """Collective: mean cost of the paths, or the risk of the whole tree, which has no deviation."""
        if not self.is_exact:
            return aggregate_statistics(self._comm, trajectories.costs, self._settings.forward_passes)
        return CostStatistics(self._risk_of_tree(trajectories), 0.0, 0.0)

    def _risk_of_tree(self, trajectories: Trajectories) -> float:
        """The cost of each node, and the discounted risk of what its children cost, from the leaves to the root."""
        nodes = self._work.nodes
        costs: dict[int, float] = {}
        for step, of_visits in zip(
            reversed(trajectories.steps), reversed(trajectories.visit_costs), strict=True
        ):
            for position, cost in zip(step.nodes.tolist(), of_visits.tolist(), strict=True):
                model = nodes[position]
                costs[position] = cost
                if model.node.children:
                    of_children = np.array([costs[child] for child in model.node.children])
                    shares = np.array(model.node.probabilities)
                    costs[position] += model.stage.discount * risk_of(of_children, model.risk, shares)
        return costs[0]
