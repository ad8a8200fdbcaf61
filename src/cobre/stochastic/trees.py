"""The opening tree: the noise of every opening of every stage, fixed before training.

One flat array of float64, stage after stage, opening after opening, entity after entity, so that it can live in a
shared region that several processes fill together::

    layout = TreeLayout.of(stages, n_entities)
    region = ...                                          # layout.size float64 numbers
    first, count = contiguous_block(len(stages), rank, size)
    generate_tree(seed, stages, n_entities, correlator, out=region, block=range(first, first + count))

What a stage gets depends on the seed, its id and its noise group alone, so any split gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre._native import noise
from cobre.core.horizon import Stage
from cobre.core.scenarios import GivenOpenings
from cobre.errors import ValidationError
from cobre.stochastic.correlations import Correlator
from cobre.stochastic.groups import noise_sources

__all__ = ["SAMPLING_METHODS", "OpeningTree", "TreeLayout", "generate_tree", "tree_from_rows"]

_SAMPLERS: dict[str, Callable[[int, int, NDArray[np.float64]], None]] = {
    "saa": noise.sample_saa,
    "lhs": noise.sample_lhs,
}

SAMPLING_METHODS = tuple(_SAMPLERS)
"""What a stage's ``sampling_method`` may be: independent draws, or a Latin hypercube per stage."""

_FILE = "scenarios/noise_openings.parquet"
_WITHOUT_A_GENERATOR = {
    "qmc_sobol": "Sobol points are not available yet",
    "qmc_halton": "Halton points are not available yet",
    "selective": "selective sampling takes its openings from a given tree",
    "historical_residuals": "residuals of the history are not available yet",
}


@dataclass(frozen=True, slots=True, eq=False)
class TreeLayout:
    """Where a stage lies in the flat array: ``offsets[t] : offsets[t + 1]``, ``n_openings[t]`` rows."""

    n_openings: NDArray[np.uint32]
    n_entities: int
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, stages: Sequence[Stage], n_entities: int) -> TreeLayout:
        """The layout for these stages, each with its number of openings."""
        openings = np.array([stage.n_openings for stage in stages], dtype=np.uint32)
        offsets = np.zeros(len(stages) + 1, dtype=np.int64)
        np.cumsum(openings.astype(np.int64) * n_entities, out=offsets[1:])
        return cls(openings, n_entities, offsets)

    @property
    def n_stages(self) -> int:
        return len(self.n_openings)

    @property
    def size(self) -> int:
        """How many float64 numbers the tree has."""
        return int(self.offsets[-1])


@dataclass(frozen=True, slots=True, eq=False)
class OpeningTree:
    """Noise by stage, opening and entity. ``values`` is the flat array, which the tree does not own."""

    layout: TreeLayout
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.values.shape != (self.layout.size,) or self.values.dtype != np.float64:
            raise ValueError(
                f"the tree needs {self.layout.size} float64 numbers in one dimension, "
                f"not {self.values.dtype} of shape {self.values.shape}"
            )

    def stage(self, stage: int) -> NDArray[np.float64]:
        """The openings of the stage at this index: a view of shape (openings, entities)."""
        first, last = self.layout.offsets[stage], self.layout.offsets[stage + 1]
        return self.values[first:last].reshape(int(self.layout.n_openings[stage]), self.layout.n_entities)


def generate_tree(
    seed: int,
    stages: Sequence[Stage],
    n_entities: int,
    correlator: Correlator | None = None,
    *,
    out: NDArray[np.float64] | None = None,
    block: range | None = None,
) -> OpeningTree:
    """The tree of a study; with ``block`` only those stages of ``out`` are written.

    ``seed`` is the study's ``tree_seed``. ``out`` is a flat, contiguous array of `TreeLayout.size` numbers; without
    it one is allocated.
    """
    _check_stages(stages)
    layout = TreeLayout.of(stages, n_entities)
    tree = OpeningTree(layout, np.empty(layout.size) if out is None else out)
    sources = noise_sources(stages)
    made: tuple[int, NDArray[np.float64]] = (-1, np.empty((0, 0)))
    for index in range(len(stages)) if block is None else block:
        target, source = tree.stage(index), int(sources[index])
        if made[0] == source:
            target[:] = made[1][: len(target)]
            continue
        origin = stages[source]
        # A source before the block is made again: whoever owns it may not have written it yet.
        rows = target if source == index else np.empty((origin.n_openings, n_entities))
        _SAMPLERS[origin.sampling_method](abs(seed), origin.id, rows)
        if correlator is not None:
            correlator.apply(source, rows)
        if source != index:
            target[:] = rows[: len(target)]
        made = (source, rows)
    return tree


def tree_from_rows(
    given: GivenOpenings, stages: Sequence[Stage], n_entities: int, *, out: NDArray[np.float64] | None = None
) -> OpeningTree:
    """The tree a study brings along (``noise_openings``), rows in any order.

    Every stage, opening and entity must be there exactly once. The values are used as they are: they are
    correlated already, and stages share no noise.
    """
    layout = TreeLayout.of(stages, n_entities)
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
            suggestion="give every stage, opening and entity once",
        )
    return places


def _check_stages(stages: Sequence[Stage]) -> None:
    for stage in stages:
        if stage.n_openings < 1:
            raise ValidationError(
                f"stage {stage.id} has {stage.n_openings} openings",
                kind="OutOfRange",
                context={"stage_id": stage.id, "num_scenarios": stage.n_openings},
                suggestion="set num_scenarios to 1 or more",
            )
        method = stage.sampling_method
        if method in _SAMPLERS:
            continue
        reason = _WITHOUT_A_GENERATOR.get(method)
        raise ValidationError(
            f"stage {stage.id} has the sampling method {method!r}: {reason or 'there is none of that name'}",
            kind="IncompatibleSettings" if reason else "InvalidEnum",
            context={"stage_id": stage.id, "sampling_method": method},
            suggestion="give the openings in scenarios/noise_openings.parquet"
            if reason
            else f"use {' or '.join(SAMPLING_METHODS)}",
        )
