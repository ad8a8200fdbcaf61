"""Generation of thermals that is decided ahead: decided here, kept for later, delivered now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Indices
from cobre.sddp.commitments import Commitments
from cobre.sddp.subproblem.builder import ABSENT, INFINITY, LpBuilder
from cobre.sddp.subproblem.layout import CommitmentColumns, NetworkColumns, ParameterLayout
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver import Target


def is_delivered(scope: StageScope, commitments: Commitments) -> NDArray[np.bool_]:
    """``[thermal]``: whether its generation in this stage was decided, and paid, before."""
    found = np.zeros(len(scope.system.thermals), dtype=np.bool_)
    for lane in commitments.lanes:
        found[lane.thermal] = lane.delivers(scope.index)
    return found


def add_commitment_columns(lp: LpBuilder, scope: StageScope, commitments: Commitments) -> CommitmentColumns:
    """A decision for a later stage costs what it will burn there; a slot that is kept is its own incoming column."""
    thermals, stage = scope.system.thermals, scope.index
    labels = _labels(scope, commitments)
    incoming = lp.add_columns("incoming_commitment", labels, lower=-INFINITY)
    target = {lane.thermal: lane.decided_in(stage) for lane in commitments.lanes}
    decides = np.array([target.get(t) is not None for t in range(len(thermals))], dtype=np.bool_)
    low, high, cost = (np.zeros(len(thermals)) for _ in range(3))
    for thermal, delivery in target.items():
        if delivery is not None:
            low[thermal], high[thermal] = commitments.limits(thermal, delivery)
            cost[thermal] = commitments.cost(thermal, delivery, stage)
    decision = lp.add_columns("commitment", thermals, lower=low, upper=high, cost=cost, where=decides)
    outgoing = incoming.copy()
    place_of = {each: c for c, each in enumerate(commitments.components)}
    is_idle = np.zeros(len(labels), dtype=np.bool_)
    for c, ((place, _), delivery) in enumerate(
        zip(commitments.components, commitments.deliveries(stage), strict=True)
    ):
        lane = commitments.lanes[place]
        if delivery is None:
            is_idle[c] = True
        elif target[lane.thermal] == delivery:
            outgoing[c] = decision[lane.thermal]
        else:
            outgoing[c] = incoming[place_of[place, lane.slots[delivery]]]
    idle = lp.add_columns("unused_commitment", labels, upper=0.0, where=is_idle)
    return CommitmentColumns(
        incoming=incoming,
        outgoing=np.where(is_idle, idle, outgoing),
        decision=decision,
        delivered=_delivered(scope, commitments, incoming),
    )


def _delivered(scope: StageScope, commitments: Commitments, incoming: Indices) -> Indices:
    found = np.full(len(scope.system.thermals), ABSENT, dtype=np.int64)
    for c, (place, slot) in enumerate(commitments.components):
        lane = commitments.lanes[place]
        if lane.slots.get(scope.index) == slot:
            found[lane.thermal] = incoming[c]
    return found


def add_commitment_rows(
    lp: LpBuilder,
    scope: StageScope,
    parameters: ParameterLayout,
    commitments: Commitments,
    columns: CommitmentColumns,
    network: NetworkColumns,
) -> Indices:
    """``incoming = state``, which is returned; ``sum_k H_k generation / H = commitment`` of plants that deliver."""
    fixed = lp.add_rows("fix_commitment", _labels(scope, commitments), lower=0.0, upper=0.0)
    lp.add_terms(fixed, columns.incoming, 1.0)
    lp.patch(Target.ROW_EQUAL, fixed, parameters.numbers(parameters.commitments))
    delivers = columns.delivered != ABSENT
    rows = lp.add_rows("delivery", scope.system.thermals, lower=0.0, upper=0.0, where=delivers)
    lp.add_terms(rows[:, None], network.thermal, scope.hours / scope.stage.hours)
    lp.add_terms(rows, columns.delivered, -1.0)
    return fixed


def _labels(scope: StageScope, commitments: Commitments) -> list[str]:
    names = labels_of(scope.system.thermals)
    return [f"{names[commitments.lanes[i].thermal]}#{slot}" for i, slot in commitments.components]
