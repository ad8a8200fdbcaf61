"""Cuts of other runs that training begins with, matched to a case by dates and by the ids of its plants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.digest import digest
from cobre.errors import ValidationError
from cobre.sddp.identity import differences, identity_of
from cobre.sddp.policy import Policy
from cobre.sddp.stage_cuts import StageCuts

SHOWN = 5
"""Names in a message before it is cut short."""
PRICED = ("system", "horizon", "tables", "scenarios", "inflow_non_negativity", "tree_seed", "scenario_source")
"""Parts of a study that its future costs depend on: see `cobre.sddp.identity`."""
BY_STAGE = ("tables", "scenarios")
"""Parts with numbers of every stage: studies with other stages always differ in them."""


@dataclass(frozen=True)
class CutRows:
    """Cuts of one stage in the state of the case: ``rows [cut, 1 + dimension]``, intercept first."""

    rows: NDArray[np.float64]
    active: NDArray[np.bool_]


@dataclass(frozen=True)
class Boundary:
    """What follows the last stage costs: cuts of another study, and the least that it can cost."""

    cuts: CutRows
    floor: float

    @property
    def digest(self) -> str:
        """Tells whether two boundaries are the same to the bit."""
        return digest({"rows": self.cuts.rows, "active": self.cuts.active, "floor": self.floor})


@dataclass(frozen=True)
class Matched:
    """Cuts in the terms of a case, and what the user should know about them."""

    stages: tuple[CutRows | None, ...] = ()
    """One per stage of the case; None where the policy has nothing for it."""
    notes: tuple[str, ...] = ()


def match_policy(policy: Policy, case: Case, state_names: Sequence[str]) -> Matched:
    """The cuts of ``policy`` for the stages of ``case`` that end on the same day, the last stage left out.

    Components of the state are matched by name. One that the policy lacks gets the coefficient 0.
    """
    columns = _columns(policy, state_names)
    of_stage = _stages_by_date(policy, case)
    last = case.horizon.n_stages - 1
    found: list[CutRows | None] = [
        None if index is None or k == last else _rows(policy, policy.stages[index], columns, state_names)
        for k, index in enumerate(of_stage)
    ]
    if not any(cuts is not None and len(cuts.rows) for cuts in found):
        _refuse(
            "no stage of the policy ends on the same day as a stage of the case that has a future",
            "start from a policy whose stages overlap with those of stages.json",
        )
    notes = [
        *_missing_notes(policy, state_names),
        *_stage_notes(policy, of_stage, case),
        *_changes(policy, case),
    ]
    return Matched(tuple(found), tuple(notes))


def match_boundary(
    policy: Policy, case: Case, state_names: Sequence[str], source_stage: int | None, *, is_strict: bool
) -> tuple[Boundary, tuple[str, ...]]:
    """The cuts that ``policy`` has for the day on which ``case`` ends, and what the user should know about them."""
    cuts = policy.stages[_boundary_stage(policy, case, source_stage)]
    if not cuts.active.any():
        _refuse(
            f"the policy has no cut for the end of the study ({_end(case)}): its own study may end there",
            "take the policy of a study that goes on after this one ends",
        )
    columns = _columns(policy, state_names)
    notes = _missing_notes(policy, state_names)
    if is_strict and notes:
        _refuse(
            f"policy.boundary.strict is true, and {notes[0]}", "set strict to false, or take another policy"
        )
    rows = _rows(policy, cuts, columns, state_names)
    return Boundary(rows, cuts.floor), tuple(notes)


def _columns(policy: Policy, state_names: Sequence[str]) -> list[int | None]:
    """For each component of the case's state the one of the policy's, None if it has none."""
    if not policy.state_names:
        if policy.state_dimension != len(state_names):
            _refuse(
                f"the policy names no components of its state and has {policy.state_dimension} of them, the case "
                f"{len(state_names)}",
                "start from a policy of a study with the same plants and the same number of inflow lags",
            )
        return list(range(len(state_names)))
    place = {name: index for index, name in enumerate(policy.state_names)}
    found = [place.get(name) for name in state_names]
    if not any(name.startswith("storage:") and name in place for name in state_names):
        _refuse(
            f"the policy and the case have no reservoir in common: {_listed(policy.state_names)} and "
            f"{_listed(state_names)}",
            "start from a policy of a study with the same plants",
        )
    return found


def _rows(
    policy: Policy, cuts: StageCuts, columns: Sequence[int | None], state_names: Sequence[str]
) -> CutRows:
    known = set(state_names)
    lost = [
        name
        for j, name in enumerate(policy.state_names)
        if name not in known and np.any(cuts.coefficients[:, j] != 0.0)
    ]
    if lost:
        _refuse(
            f"the case has no {_listed(lost)}, and the policy's cuts depend on it",
            "start from a policy of a study with the same plants and no more inflow lags",
        )
    rows = np.zeros((len(cuts.intercepts), 1 + len(state_names)))
    rows[:, 0] = cuts.intercepts
    for j, column in enumerate(columns):
        if column is not None:
            rows[:, 1 + j] = cuts.coefficients[:, column]
    return CutRows(rows, cuts.active.copy())


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
    missing = [name for name in state_names if policy.state_names and name not in policy.state_names]
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


def _changes(policy: Policy, case: Case) -> list[str]:
    """A note on what is not as it was when the policy was trained."""
    changes = changes_since(policy, case)
    if changes is None:
        return []
    return [f"{changes}. Its cuts may lie above the new future costs, and the lower bound may be too high"]


def changes_since(policy: Policy, case: Case) -> str | None:
    """What the future costs of ``case`` depend on and is not as it was when ``policy`` was trained.

    None if nothing changed, or the policy does not say what it was trained on.
    """
    known = [part for part in PRICED if part in policy.identity]
    ends = [stage.end_date.isoformat() for stage in case.horizon.stages]
    has_other_stages = bool(policy.calendar) and [date for _, date in policy.calendar] != ends
    if has_other_stages:
        known = [part for part in known if part not in BY_STAGE]
    found = differences(policy.identity, identity_of(case), known)
    if found and has_other_stages:
        found.append("limits, costs, loads and inflows are given by stage and were not compared")
    return f"the study changed since the policy was trained: {'; '.join(found)}" if found else None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _refuse(message: str, suggestion: str) -> NoReturn:
    raise ValidationError(message, kind="IncompatibleSettings", suggestion=suggestion)
