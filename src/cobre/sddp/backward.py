"""The backward pass: from the last step to the first, one new cut per visit of a node with a future."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.comm import Communicator, ReduceOp
from cobre.core.graph import Node
from cobre.core.horizon import OwnRiskMeasure, RiskMeasure
from cobre.errors import ValidationError
from cobre.sddp.chain import Chain
from cobre.sddp.cuts import insert_cuts, synchronize_cuts
from cobre.sddp.forward import Trajectories
from cobre.sddp.itinerary import Step
from cobre.sddp.outcome_cuts import rows_of_points
from cobre.sddp.risk import opening_weights
from cobre.sddp.stage import Bases, StageModel
from cobre.sddp.statistics import gather_counted
from cobre.sddp.truncation import Truncation
from cobre.sddp.units import openings_per_block
from cobre.solver import BatchOutput, linearise


@dataclass(frozen=True)
class Outcomes:
    """What some trial points cost in one child, in each of its openings."""

    costs: Floats
    """``[point, opening]``."""
    values: Floats
    """``[point, opening]``: what the cuts have at the trial point; the costs, but for clamped inflows."""
    gradients: Floats
    """``[point, opening, dimension]``."""

    def at(self, rows: Ints) -> Outcomes:
        """Of these points alone."""
        if len(rows) == len(self.costs):
            return self
        return Outcomes(self.costs[rows], self.values[rows], self.gradients[rows])


def backward_pass(
    comm: Communicator,
    nodes: Sequence[StageModel],
    trajectories: Trajectories,
    iteration: int,
    activity_tolerance: float | None = None,
    *,
    is_enumerated: bool = False,
    chain: Chain | None = None,
) -> None:
    """Collective: add a cut to the pool of every visited node with a future, on every rank the same.

    A trial point is solved for all openings of all children of its node. The first opening begins from the basis
    that the same path left in that child; where there are few trial points the others follow in several blocks
    (`openings_per_block`). The risk measure sees all children and openings at once. With an ``activity_tolerance`` it
    also counts how often each cut was binding. With the ``chain`` of a study without branches a step is one native call
    and a collective, where its cuts are those of the expectation or CVaR.
    """
    if chain is not None and chain.makes_cuts and activity_tolerance is None:
        chain.add_cuts(trajectories, iteration)
        return
    activity = _Activity(comm, nodes, activity_tolerance)
    steps, states = trajectories.steps, trajectories.states
    for k in range(len(steps) - 1, -1, -1):
        step = steps[k]
        if not nodes[int(step.nodes[0])].node.children:
            continue
        if is_enumerated:
            rows = _rows_of_tree(comm, nodes, step, steps[k + 1], states[k], iteration, activity)
            _insert(nodes, step, rows, iteration)
        else:
            mine = _rows_of_paths(nodes, step, states[k], iteration, activity)
            _synchronize(comm, nodes, step, mine, iteration)
    activity.record(iteration)


def _synchronize(
    comm: Communicator, nodes: Sequence[StageModel], step: Step, mine: Floats, iteration: int
) -> None:
    """Collective: the cuts of all ranks, each in the pool of its node, in the order of visits."""
    node = nodes[step.visited[0]]
    if len(step.visited) == 1 and not node.n_outcomes:
        synchronize_cuts(comm, node.pool, mine, len(step), iteration, step.counts)
        node.share_cuts()
    else:
        _insert(nodes, step, gather_counted(comm, mine, step.counts), iteration)


def _insert(nodes: Sequence[StageModel], step: Step, rows: Floats, iteration: int) -> None:
    for position in step.visited:
        node, made = nodes[position], rows[step.nodes == position]
        if n := node.n_outcomes:
            width = 1 + node.layout.state_dimension
            made = rows_of_points(made[:, : (1 + n) * width].reshape(-1, 1 + n, width), n)
        insert_cuts(node.pool, made, iteration)
        node.share_cuts()


def give_cuts_to_outcomes(nodes: Sequence[StageModel]) -> None:
    """Have each node with a future keep cuts of every opening of its children, beside those of their risk."""
    for node in nodes:
        children = [nodes[child] for child in node.node.children]
        if not children:
            continue
        if not isinstance(node.risk, RiskMeasure):
            raise ValidationError(
                "cut_formulation = 'multi' needs the expectation or CVaR, not a risk measure of a program",
                kind="IncompatibleSettings",
                context={"file": "config.json", "field": "training.cut_formulation"},
                suggestion="use cut_formulation single",
            )
        shares = joint_probabilities(node.node, children)
        node.give_cuts_to_outcomes(children[0].shares if shares is None else shares, node.risk)


def _width(nodes: Sequence[StageModel], step: Step, dimension: int) -> int:
    """Numbers that describe the cuts of a trial point of ``step``, where it takes most of them."""
    most = max(nodes[position].n_outcomes for position in step.visited)
    return int((1 + most) * (1 + dimension))


def _rows_of_paths(
    nodes: Sequence[StageModel], step: Step, trial: Floats, iteration: int, activity: _Activity
) -> Floats:
    """Cuts of this rank's visits of ``step``."""
    here, numbers, visited = step.here, step.paths[step.mine], step.visited
    found: dict[int, tuple[Ints | None, Outcomes]] = {}
    for child in sorted({child for position in step.visited_here for child in nodes[position].node.children}):
        model = nodes[child]
        parents = [position for position in visited if child in nodes[position].node.children]
        at: Ints | None = None
        points, rows_of, chains, n_points = trial, step.my_rows, numbers, len(step.nodes)
        if len(parents) < len(visited):
            at = np.flatnonzero(np.isin(here, parents))
            n_points = int(np.count_nonzero(np.isin(step.nodes, parents)))
            points, rows_of, chains = trial[at], step.my_rows[at], numbers[at]
        batch = _solve_openings(
            model,
            points,
            chains.tolist(),
            iteration,
            openings_per_block(model.n_openings, n_points),
            model.start_bases(rows_of),
            activity.is_wanted,
        )
        activity.add(child, batch)
        found[child] = (at, outcomes_of(model, points, batch))
    if len(visited) == 1 and len(here):
        node = nodes[visited[0]]
        return _cuts_of(node, trial, [(nodes[child], found[child][1]) for child in node.node.children])
    rows = np.zeros((len(trial), _width(nodes, step, trial.shape[1])))
    for position in step.visited_here:
        mine = np.flatnonzero(here == position)
        node = nodes[position]
        parts = []
        for child in node.node.children:
            at, outcomes = found[child]
            parts.append((nodes[child], outcomes.at(mine if at is None else np.searchsorted(at, mine))))
        made = _cuts_of(node, trial[mine], parts)
        rows[mine, : made.shape[1]] = made
    return rows


