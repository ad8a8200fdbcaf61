"""The passes of a study without branches: every path visits the same node in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cobre.arrays import Floats
from cobre.comm import Communicator, GroupMember
from cobre.core.horizon import RiskMeasure
from cobre.sddp.board import Board
from cobre.sddp.forecast import Forecast
from cobre.sddp.itinerary import Step
from cobre.sddp.stage import StageModel
from cobre.sddp.units import openings_per_block
from cobre.solver import follow_paths

if TYPE_CHECKING:
    from cobre.sddp.forward import Trajectories


@dataclass(frozen=True)
class _CutStep:
    """A step whose node has a future."""

    number: int
    node: StageModel
    child: StageModel
    n_points: int
    """Of all ranks."""
    paths: list[int]
    """Of this rank."""
    counts: list[int]
    """Numbers in the cuts of each rank."""
    starts: list[int]
    block_length: int
    risk: RiskMeasure | None
    """None: the expectation."""

    @property
    def can_be_claimed(self) -> bool:
        """Whether a trial point is one unit of work, and this rank one thread."""
        return self.block_length >= self.child.n_openings and not self.child.solver.is_threaded

    @classmethod
    def of(cls, number: int, step: Step, node: StageModel, child: StageModel) -> _CutStep:
        width = 1 + node.layout.state_dimension
        counts = [count * width for count in step.counts]
        starts = [sum(counts[:rank]) for rank in range(len(counts))]
        length = openings_per_block(child.n_openings, len(step))
        risk = node.risk if isinstance(node.risk, RiskMeasure) and not node.risk.is_expectation else None
        return cls(number, node, child, len(step), step.my_paths, counts, starts, length, risk)


class Chain:
    """The nodes of all steps, solved for all paths of this rank in one native call."""

    def __init__(
        self, comm: GroupMember, models: list[StageModel], steps: Sequence[Step], discounts: Floats
    ) -> None:
        self._models = models
        pairs = list(pairwise(models))
        self.makes_cuts = all(_is_cut_native(node) for node, _ in pairs) and not (models[-1].node.children)
        """Whether `add_cuts` makes the cuts of this study."""
        self._cut_steps = [
            _CutStep.of(number, steps[number], node, child) for number, (node, child) in enumerate(pairs)
        ]
        self._comm = comm
        self._n_paths = len(steps[0])
        self._board: Board | None = None
        self._is_board_wanted = True
        self._stages = [model.index for model in models]
        self._solvers = [model.solver for model in models]
        low, high = zip(*(model.state_limits for model in models), strict=True)
        self._low, self._high = np.stack(low), np.stack(high)
        self._discounts = discounts[self._stages][:, np.newaxis]
        self._future_shares = np.array(
            [[0.0 if model.counts_future else model.stage.discount] for model in models]
        )

    @classmethod
    def of(
        cls, comm: GroupMember, nodes: Sequence[StageModel], steps: Sequence[Step], discounts: Floats
    ) -> Chain | None:
        """Collective. None where paths differ, or where a solve needs more than its state and what nature gives."""
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
        return cls(comm, models, steps, discounts) if is_chain else None

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

    def add_cuts(self, trajectories: Trajectories, iteration: int) -> None:
        """Collective: a cut for every trial point."""
        comm = self._comm
        if self._is_board_wanted:
            self._board, self._is_board_wanted = self._open_board(), False
        if self._board is not None and self._publish(self._board, trajectories):
            self._add_claimed(comm, self._board, iteration)
            return
        self.close()
        for step in reversed(self._cut_steps):
            trial = trajectories.states[step.number]
            slots = step.node.pool.open_slots(step.n_points)
            mine = slots if comm.size == 1 else np.empty((len(trial), slots.shape[1]))
            if len(trial):
                child = step.child
                child.fill_cuts(
                    mine, trial, iteration, step.paths, step.block_length, child.bases, risk=step.risk
                )
            if comm.size > 1:
                comm.allgatherv(mine, slots, step.counts, step.starts)
            _insert(step, iteration)

    def close(self) -> None:
        """Collective: free what ranks share."""
        if self._board is not None:
            self._board.close()
        self._board = None

    def _open_board(self) -> Board | None:
        can_claim = all(step.can_be_claimed for step in self._cut_steps)  # ranks may have unlike threads
        dimension = self._models[0].layout.state_dimension
        return Board.of(self._comm, len(self._models), self._n_paths, dimension, can_claim=can_claim)

    def _publish(self, board: Board, trajectories: Trajectories) -> bool:
        bases = [model.bases for model in self._models]
        widths = [solver.basis_size for solver in self._solvers]
        return board.publish(trajectories.first_scenario, trajectories.states, bases, widths)

    def _add_claimed(self, comm: Communicator, board: Board, iteration: int) -> None:
        """The same where every rank can take every trial point."""
        for step in reversed(self._cut_steps):
            number = step.number
            step.child.fill_cuts(
                board.rows[number],
                board.states[number],
                iteration,
                range(step.n_points),
                step.block_length,
                board.bases(number + 1),
                board.claims[number],
                step.risk,
            )
            comm.barrier()
            step.node.pool.open_slots(step.n_points)[:] = board.rows[number]
            _insert(step, iteration)


def _insert(step: _CutStep, iteration: int) -> None:
    step.node.pool.insert(step.n_points, iteration)
    step.node.share_cuts()


def _is_cut_native(node: StageModel) -> bool:
    """Whether the cuts of ``node`` are those of the expectation or CVaR of the openings of what follows."""
    is_known = node.risk.is_expectation or isinstance(node.risk, RiskMeasure)
    return node.node.probabilities == (1.0,) and is_known and not node.n_outcomes
