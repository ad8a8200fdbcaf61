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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.horizon import Stage
from cobre.core.scenarios import GivenOpenings
from cobre.errors import ValidationError
from cobre.stochastic.correlations import Correlator
from cobre.stochastic.groups import noise_sources
from cobre.stochastic.historical import HistoricalWindows
from cobre.stochastic.methods import POINT_METHODS
from cobre.stochastic.openings import OpeningMaker

__all__ = ["SAMPLING_METHODS", "OpeningTree", "TreeLayout", "generate_tree"]

SAMPLING_METHODS = (*POINT_METHODS, "selective", "historical_residuals")
"""What a stage's ``sampling_method`` may be."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeLayout:
    """Where a stage lies in the flat array: ``offsets[t] : offsets[t + 1]``, ``n_openings[t]`` rows.

    Behind the noise of all stages come the probabilities of the openings of those stages whose openings are not equally
    likely: ``weight_offsets[t] : weight_offsets[t + 1]``, empty for the other stages.
    """

    n_openings: NDArray[np.uint32]
    n_entities: int
    offsets: Ints
    weight_offsets: Ints

    @classmethod
    def of(
        cls, stages: Sequence[Stage], n_entities: int, *, given: GivenOpenings | None = None
    ) -> TreeLayout:
        """The layout for these stages, each with its number of openings; ``given`` are those of a given tree."""
        openings = np.array([stage.n_openings for stage in stages], dtype=np.uint32)
        offsets = np.zeros(len(stages) + 1, dtype=np.int64)
        np.cumsum(openings.astype(np.int64) * n_entities, out=offsets[1:])
        weights = np.zeros(len(stages), dtype=np.int64)
        if given is not None:
            if given.probability is not None:
                weights[given.stage[~np.isnan(given.probability)]] = 1
        elif n_entities:
            sources = noise_sources(stages).tolist()
            weights[:] = [stages[source].sampling_method == "selective" for source in sources]
        weight_offsets = np.concatenate(([0], np.cumsum(weights * openings))) + offsets[-1]
        return cls(openings, n_entities, offsets, weight_offsets)

    @property
    def n_stages(self) -> int:
        return len(self.n_openings)

    @property
    def has_weights(self) -> bool:
        """Whether the openings of some stage are not equally likely."""
        return bool(self.weight_offsets[-1] > self.weight_offsets[0])

    @property
    def size(self) -> int:
        """How many float64 numbers the tree has."""
        return int(self.weight_offsets[-1])


@dataclass(frozen=True, slots=True, eq=False)
class OpeningTree:
    """Noise by stage, opening and entity. ``values`` is the flat array, which the tree does not own."""

    layout: TreeLayout
    values: Floats

    def __post_init__(self) -> None:
        if self.values.shape != (self.layout.size,) or self.values.dtype != np.float64:
            raise ValueError(
                f"the tree needs {self.layout.size} float64 numbers in one dimension, "
                f"not {self.values.dtype} of shape {self.values.shape}"
            )

    def stage(self, stage: int) -> Floats:
        """The openings of the stage at this index: a view of shape (openings, entities)."""
        first, last = self.layout.offsets[stage], self.layout.offsets[stage + 1]
        return self.values[first:last].reshape(int(self.layout.n_openings[stage]), self.layout.n_entities)

    def weights(self, stage: int) -> Floats | None:
        """The probabilities of the openings of the stage at this index, a view; None where they are all equal."""
        first, last = self.layout.weight_offsets[stage], self.layout.weight_offsets[stage + 1]
        return self.values[first:last] if last > first else None

    def all_weights(self) -> dict[int, Floats]:
        """The probabilities of openings by stage index, of those stages where they are not all equal."""
        found = {t: self.weights(t) for t in range(self.layout.n_stages)}
        return {t: weights for t, weights in found.items() if weights is not None}


def generate_tree(
    seed: int,
    stages: Sequence[Stage],
    n_entities: int,
    correlator: Correlator | None = None,
    *,
    windows: HistoricalWindows | None = None,
    out: Floats | None = None,
    block: range | None = None,
) -> OpeningTree:
    """The tree of a study; with ``block`` only those stages of ``out`` are written.

    ``seed`` is the study's ``tree_seed``. ``windows`` are for stages with ``historical_residuals``. ``out`` is a flat,
    contiguous array of `TreeLayout.size` numbers; without it one is allocated.
    """
    _check_stages(stages, windows)
    layout = TreeLayout.of(stages, n_entities)
    tree = OpeningTree(layout, np.empty(layout.size) if out is None else out)
    sources = noise_sources(stages)
    maker = OpeningMaker(abs(seed), stages, n_entities, correlator, windows)
    made: tuple[int, Floats, Floats | None] = (-1, np.empty((0, n_entities)), None)
    for index in range(len(stages)) if block is None else block:
        source = int(sources[index])
        if made[0] != source:
            # A source before the block is made again: the rank that owns it may not have written it yet.
            made = (source, *maker.make(source))
        target, weights = tree.stage(index), tree.weights(index)
        target[:] = made[1][: len(target)]
        if weights is not None:
            weights[:] = made[2]
    return tree


def _check_stages(stages: Sequence[Stage], windows: HistoricalWindows | None) -> None:
    for stage in stages:
        if stage.n_openings < 1:
            raise ValidationError(
                f"stage {stage.id} has {stage.n_openings} openings",
                kind="OutOfRange",
                context={"stage_id": stage.id, "num_scenarios": stage.n_openings},
                suggestion="give the stage 1 opening or more",
            )
        method = stage.sampling_method
        if method not in SAMPLING_METHODS:
            raise ValidationError(
                f"stage {stage.id} has the sampling method {method!r}: there is none of that name",
                kind="InvalidEnum",
                context={"stage_id": stage.id, "sampling_method": method},
                suggestion=f"use {', '.join(SAMPLING_METHODS)}",
            )
        if method == "historical_residuals" and windows is None:
            raise ValidationError(
                f"stage {stage.id} has the sampling method {method!r}, but there is no inflow history",
                kind="MissingFile",
                context={"stage_id": stage.id, "sampling_method": method},
                suggestion="give scenarios/inflow_history.parquet, or the openings in scenarios/noise_openings.parquet",
            )
