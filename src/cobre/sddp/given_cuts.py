"""Cuts of other runs that training begins with, matched to a case by dates and by the ids of its plants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.digest import digest
from cobre.errors import ValidationError
from cobre.sddp.carried import Carried
from cobre.sddp.identity import NOTHING, PRICED, differences, identity_of
from cobre.sddp.policy import Policy
from cobre.sddp.slots import COMMITMENT, Source, family_of, slots_of, weights
from cobre.sddp.stage_cuts import StageCuts

SHOWN = 5
"""Names in a message before it is cut short."""
BY_STAGE = ("tables", "scenarios", "boundary")
"""Parts that belong to certain stages: studies with other stages always differ in them."""


@dataclass(frozen=True, eq=False)
class CutRows:
    """Cuts of one stage in the state of the case: ``rows [cut, 1 + dimension]``, intercept first."""

    rows: NDArray[np.float64]
    active: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Boundary:
    """What follows the last stage costs: cuts of another study, and the least that it can cost."""

    cuts: CutRows
    floor: float

    @property
    def digest(self) -> str:
        """Tells whether two boundaries are the same to the bit."""
        return digest({"rows": self.cuts.rows, "active": self.cuts.active, "floor": self.floor})


@dataclass(frozen=True, eq=False)
class Matched:
    """Cuts in the terms of a case, and what the user should know about them."""

    stages: tuple[CutRows | None, ...] = ()
    """One per stage of the case; None where the policy has nothing for it."""
    notes: tuple[str, ...] = ()


def match_policy(
    policy: Policy,
    case: Case,
    state_names: Sequence[str],
    carried: Carried | None = None,
    boundary: Boundary | None = None,
) -> Matched:
    """The cuts of ``policy`` for the stages of ``case`` that end on the same day, the last stage left out.

    Components of the state are matched by name, and by dates where they have some. One that the policy lacks gets the
    coefficient 0. ``boundary`` is what follows the last stage of ``case``.
    """
    carried = Carried.of(case) if carried is None else carried
    changes = changes_since(policy, case, NOTHING if boundary is None else boundary.digest)
    if policy.node_ids or case.horizon.graph is not None:
        return _match_graph(policy, case, state_names, carried, changes)
    of_stage = _stages_by_date(policy, case)
    last = case.horizon.n_stages - 1
    found: list[CutRows | None] = []
    lost: dict[str, None] = {}
    for k, index in enumerate(of_stage):
        if index is None or k == last:
            found.append(None)
            continue
        columns = _columns(policy, index, state_names, slots_of(carried, k))
        rows, more = _rows(policy, policy.stages[index], columns, state_names)
        found.append(rows)
        lost |= dict.fromkeys(more)
    if not any(cuts is not None and len(cuts.rows) for cuts in found):
        _refuse(
            "no stage of the policy ends on the same day as a stage of the case that has a future",
            "start from a policy whose stages overlap with those of stages.json",
        )
    notes = [
        *_missing_notes(policy, state_names),
        *_lost_notes(list(lost)),
        *_stage_notes(policy, of_stage, case),
        *_change_notes(changes),
    ]
    return Matched(tuple(found), tuple(notes))


def _match_graph(
    policy: Policy, case: Case, state_names: Sequence[str], carried: Carried, changes: str | None
) -> Matched:
    """The cuts of a policy graph's nodes, for the nodes of the same id."""
    graph = case.horizon.policy_graph
    ids = [graph.nodes[k].id for k in graph.pool_nodes]
    if list(policy.node_ids) != (ids if case.horizon.graph is not None else []):
        _refuse(
            f"the policy is about {_graph_words(policy.node_ids)}, the case about "
            f"{_graph_words(ids if case.horizon.graph is not None else [])}",
            "start from a policy of a study with the same policy_graph",
        )
    found: list[CutRows | None] = []
    lost: dict[str, None] = {}
    for pool, node in enumerate(graph.nodes[k] for k in graph.pool_nodes):
        if not node.children:
            found.append(None)
            continue
        columns = _columns(policy, pool, state_names, slots_of(carried, node.stage))
        rows, more = _rows(policy, policy.stages[pool], columns, state_names)
        found.append(rows)
        lost |= dict.fromkeys(more)
    notes = (*_missing_notes(policy, state_names), *_lost_notes(list(lost)), *_change_notes(changes))
    return Matched(tuple(found), notes)


def _graph_words(ids: Sequence[int]) -> str:
    return f"the nodes {_listed([str(id) for id in ids])}" if ids else "a chain of stages"


