"""The inner bound: what following the policy costs at most, by a function that lies above the future cost.

The future cost is convex in the state. At some visited states, the vertices, an upper bound of it is computed, from the
last stage to the first. Between vertices their mean bounds it, and away from them it rises by no more than its
steepest slope. A stage problem with that function in place of its cuts costs no less than the true one; so the risk of
the first stage is a true upper bound of the optimum, with risk measures too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.comm import GroupMember, contiguous_block
from cobre.core.config import UpperBoundEvaluation
from cobre.core.distinct import distinct
from cobre.errors import ValidationError
from cobre.sddp.backward import joint_probabilities
from cobre.sddp.forward import Trajectories
from cobre.sddp.risk import opening_weights, risk_of, weighted_sum
from cobre.sddp.selection import StateKeeper
from cobre.sddp.slopes import Slopes, incoming_slopes
from cobre.sddp.stage import StageModel
from cobre.sddp.statistics import gather_counted, gather_rows
from cobre.sddp.workspace import Workspace
from cobre.solver import LpSolver, LpTemplate, Status

MOST_CORNERS = 64
"""Of the box of all states of a node; where the state has more, the middles of its sides are taken."""
REMEDY = (
    "set upper_bound_evaluation.lipschitz.fallback_value to the most that one unit can be worth ($/hm3 of storage, "
    "$ per m3/s of inflow), or modeling.inflow_non_negativity.method to penalty"
)


class InnerBound(StateKeeper):
    """Keeps the states that training visits and computes the bound from them, each rank a part of it."""

    def __init__(self, comm: GroupMember, work: Workspace, settings: UpperBoundEvaluation) -> None:
        self._comm = comm
        self._work = work
        self._settings = settings
        inner = [k for k, node in enumerate(work.nodes) if node.node.children]
        super().__init__(inner, work.state_dimension)
        self._boxes = _boxes(work)
        self._slopes = _slopes(work, self._boxes, settings)
        self._wants_corners = settings.fallback_value is None

    def archive(self, trajectories: Trajectories) -> None:
        """Collective: keep the states of an iteration."""
        for step, states in zip(trajectories.steps, trajectories.states, strict=True):
            nodes = [node for node in distinct(step.nodes) if node in self._archives]
            if not nodes:
                continue
            everyone = states if trajectories.is_tree else gather_counted(self._comm, states, step.counts)
            for node in nodes:
                self._archives[node].extend(everyone[step.nodes == node])

    def is_due(self, iteration: int) -> bool:
        """Whether the bound is wanted after this iteration."""
        first, every = self._settings.first_iteration, self._settings.interval_iterations
        return iteration >= first and (iteration - first) % every == 0

    def evaluate(self, iteration: int) -> float:
        """Collective: the bound from all states so far."""
        nodes = self._work.nodes
        solvers: dict[int, LpSolver] = {}
        for position in range(len(nodes) - 1, -1, -1):
            node = nodes[position]
            if not node.node.children:
                solvers[position] = (
                    node.solver
                )  # nothing follows, or the cuts of another study, taken as true
                continue
            vertices = self._vertices(position)
            values = self._values_at(node, vertices, solvers, iteration)
            template = with_vertices(node.template, vertices, values, self._slopes[node.index])
            solvers[position] = node.open_solver(template)
        return self._root(solvers[0], iteration)

    def _vertices(self, position: int) -> Floats:
        """Visited states, and states round them, so that what leaves the stage lies between vertices or beside them.

        Where a slope is only the user's word, a state out of reach may have no solution: then visited ones have to do.
        """
        visited = _distinct_rows(self._archives[position].states, self._settings.max_vertices)
        if not self._wants_corners or not len(visited):
            return visited
        node = self._work.nodes[position]
        box, slopes = self._boxes[node.index], self._slopes[node.index]
        low, high = visited.min(axis=0), visited.max(axis=0)
        margin = 0.5 * (high - low)
        low, high = low - margin, high + margin
        needs_low, needs_high = ~np.isfinite(slopes.less), ~np.isfinite(slopes.more)
        low[needs_low], high[needs_high] = box.low[needs_low], box.high[needs_high]
        storage, carried = node.layout.storage, slice(node.layout.lags.stop, None)
        low[storage], high[storage] = box.low[storage], box.high[storage]
        low[carried] = np.maximum(low[carried], box.low[carried])
        high[carried] = np.minimum(high[carried], box.high[carried])
        return np.concatenate([visited, _round(low, high, needs_low, needs_high)])

    def _values_at(
        self, node: StageModel, points: Floats, solvers: Mapping[int, LpSolver], iteration: int
    ) -> Floats:
        """Collective: ``[point]``, the risk of what follows ``node``, at most."""
        first, n = contiguous_block(len(points), self._comm.rank, self._comm.size)
        mine = points[first : first + n]
        children = [self._work.nodes[child] for child in node.node.children]
        own = np.empty(n)
        if n:
            middle = points[len(points) // 2]  # the same on every rank
            costs = [
                self._costs(
                    child,
                    mine,
                    solvers[position],
                    iteration,
                    start=_basis_at(child, middle, solvers[position]),
                )
                for child, position in zip(children, node.node.children, strict=True)
            ]
            joined = np.concatenate(costs, axis=1)
            weights = opening_weights(joined, node.risk, joint_probabilities(node.node, children))
            own = weighted_sum(joined, weights)
        return gather_rows(self._comm, own, len(points))

    def _root(self, solver: LpSolver, iteration: int) -> float:
        root = self._work.nodes[0]
        start = self._work.initial_state[np.newaxis, :]
        costs = self._costs(root, start, solver, iteration)[0]
        return risk_of(costs, root.risk, root.probabilities)

    def _costs(
        self,
        node: StageModel,
        points: Floats,
        solver: LpSolver,
        iteration: int,
        start: NDArray[np.uint8] | None = None,
    ) -> Floats:
        """``[point, opening]`` of a stage with the function of ``solver`` behind it."""
        n = node.n_openings
        states = np.repeat(points, n, axis=0)
        parameters = node.parameters(states, np.tile(node.openings, (len(points), 1)))
        output = solver.allocate(len(parameters), chain_length=n)
        outcome = solver.solve_batch(parameters, output, chain_length=n, start_bases=start, order=node.order)
        if outcome.status is Status.INFEASIBLE and self._wants_corners:
            raise _unreachable(node)
        if not outcome.is_optimal:
            raise node.failure(outcome, iteration, f"inner bound, vertex {outcome.index // n}", solver)
        return output.objective.reshape(len(points), n)


def _basis_at(node: StageModel, point: Floats, solver: LpSolver) -> NDArray[np.uint8] | None:
    """Of the first opening that is solved for each point, at one of them: the others are not far from it."""
    first = int(node.order[0])
    output = solver.allocate(1, bases=True)
    parameters = node.parameters(point[np.newaxis, :], node.openings[first : first + 1])
    return output.bases if solver.solve_batch(parameters, output).is_optimal else None


def _unreachable(node: StageModel) -> ValidationError:
    return ValidationError(
        f"stage {node.stage.id} has no solution at one of the corners of the box of states that the stage before may "
        "leave, where the inner bound needs one",
        kind="IncompatibleSettings",
        context={"stage": node.stage.id},
        suggestion=REMEDY,
    )


def with_vertices(template: LpTemplate, points: Floats, values: Floats, slopes: Slopes) -> LpTemplate:
    """``template`` with the function above the future cost in place of cuts.

    ``x = sum_i w_i points_i + up - down``, ``sum_i w_i = 1`` and ``future cost = sum_i w_i values_i + more . up +
    less . down``, where ``x`` is the outgoing state and everything else is not negative. A component does not leave
    the vertices on a side where its slope is infinite.
    """
    slope = np.concatenate([slopes.more, slopes.less])
    reach = np.where(np.isfinite(slope), np.inf, 0.0)
    slope = np.where(np.isfinite(slope), slope, 0.0)
    n, v, dimension = template.n_columns, len(points), points.shape[1]
    weights = np.arange(n, n + v)
    up, down = np.arange(n + v, n + v + dimension), np.arange(n + v + dimension, n + v + 2 * dimension)
    rows: list[tuple[Ints, Floats]] = []
    for j, column in enumerate(template.cut_columns.tolist()):
        rows.append(
            (
                np.concatenate([[column], weights, [up[j], down[j]]]),
                np.concatenate([[1.0], -points[:, j], [-1.0, 1.0]]),
            )
        )
    rows.append((weights, np.ones(v)))
    rows.append(
        (
            np.concatenate([[template.future_cost_column], weights, up, down]),
            np.concatenate([[1.0], -values, -slope]),
        )
    )
    sides = np.concatenate([np.zeros(dimension), [1.0, 0.0]])
    orders = [np.argsort(indices, kind="stable") for indices, _ in rows]
    parts = [indices[order] for (indices, _), order in zip(rows, orders, strict=True)]
    entries = [terms[order] for (_, terms), order in zip(rows, orders, strict=True)]
    more = v + 2 * dimension
    lower = template.column_lower.copy()
    lower[template.future_cost_column] = -np.inf  # its row says what it is
    return replace(
        template,
        column_cost=np.concatenate([template.column_cost, np.zeros(more)]),
        column_lower=np.concatenate([lower, np.zeros(more)]),
        column_upper=np.concatenate([template.column_upper, np.full(v, np.inf), reach]),
        row_lower=np.concatenate([template.row_lower, sides]),
        row_upper=np.concatenate([template.row_upper, sides]),
        row_starts=np.concatenate(
            [template.row_starts, template.row_starts[-1] + np.cumsum([len(part) for part in parts])]
        ).astype(np.int32),
        column_indices=np.concatenate([template.column_indices, *parts]).astype(np.int32),
        values=np.concatenate([template.values, *entries]),
        column_names=None,
        row_names=None,
    )


def _round(low: Floats, high: Floats, needs_low: NDArray[np.bool_], needs_high: NDArray[np.bool_]) -> Floats:
    """Corners of the box from ``low`` to ``high``; where it has too many, the middles of its sides.

    Those come with the corners of the components that may not leave the vertices downward or upward.
    """
    dimension = len(low)
    if 2**dimension <= MOST_CORNERS:
        return _corners(low, high, np.ones(dimension, dtype=bool))
    middle = 0.5 * (low + high)
    found = np.repeat(middle[np.newaxis, :], 2 * dimension, axis=0)
    for j in range(dimension):
        found[2 * j, j], found[2 * j + 1, j] = low[j], high[j]
    below, above = (
        np.where(needs_low, low, np.where(needs_high, high, middle)),
        np.where(needs_high, high, low),
    )
    return np.concatenate([found, _corners(below, above, needs_low & needs_high)])


def _corners(low: Floats, high: Floats, is_free: NDArray[np.bool_]) -> Floats:
    """All of the box whose other components stay at ``low``."""
    places = np.flatnonzero(is_free)
    choices = (np.arange(2 ** len(places))[:, np.newaxis] >> np.arange(len(places))) & 1
    found = np.repeat(low[np.newaxis, :], len(choices), axis=0)
    found[:, places] = np.where(choices == 1, high[places], low[places])
    return found


def _distinct_rows(states: Floats, most: int) -> Floats:
    """The newest states, each once and at most so many, in the order of their last visit."""
    seen: set[bytes] = set()
    found: list[int] = []
    for k in range(len(states) - 1, -1, -1):
        key = states[k].tobytes()
        if key not in seen:
            seen.add(key)
            found.append(k)
            if len(found) == most:
                break
    return np.ascontiguousarray(states[found[::-1]])


@dataclass(frozen=True)
class _Box:
    """What the outgoing state of a stage can be; infinite where it has no limit."""

    low: Floats
    high: Floats


def _boxes(work: Workspace) -> list[_Box]:
    """By stage. A plant that is not there hands on the storage that it has."""
    layout, lags = work.nodes[0].layout, work.lag_ranges()
    storage = layout.storage
    found: list[_Box] = []
    last = _Box(work.initial_state, work.initial_state)
    for problem, (lowest, highest) in zip(work.problems, lags[1:], strict=True):
        low, high = problem.state_limits()
        low[layout.lags], high[layout.lags] = lowest.ravel(), highest.ravel()
        stays = np.zeros(len(low), dtype=bool)
        stays[storage] = ~np.isfinite(high[storage])
        last = _Box(np.where(stays, last.low, low), np.where(stays, last.high, high))
        found.append(last)
    return found


def _slopes(work: Workspace, boxes: list[_Box], settings: UpperBoundEvaluation) -> list[Slopes]:
    """``[stage]``; what duality does not limit is what the settings say.

    Without a word there it stays infinite where the state has a limit: the corners of its box are vertices then.
    """
    leaf = work.models[-1]
    found = [Slopes.of(leaf.pool.coefficients[leaf.pool.active])]
    for problem in reversed(work.problems[1:]):
        slopes = incoming_slopes(problem, found[-1])
        if settings.fallback_value is not None:
            slopes = slopes.filled(settings.fallback_value)
        found.append(slopes)
    found.reverse()
    _check_slopes(work, found, boxes)
    return [slopes.scaled(settings.scale_factor) for slopes in found]


def _check_slopes(work: Workspace, found: list[Slopes], boxes: list[_Box]) -> None:
    is_unknown = np.zeros(work.state_dimension, dtype=bool)
    for slopes, box in zip(found, boxes, strict=True):
        needs_low, needs_high = ~np.isfinite(slopes.less), ~np.isfinite(slopes.more)
        is_unknown |= (needs_low & ~np.isfinite(box.low)) | (needs_high & ~np.isfinite(box.high))
        both = needs_low & needs_high
        if 2 ** int(np.count_nonzero(both)) > MOST_CORNERS:
            is_unknown |= both
    if not is_unknown.any():
        return
    names = [work.state_names[j] for j in np.flatnonzero(is_unknown).tolist()]
    raise ValidationError(
        f"the slope of the future cost by {', '.join(names[:5])} has no limit: nothing in a stage can make up "
        "for what is missing, so that the inner bound needs a number from you",
        kind="IncompatibleSettings",
        context={"components": names[:20]},
        suggestion=REMEDY,
    )