def _rows_of_tree(
    comm: Communicator,
    nodes: Sequence[StageModel],
    step: Step,
    following: Step,
    trial: Floats,
    iteration: int,
    activity: _Activity,
) -> Floats:
    """Collective: cuts of all nodes of ``step``. Each rank solves its part of the children, each child once."""
    dimension = trial.shape[1]
    mine = following.nodes[following.mine].tolist()
    own = np.empty((len(mine), 2 + dimension))
    points = trial[following.parents[following.mine]]
    for k, child in enumerate(mine):
        model = nodes[child]
        start = model.start_bases(np.zeros(1, dtype=np.int64))
        batch = _solve_openings(
            model, points[k : k + 1], [child], iteration, 1, start, activity.is_wanted, chain_of="node"
        )
        activity.add(child, batch)
        outcome = outcomes_of(model, points[k : k + 1], batch)
        own[k] = np.concatenate([outcome.costs[0], outcome.values[0], outcome.gradients[0, 0]])
    everyone = gather_counted(comm, own, following.counts)
    place = {int(node): k for k, node in enumerate(following.nodes.tolist())}
    rows = np.zeros((len(step), _width(nodes, step, dimension)))
    for k, position in enumerate(step.nodes.tolist()):
        node = nodes[position]
        parts = []
        for child in node.node.children:
            row = everyone[place[child] : place[child] + 1]
            parts.append((nodes[child], Outcomes(row[:, :1], row[:, 1:2], row[:, np.newaxis, 2:])))
        made = _cuts_of(node, trial[k : k + 1], parts)
        rows[k, : made.shape[1]] = made[0]
    return rows


def _cuts_of(node: StageModel, trial: Floats, parts: Sequence[tuple[StageModel, Outcomes]]) -> Floats:
    """``[point, number]``: the cut of the risk and, if the node wants them, those of the outcomes after it."""
    risk = joint_cuts(node.node, node.risk, trial, parts)
    if not node.n_outcomes:
        return risk
    joined = _joined(node.node, [outcomes for _, outcomes in parts])
    rows = np.empty((len(trial), 1 + node.n_outcomes, 1 + trial.shape[1]))
    rows[:, 0] = risk
    rows[:, 1:, 0] = joined.values
    rows[:, 1:, 1:] = joined.gradients
    for j in range(trial.shape[1]):
        rows[:, 1:, 0] -= rows[:, 1:, 1 + j] * trial[:, j : j + 1]
    return rows.reshape(len(trial), -1)


def outcomes_of(model: StageModel, trial: Floats, batch: BatchOutput) -> Outcomes:
    """What ``batch`` says of the trial points: all openings of the first, then of the second, and so on."""
    n, dimension = trial.shape
    costs = batch.objective.reshape(n, model.n_openings)
    duals = batch.observed_dual.reshape(n, model.n_openings, -1)
    gradients = duals[:, :, :dimension]
    if model.truncation is None:
        return Outcomes(costs, costs, gradients)
    values, gradients = _corrected(model.truncation, model, trial, costs, gradients, duals[:, :, dimension:])
    return Outcomes(costs, values, gradients)


