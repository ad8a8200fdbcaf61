"""The opening tree that a study brings along."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Stage
from cobre.core.scenarios import GivenOpenings
from cobre.errors import ValidationError
from cobre.stochastic.trees import OpeningTree, TreeLayout

__all__ = ["tree_from_rows"]

_FILE = "scenarios/noise_openings.parquet"


def tree_from_rows(
    given: GivenOpenings, stages: Sequence[Stage], n_entities: int, *, out: NDArray[np.float64] | None = None
) -> OpeningTree:
    """The tree a study brings along (``noise_openings``), rows in any order.

    Every stage, opening and entity must be there exactly once. The values are used as they are: they are
    correlated already, and stages share no noise.
    """
    layout = TreeLayout.of(stages, n_entities, is_given=True)
    places = _checked_places(given, stages, layout)
    tree = OpeningTree(layout, np.empty(layout.size) if out is None else out)
    tree.values[places] = given.value
    return tree


def _checked_places(given: GivenOpenings, stages: Sequence[Stage], layout: TreeLayout) -> NDArray[np.int64]:
    """Where in the flat array each row goes."""

    def refuse(wrong: NDArray[np.bool_], kind: str, what: str, fix: str) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
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

    refuse(
        (given.stage < 0) | (given.stage >= len(stages)),
        "MissingReference",
        "there is no such stage",
        "use ids of stages.json",
    )
    refuse(
        (given.opening < 0) | (given.opening >= layout.n_openings[given.stage]),
        "OutOfRange",
        "the stage has no such opening",
        "count openings from 0 and give as many as num_scenarios of the stage",
    )
    refuse(
        (given.entity < 0) | (given.entity >= layout.n_entities),
        "OutOfRange",
        f"only {layout.n_entities} entities have noise",
        "count hydros by id, then buses with std_mw > 0 by id, then non-controllable sources with statistics by id",
    )
    refuse(~np.isfinite(given.value), "OutOfRange", "the value is not finite", "give a finite number")
    places = layout.offsets[given.stage] + given.opening * layout.n_entities + given.entity
    count = np.bincount(places, minlength=layout.size)
    refuse(count[places] > 1, "DuplicateId", "there is more than one value", "keep one of the rows")
    missing = np.flatnonzero(count == 0)
    if len(missing):
        stage = int(np.searchsorted(layout.offsets, missing[0], side="right")) - 1
        opening, entity = divmod(int(missing[0] - layout.offsets[stage]), layout.n_entities)
        raise ValidationError(
            f"noise_openings has no value for stage {stages[stage].id}, opening {opening}, entity {entity}; "
            f"{len(missing)} of {layout.size} values are missing",
            kind="CoverageMismatch",
            context={"file": _FILE, "stage_id": stages[stage].id, "missing": len(missing)},
            suggestion="give every stage, opening and entity once, or remove the file to have the tree generated",
        )
    return places
