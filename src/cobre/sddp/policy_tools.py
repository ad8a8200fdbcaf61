"""Looking at policies: their cuts as a table, two of them compared, joined, or cleared of useless cuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.arrays import Floats
from cobre.errors import ValidationError
from cobre.sddp.identity import PRICED, differences
from cobre.sddp.slots import TRANSIT, family_of
from cobre.sddp.stage_cuts import StageCuts, as_numbers, cut_values

if TYPE_CHECKING:
    import pyarrow as pa

    from cobre.sddp.policy import Policy

SHOWN = 5
"""Names in a message before it is cut short."""


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
    points = np.atleast_2d(as_numbers(states))
    if points.ndim != 2 or points.shape[1] != policy.state_dimension:
        raise ValueError(
            f"the states have shape {points.shape}; this policy needs (n, {policy.state_dimension})\n  "
            "fix: pass one row per state: the storages in hm3, then the lagged inflows in m3/s"
        )
    if not len(points):
        raise ValueError("there is no state among the states\n  fix: pass at least one, or leave states out")
    if not np.isfinite(points).all():
        row, j = np.argwhere(~np.isfinite(points))[0].tolist()
        raise ValueError(
            f"states[{row}, {j}] is {points[row, j]}\n  fix: give a finite number for every component"
        )
    return points


def merged_identity(mine: Policy, other: Policy, *, allow_changes: bool) -> dict[str, str]:
    """What both were trained on; raise if that differs, unless ``allow_changes``. Parts that differ are both named."""
    _check_alike(mine, other)
    parts = [part for part in PRICED if part in mine.identity and part in other.identity]
    found = differences(mine.identity, other.identity, parts, is_change=False)
    if found and not allow_changes:
        _refuse(
            found,
            "the policies were trained on studies that differ, so that cuts of one may be wrong in the other",
            "train both on the same study, or join them all the same with merge(other, allow_changes=True)",
        )
    both = {
        part: f"{value} and {other.identity[part]}"
        for part, value in mine.identity.items()
        if other.identity.get(part, value) != value and part.partition(".")[0] in PRICED
    }
    return {**mine.identity, **both}


def _check_alike(mine: Policy, other: Policy) -> None:
    """Raise unless both have the same stages, by the days on which they end, and the same components of the state."""
    if not isinstance(other, type(mine)):
        raise TypeError(
            f"{other!r:.80} is a {type(other).__name__}, not a policy\n  fix: read it with cobre.Policy.load(folder)"
        )
    if found := unlike(mine, other):
        _refuse(
            found,
            "the policies are about different studies",
            "take policies that have the same stages and the same plants",
        )


def unlike(mine: Policy, other: Policy) -> list[str]:
    """In words, what in the stages or the state keeps cuts of one from being cuts of the other."""
    return [*_other_stages(mine, other), *_other_state(mine, other)]


def _other_stages(mine: Policy, other: Policy) -> Iterator[str]:
    """What differs in the stages, in words."""
    if mine.n_stages != other.n_stages:
        yield f"{mine.n_stages} and {other.n_stages} stages"
    elif mine.calendar and other.calendar:
        ends = [(one[1], two[1]) for one, two in zip(mine.calendar, other.calendar, strict=True)]
        unlike = [(k, one, two) for k, (one, two) in enumerate(ends) if one != two]
        if unlike:
            stage, one, two = unlike[0]
            more = f", and {len(unlike) - 1} more end on other days" if len(unlike) > 1 else ""
            yield f"stage {stage} ends on {one} and on {two}{more}"
    if mine.node_ids != other.node_ids:
        yield f"the nodes {_listed(mine.node_ids)} and {_listed(other.node_ids)} of a policy graph"


def _other_state(mine: Policy, other: Policy) -> Iterator[str]:
    """What differs in the components of the state, in words."""
    if mine.state_dimension != other.state_dimension:
        yield f"{mine.state_dimension} and {other.state_dimension} components of the state"
    if not mine.state_names or not other.state_names:
        if mine.state_names != other.state_names:
            yield "only one of them names the components of its state"
        return
    here = [name for name in mine.state_names if name not in other.state_names]
    there = [name for name in other.state_names if name not in mine.state_names]
    if here:
        yield f"only the first one has {_listed(here)}"
    if there:
        yield f"only the second one has {_listed(there)}"
    if not here and not there and mine.state_names != other.state_names:
        yield "the components of the state come in another order"
    if mine.slots and other.slots and mine.slots != other.slots:
        yield "components of the state belong to other intervals of time"


def _listed(names: Sequence[object]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(map(str, names[:SHOWN])) or "none") + more


def _refuse(found: Sequence[str], what: str, suggestion: str) -> NoReturn:
    raise ValidationError(
        f"{what}: {'; '.join(found)}",
        kind="IncompatibleSettings",
        context={"differences": list(found)},
        suggestion=suggestion,
    )