def joint_cuts(
    node: Node,
    risk: RiskMeasure | OwnRiskMeasure,
    trial: Floats,
    parts: Sequence[tuple[StageModel, Outcomes]],
) -> Floats:
    """Rows (intercept, coefficients), one per trial point: the risk of all children and openings, linearised there."""
    n, dimension = trial.shape
    joined = _joined(node, [outcomes for _, outcomes in parts])
    weights = opening_weights(joined.costs, risk, joint_probabilities(node, [child for child, _ in parts]))
    rows = np.empty((n, 1 + dimension))
    linearise(joined.values, joined.gradients, weights, trial, rows)
    return rows


def joint_probabilities(node: Node, children: Sequence[StageModel]) -> Floats | None:
    """Of the openings of all children in order, and of nothing that follows; None if all are equally likely."""
    if node.probabilities == (1.0,):
        return children[0].probabilities
    parts = [share * child.shares for share, child in zip(node.probabilities, children, strict=True)]
    stop = node.stop_probability
    return np.concatenate([*parts, [stop]] if stop else parts)


def _joined(node: Node, parts: Sequence[Outcomes]) -> Outcomes:
    if node.stop_probability:  # then nothing follows, and costs nothing
        n, _, dimension = parts[0].gradients.shape
        nothing = Outcomes(np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((n, 1, dimension)))
        parts = [*parts, nothing]
    if len(parts) == 1:
        return parts[0]
    return Outcomes(
        np.concatenate([part.costs for part in parts], axis=1),
        np.concatenate([part.values for part in parts], axis=1),
        np.concatenate([part.gradients for part in parts], axis=1),
    )


def _corrected(
    truncation: Truncation,
    model: StageModel,
    trial: Floats,
    costs: Floats,
    gradients: Floats,
    inflow_duals: Floats,
) -> tuple[Floats, Floats]:
    """Values at the trial points and gradients of cuts that hold for clamped inflows, too."""
    lags = model.lags_of(trial)
    changes, constants = truncation.corrections(lags, inflow_duals)
    values = costs + constants
    for lag in range(changes.shape[2]):
        for hydro in range(changes.shape[3]):
            values += changes[:, :, lag, hydro] * lags[:, np.newaxis, lag, hydro]
    corrected = gradients.copy()
    corrected[:, :, model.layout.lags] += changes.reshape(*changes.shape[:2], -1)
    return values, corrected


def _solve_openings(
    model: StageModel,
    trial: Floats,
    chains: Sequence[int],
    iteration: int,
    block_length: int,
    start_bases: Bases | None,
    want_cut_duals: bool,
    *,
    chain_of: str = "scenario",
) -> BatchOutput:
    return model.solve(
        model.parameters_of_openings(trial),
        iteration,
        chains,
        chain_of=chain_of,
        chain_length=model.n_openings,
        block_length=block_length,
        start_bases=start_bases,
        want_cut_duals=want_cut_duals,
        order=model.order,
    )


class _Activity:
    """How often each cut was binding in this rank's solves of a backward pass."""

    def __init__(self, comm: Communicator, nodes: Sequence[StageModel], tolerance: float | None) -> None:
        self._comm = comm
        self._nodes = nodes
        self._tolerance = tolerance
        self._counts: dict[int, Ints] = {}

    @property
    def is_wanted(self) -> bool:
        return self._tolerance is not None

    def add(self, position: int, batch: BatchOutput) -> None:
        """Count the solves of a node."""
        if self._tolerance is None or batch.cut_dual is None:
            return
        used = np.count_nonzero(batch.cut_dual > self._tolerance, axis=0).astype(np.int64)
        key = id(self._nodes[position].pool)
        before = self._counts.get(key)
        if before is not None:
            used[: len(before)] += before  # there may be new cuts since
        self._counts[key] = used

    def record(self, iteration: int) -> None:
        """Collective: add up over ranks and update the pools, in one message for all of them."""
        if self._tolerance is None:
            return
        pools = list({id(node.pool): node.pool for node in self._nodes}.values())
        mine = np.zeros(sum(pool.size for pool in pools), dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum([pool.size for pool in pools])))
        for pool, start in zip(pools, starts.tolist(), strict=False):
            counts = self._counts.get(id(pool), np.empty(0, dtype=np.int64))
            mine[start : start + len(counts)] = counts
        everyone = np.zeros_like(mine)
        if len(mine):
            self._comm.allreduce(mine, everyone, ReduceOp.SUM)  # of integers: exact in any order
        for pool, start in zip(pools, starts.tolist(), strict=False):
            pool.record_activity(everyone[start : start + pool.size][pool.active_slots], iteration)