def match_boundary(
    policy: Policy,
    case: Case,
    state_names: Sequence[str],
    source_stage: int | None,
    *,
    is_strict: bool,
    carried: Carried | None = None,
) -> tuple[Boundary, tuple[str, ...]]:
    """The cuts that ``policy`` has for the day on which ``case`` ends, and what the user should know about them."""
    if policy.node_ids:
        _refuse(
            "the policy belongs to a graph with branches, which has no single future at the end of the study",
            "take the policy of a study whose stages are a chain",
        )
    carried = Carried.of(case, is_open_ended=True) if carried is None else carried
    stage = _boundary_stage(policy, case, source_stage)
    cuts = policy.stages[stage]
    if not cuts.active.any():
        _refuse(
            f"the policy has no cut for the end of the study ({_end(case)}): its own study may end there",
            "take the policy of a study that goes on after this one ends",
        )
    columns = _columns(policy, stage, state_names, slots_of(carried, case.horizon.n_stages - 1))
    fixed, constants = _fixed_commitments(policy, stage, case, carried)
    rows, lost = _rows(policy, cuts, columns, state_names, fixed)
    rows.rows[:, 0] += constants
    notes = [*_missing_notes(policy, state_names), *_lost_notes(lost)]
    if is_strict and notes:
        _refuse(
            f"policy.boundary.strict is true, and {notes[0]}", "set strict to false, or take another policy"
        )
    return Boundary(rows, cuts.floor), tuple(notes)


def _fixed_commitments(
    policy: Policy, stage: int, case: Case, carried: Carried
) -> tuple[set[int], NDArray[np.float64]]:
    """What was decided before the study for stages after it: places in the policy, and its value in each cut."""
    cuts = policy.stages[stage]
    places: set[int] = set()
    constants = np.zeros(len(cuts.intercepts))
    source = Source(policy.state_names, policy.slots[stage] if policy.slots else {})
    end = case.horizon.stages[-1].end_date
    for window in carried.commitments.fixed_deliveries():
        interval = (max(window.start_date, end).isoformat(), window.end_date.isoformat())
        name = f"{COMMITMENT}0:{case.system.thermals[window.entity].id}"
        for place, weight in weights(source, name, interval):
            places.add(place)
            constants += cuts.coefficients[:, place] * weight * window.value
    return places, constants


def _columns(
    policy: Policy, stage: int, state_names: Sequence[str], slots: Mapping[str, tuple[str, str]]
) -> list[list[tuple[int, float]]]:
    """For each component of the case's state those of the policy's, each with the factor that it counts with."""
    if not policy.state_names:
        if policy.state_dimension != len(state_names):
            _refuse(
                f"the policy names no components of its state and has {policy.state_dimension} of them, the case "
                f"{len(state_names)}",
                "start from a policy of a study with the same plants and the same number of inflow lags",
            )
        return [[(index, 1.0)] for index in range(len(state_names))]
    place = {name: index for index, name in enumerate(policy.state_names)}
    source = Source(policy.state_names, policy.slots[stage] if policy.slots else {})
    found: list[list[tuple[int, float]]] = []
    for name in state_names:
        if policy.slots and family_of(name) is not None:
            found.append(weights(source, name, slots[name]) if name in slots else [])
        else:
            found.append([(place[name], 1.0)] if name in place else [])
    if not any(name.startswith("storage:") and name in place for name in state_names):
        _refuse(
            f"the policy and the case have no reservoir in common: {_listed(policy.state_names)} and "
            f"{_listed(state_names)}",
            "start from a policy of a study with the same plants",
        )
    return found


def _rows(
    policy: Policy,
    cuts: StageCuts,
    columns: Sequence[Sequence[tuple[int, float]]],
    state_names: Sequence[str],
    also_used: Collection[int] = (),
) -> tuple[CutRows, list[str]]:
    """Cuts in the state of the case; and components of the policy that it does without, of what is under way."""
    used = {place for column in columns for place, _ in column} | set(also_used)
    unused = [
        name
        for j, name in enumerate(policy.state_names)
        if j not in used and np.any(cuts.coefficients[:, j] != 0.0)
    ]
    lost = [name for name in unused if family_of(name) is None]
    if lost:
        _refuse(
            f"the case has no {_listed(lost)}, and the policy's cuts depend on it",
            "start from a policy of a study with the same plants and no more inflow lags",
        )
    rows = np.zeros((len(cuts.intercepts), 1 + len(state_names)))
    rows[:, 0] = cuts.intercepts
    for j, column in enumerate(columns):
        for place, weight in column:
            rows[:, 1 + j] += cuts.coefficients[:, place] * weight
    return CutRows(rows, cuts.active.copy()), unused


