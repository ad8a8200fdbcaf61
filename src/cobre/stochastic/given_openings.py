"""The opening tree that a study brings along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.horizon import Stage
from cobre.core.scenarios import GivenOpenings
from cobre.errors import ValidationError
from cobre.stochastic.trees import OpeningTree, TreeLayout

__all__ = ["tree_from_rows"]

_FILE = "scenarios/noise_openings.parquet"
MOST_ROUNDING = 1e-9
"""How far the sum of probabilities may be from 1."""


def tree_from_rows(
    given: GivenOpenings, stages: Sequence[Stage], n_entities: int, *, out: Floats | None = None
) -> OpeningTree:
    """The tree a study brings along (``noise_openings``), rows in any order.

    Every stage, opening and entity must be there exactly once. The values are used as they are: they are
    correlated already, and stages share no noise.
    """
    if len(outside := np.flatnonzero((given.stage < 0) | (given.stage >= len(stages)))):
        row = int(outside[0])
        _refuse(given, stages, row, "MissingReference", "there is no such stage", "use ids of stages.json")
    layout = TreeLayout.of(stages, n_entities, given=given)
    places = _checked_places(given, stages, layout)
    tree = OpeningTree(layout, np.empty(layout.size) if out is None else out)
    tree.values[places] = given.value
    if given.probability is not None:
        _set_weights(tree, given, given.probability, stages)
    return tree


def _set_weights(
    tree: OpeningTree, given: GivenOpenings, probability: Floats, stages: Sequence[Stage]
) -> None:
    """Put the probabilities of openings in their place; every row of an opening must have the same."""
    for stage, weights in tree.all_weights().items():
        rows = np.flatnonzero(given.stage == stage)
        weights[given.opening[rows]] = probability[rows]
        differs = probability[rows] != weights[given.opening[rows]]  # NaN differs, too
        if differs.any():
            row = int(rows[np.argmax(differs)])
            what = "its probability is missing, or another than that of other entities of the opening"
            fix = "give every row of the stage the probability of its opening, or none"
            _refuse(given, stages, row, "CoverageMismatch", what, fix)
        total = float(np.add.accumulate(weights)[-1])
        if abs(total - 1.0) > MOST_ROUNDING:
            what = f"the probabilities of the openings of its stage add up to {total:.10g}"
            _refuse(given, stages, int(rows[0]), "OutOfRange", what, "let them add up to 1")


def _refuse(
    given: GivenOpenings, stages: Sequence[Stage], row: int, kind: str, what: str, fix: str
) -> NoReturn:
    stage = int(given.stage[row])
    stage_id = stages[stage].id if 0 <= stage < len(stages) else stage
    opening, entity = int(given.opening[row]), int(given.entity[row])
    raise ValidationError(
        f"noise_openings, stage {stage_id}, opening {opening}, entity {entity}: {what}",
        kind=kind,
        context={
            "file": _FILE,
            "stage_id": stage_id,
            "opening_index": opening,
            "entity_index": entity,
        },
        suggestion=fix,
    )


def _checked_places(given: GivenOpenings, stages: Sequence[Stage], layout: TreeLayout) -> Ints:
    """Where in the flat array each row goes."""

    def refuse(wrong: NDArray[np.bool_], kind: str, what: str, fix: str) -> None:
        if wrong.any():
            _refuse(given, stages, int(np.argmax(wrong)), kind, what, fix)

    refuse(
        (given.opening < 0) | (given.opening >= layout.n_openings[given.stage]),
        "OutOfRange",
        "the stage has no such opening",
        "count openings from 0 and give as many as the stage has",
    )
    refuse(
        (given.entity < 0) | (given.entity >= layout.n_entities),
        "OutOfRange",
        f"only {layout.n_entities} entities have noise",
        "count hydros by id, then buses with std_mw > 0 by id, then non-controllable sources with statistics by id",
    )
    refuse(~np.isfinite(given.value), "OutOfRange", "the value is not finite", "give a finite number")
    places = layout.offsets[given.stage] + given.opening * layout.n_entities + given.entity
    size = int(layout.offsets[-1])
    count = np.bincount(places, minlength=size)
    refuse(count[places] > 1, "DuplicateId", "there is more than one value", "keep one of the rows")
    missing = np.flatnonzero(count == 0)
    if len(missing):
        stage = int(np.searchsorted(layout.offsets, missing[0], side="right")) - 1
        opening, entity = divmod(int(missing[0] - layout.offsets[stage]), layout.n_entities)
        raise ValidationError(
            f"noise_openings has no value for stage {stages[stage].id}, opening {opening}, entity {entity}; "
            f"{len(missing)} of {size} values are missing",
            kind="CoverageMismatch",
            context={"file": _FILE, "stage_id": stages[stage].id, "missing": len(missing)},
            suggestion="give every stage, opening and entity once, or remove the file to have the tree generated",
        )
    return places
