"""Makes the openings of one stage of the tree by its sampling method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre._native import noise
from cobre.arrays import Floats
from cobre.core.horizon import Stage
from cobre.stochastic.correlations import Correlator
from cobre.stochastic.historical import HistoricalWindows
from cobre.stochastic.methods import POINT_METHODS, sample_points
from cobre.stochastic.seeds import opening_seed, stage_seed

__all__ = ["SAMPLE_PER_OPENING", "OpeningMaker"]

SAMPLE_PER_OPENING = 100
"""``selective`` reduces a sample of this many draws per opening to the openings."""


@dataclass(frozen=True, slots=True)
class OpeningMaker:
    """Makes the openings of a stage and, where they differ, their probabilities."""

    seed: int
    stages: Sequence[Stage]
    n_entities: int
    correlator: Correlator | None
    windows: HistoricalWindows | None

    def make(self, index: int) -> tuple[Floats, Floats | None]:
        """Noise (openings, entities) of the stage at this index, and probabilities if they are not all equal."""
        stage = self.stages[index]
        if stage.sampling_method == "selective" and self.n_entities:
            return self._reduce(index)
        method = stage.sampling_method
        rows = self._points(index, method if method in POINT_METHODS else "saa", stage.n_openings)
        if method == "historical_residuals" and self.windows is not None:
            n = self.windows.n_windows
            chosen = [opening_seed(self.seed, o, stage.id) % n for o in range(stage.n_openings)]
            rows[:, : self.windows.eta.shape[2]] = self.windows.eta[chosen, index]
        return rows, None

    def _points(self, index: int, method: str, n_rows: int) -> Floats:
        rows = np.empty((n_rows, self.n_entities))
        sample_points(method, self.seed, self.stages[index].id, rows)
        if self.correlator is not None:
            self.correlator.apply(index, rows)
        return rows

    def _reduce(self, index: int) -> tuple[Floats, Floats]:
        """The openings that k-means finds in a large sample, and the share of the sample that each stands for."""
        stage = self.stages[index]
        sample = self._points(index, "saa", SAMPLE_PER_OPENING * stage.n_openings)
        members = np.empty(stage.n_openings, dtype=np.uint32)
        shares = np.empty(stage.n_openings)
        noise.reduce(stage_seed(self.seed, stage.id), sample, members, shares)
        return sample[members], shares