def _lost_notes(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"the policy prices {_listed(names)}, of which nothing is under way in the case: they are left out"
    ]


def _stages_by_date(policy: Policy, case: Case) -> list[int | None]:
    """For each stage of the case the index of the policy's stage that ends on the same day."""
    stages = case.horizon.stages
    if policy.calendar:
        place = {date: index for index, (_, date) in enumerate(policy.calendar)}
        return [place.get(stage.end_date.isoformat()) for stage in stages]
    if policy.n_stages != len(stages):
        _refuse(
            f"the policy has no dates and {policy.n_stages} stages, the case {len(stages)}",
            "start from a policy with as many stages, or from one that this version wrote",
        )
    return list(range(len(stages)))


def _boundary_stage(policy: Policy, case: Case, source_stage: int | None) -> int:
    end = _end(case)
    dates = [date for _, date in policy.calendar]
    if source_stage is None:
        if end in dates:
            return dates.index(end)
        known = f"its stages end on {_listed(dates)}" if dates else "it has no dates"
        _refuse(
            f"the policy has no stage that ends with the study, on {end}: {known}",
            "take another policy" if dates else "name the stage with policy.boundary.source_stage",
        )
    if not 0 <= source_stage < policy.n_stages:
        _refuse(
            f"policy.boundary.source_stage is {source_stage}; the policy has stages 0 to {policy.n_stages - 1}",
            "name one of these",
        )
    if dates and dates[source_stage] != end:
        right = f"name stage {dates.index(end)}" if end in dates else "take another policy"
        _refuse(
            f"stage {source_stage} of the policy ends on {dates[source_stage]}, the study on {end}", right
        )
    return source_stage


def _end(case: Case) -> str:
    return case.horizon.stages[-1].end_date.isoformat()


def _missing_notes(policy: Policy, state_names: Sequence[str]) -> list[str]:
    known = {family_of(name) or name for name in policy.state_names}
    missing = [name for name in state_names if known and (family_of(name) or name) not in known]
    if not missing:
        return []
    return [
        f"the policy knows nothing of {_listed(missing)}: its cuts get the coefficient 0 there, and the lower bound "
        "may be too high"
    ]


def _stage_notes(policy: Policy, of_stage: Sequence[int | None], case: Case) -> list[str]:
    notes = []
    without = [
        stage.id for stage, index in zip(case.horizon.stages[:-1], of_stage, strict=False) if index is None
    ]
    if without:
        ids = _listed([str(id) for id in without])
        notes.append(
            f"the policy has no stage that ends with stage {ids}: training starts there without cuts"
        )
    if policy.calendar and policy.calendar[-1][1] > _end(case):
        notes.append(
            f"the policy was trained to {policy.calendar[-1][1]}, the study ends on {_end(case)}: its cuts count "
            "costs after that, and the lower bound may be too high"
        )
    return notes


def _change_notes(changes: str | None) -> list[str]:
    """A note on what is not as it was when the policy was trained."""
    if changes is None:
        return []
    return [f"{changes}. Its cuts may lie above the new future costs, and the lower bound may be too high"]


def changes_since(policy: Policy, case: Case, boundary: str | None = None) -> str | None:
    """What the future costs of ``case`` depend on and is not as it was when ``policy`` was trained.

    ``boundary`` is the digest of what follows the last stage, `NOTHING` if nothing does; None does not compare it.
    None if nothing changed, or the policy does not say what it was trained on.
    """
    now = identity_of(case, boundary)
    parts = PRICED if boundary is not None else [part for part in PRICED if part != "boundary"]
    known = [part for part in parts if part in policy.identity]
    ends = [stage.end_date.isoformat() for stage in case.horizon.stages]
    has_other_stages = bool(policy.calendar) and [date for _, date in policy.calendar] != ends
    if has_other_stages:
        known = [part for part in known if part not in BY_STAGE]
    found = differences(policy.identity, now, known)
    if found and has_other_stages:
        found.append("limits, costs, loads and inflows are given by stage and were not compared")
    return f"the study changed since the policy was trained: {'; '.join(found)}" if found else None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _refuse(message: str, suggestion: str) -> NoReturn:
    raise ValidationError(message, kind="IncompatibleSettings", suggestion=suggestion)
