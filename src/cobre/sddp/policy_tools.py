"""Looking at policies: their cuts as a table, two of them compared, joined, or cleared of useless cuts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.errors import ValidationError
from cobre.sddp.slots import TRANSIT, family_of
from cobre.sddp.stage_cuts import StageCuts, cut_values

if TYPE_CHECKING:
    import pyarrow as pa

    from cobre.sddp.policy import Policy

Floats = NDArray[np.float64]


def cut_table(policy: Policy, *, names: bool = False) -> pa.Table:
    """All cuts: stage, slot, active, intercept, and one column per component of the state.

    With ``names`` these columns have the name of the plant in place of its id.
    """
    import pyarrow as pa

    counts = [len(cuts.intercepts) for cuts in policy.stages]
    stage_ids = [entry[0] for entry in policy.calendar] or list(range(policy.n_stages))
    coefficients = np.concatenate([cuts.coefficients for cuts in policy.stages])
    columns = {
        "stage": np.repeat(np.arange(policy.n_stages, dtype=np.int32), counts),
        "stage_id": np.repeat(np.array(stage_ids, dtype=np.int32), counts),
        **(
            {"node_id": np.repeat(np.array(policy.node_ids, dtype=np.int32), counts)}
            if policy.node_ids
            else {}
        ),
        "slot": np.concatenate([np.arange(count, dtype=np.int32) for count in counts]),
        "active": np.concatenate([cuts.active for cuts in policy.stages]),
        "intercept": np.concatenate([cuts.intercepts for cuts in policy.stages]),
    }
    labels = _labels(policy) if names else policy.component_names
    arrays = [np.ascontiguousarray(coefficients[:, j]) for j in range(policy.state_dimension)]
    return pa.table([*columns.values(), *arrays], names=[*columns, *labels])


def _labels(policy: Policy) -> list[str]:
    """Of the components: ``storage:`` and the name of the plant, and its id where two plants have the same name.

    Names are those of hydros: a commitment keeps the id of its thermal.
    """
    taken = Counter(policy.plants.values())
    found = []
    for component in policy.component_names:
        kind, _, number = component.partition(":")
        is_hydro = family_of(component) is None or component.startswith(TRANSIT)
        name = policy.plants.get(int(number), number) if is_hydro else number
        found.append(f"{kind}:{name}" if taken[name] <= 1 else f"{kind}:{name} ({number})")
    return found


def compare_policies(mine: Policy, other: Policy, states: ArrayLike | None) -> pa.Table:
    """See `Policy.compare`."""
    import pyarrow as pa

    _check_alike(mine, other)
    points = None if states is None else _points(mine, states)
    rows = []
    for stage, (ours, theirs) in enumerate(zip(mine.stages, other.stages, strict=True)):
        here, there = _active_rows(ours), _active_rows(theirs)
        row: dict[str, float] = {
            "stage": stage,
            "in_both": len(here & there),
            "only_here": len(here - there),
            "only_there": len(there - here),
        }
        if points is not None:
            difference = _envelope(ours, points) - _envelope(theirs, points)
            row |= {"least_difference": difference.min(), "greatest_difference": difference.max()}
        rows.append(row)
    return pa.Table.from_pylist(rows)


def merged(mine: Policy, other: Policy) -> tuple[StageCuts, ...]:
    """The cuts of ``mine``, then those of ``other`` that are not among them; active if they are in one of the two."""
    _check_alike(mine, other)
    return tuple(_joined(ours, theirs) for ours, theirs in zip(mine.stages, other.stages, strict=True))


def _joined(ours: StageCuts, theirs: StageCuts) -> StageCuts:
    """Both; without a start basis unless it is ``ours`` to the last slot, which a basis refers to."""
    slot_of = {key: slot for slot, key in enumerate(_keys(ours))}
    slots = [slot_of.get(key) for key in _keys(theirs)]
    active = ours.active.copy()
    for slot, is_active in zip(slots, theirs.active.tolist(), strict=True):
        if slot is not None and is_active:
            active[slot] = True
    is_new = np.array([slot is None for slot in slots], dtype=np.bool_)
    is_ours = not is_new.any() and np.array_equal(active, ours.active)
    return StageCuts(
        np.concatenate([ours.intercepts, theirs.intercepts[is_new]]),
        np.concatenate([ours.coefficients, theirs.coefficients[is_new]]),
        np.concatenate([active, theirs.active[is_new]]),
        min(ours.floor, theirs.floor),
        ours.basis if is_ours else ours.basis[:0],
    )


def pruned(policy: Policy, states: ArrayLike | None) -> tuple[StageCuts, ...]:
    """See `Policy.prune`. Start bases refer to slots and are left out: solves then begin without one."""
    points = None if states is None else _points(policy, states)
    return tuple(_pruned(cuts, points) for cuts in policy.stages)


def _pruned(cuts: StageCuts, points: Floats | None) -> StageCuts:
    keep = cuts.active & ~_covered(cuts)
    if points is not None and keep.any():
        values = cut_values(cuts, points)
        values[~keep] = -np.inf
        is_best = np.zeros(len(keep), dtype=np.bool_)
        is_best[np.argmax(values, axis=0)] = True
        keep &= is_best
    return StageCuts(
        cuts.intercepts[keep], cuts.coefficients[keep], np.ones(int(keep.sum()), dtype=np.bool_), cuts.floor
    )


def _covered(cuts: StageCuts) -> NDArray[np.bool_]:
    """Cuts with the slopes of another one that is higher, or equal and earlier."""
    best: dict[bytes, int] = {}
    covered = np.zeros(len(cuts.intercepts), dtype=np.bool_)
    for slot in np.flatnonzero(cuts.active).tolist():
        key = cuts.coefficients[slot].tobytes()
        before = best.get(key)
        if before is None:
            best[key] = slot
        elif cuts.intercepts[slot] > cuts.intercepts[before]:
            covered[before], best[key] = True, slot
        else:
            covered[slot] = True
    return covered


def _envelope(cuts: StageCuts, points: Floats) -> Floats:
    """``[point]``: the highest active cut, at least the floor."""
    if not cuts.active.any():
        return np.full(len(points), cuts.floor)
    highest: Floats = np.maximum(cut_values(cuts, points)[cuts.active].max(axis=0), cuts.floor)
    return highest


def _keys(cuts: StageCuts) -> list[bytes]:
    rows = np.concatenate([cuts.intercepts[:, np.newaxis], cuts.coefficients], axis=1)
    return [row.tobytes() for row in rows]


def _active_rows(cuts: StageCuts) -> set[bytes]:
    return {key for key, active in zip(_keys(cuts), cuts.active.tolist(), strict=True) if active}


def _points(policy: Policy, states: ArrayLike) -> Floats:
    points = np.atleast_2d(np.asarray(states, dtype=np.float64))
    if points.ndim != 2 or points.shape[1] != policy.state_dimension:
        raise ValueError(
            f"the states have shape {points.shape}; this policy needs (n, {policy.state_dimension})\n  "
            "fix: pass one row per state: the storages in hm3, then the lagged inflows in m3/s"
        )
    return points


def _check_alike(mine: Policy, other: Policy) -> None:
    """Raise unless both have the same stages, by the days on which they end, and the same components of the state."""
    if not isinstance(other, type(mine)):
        raise TypeError(
            f"{other!r:.80} is a {type(other).__name__}, not a policy\n  fix: read it with cobre.Policy.load(folder)"
        )
    has_dates = bool(mine.calendar) and bool(other.calendar)
    ends = [[date for _, date in policy.calendar] if has_dates else [] for policy in (mine, other)]
    is_same_graph = mine.node_ids == other.node_ids
    is_same_state = mine.n_stages == other.n_stages and mine.state_names == other.state_names
    if is_same_graph and is_same_state and ends[0] == ends[1]:
        return
    words = (
        f"{mine.state_dimension} and {other.state_dimension} components of the state, "
        f"{mine.n_stages} and {other.n_stages} stages"
    )
    if has_dates:
        words += f" that end on {ends[0][0]} to {ends[0][-1]} and on {ends[1][0]} to {ends[1][-1]}"
    raise ValidationError(
        f"the policies are about different studies: {words}",
        kind="IncompatibleSettings",
        context={"stages": [mine.n_stages, other.n_stages]},
        suggestion="take policies that have the same stages and the same plants",
    )
