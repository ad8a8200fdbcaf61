"""The lower bound: the risk of the first stage with all its cuts."""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats
from cobre.comm import Communicator, contiguous_block
from cobre.sddp.risk import risk_of
from cobre.sddp.stage import Bases, StageModel
from cobre.sddp.statistics import gather_rows


class LowerBound:
    """Solves the first stage for all its openings, each rank a block of them.

    Every opening begins from its own basis of the iteration before, so that the split leaves no trace. Cuts of
    the first stage are never dropped: the bound never falls by more than the solver's tolerance.
    """

    def __init__(self, comm: Communicator, model: StageModel, initial_state: Floats) -> None:
        self._comm = comm
        self._model = model
        self._first, n = contiguous_block(model.n_openings, comm.rank, comm.size)
        openings = model.openings[self._first : self._first + n]
        self._parameters = model.parameters(np.repeat(initial_state[np.newaxis, :], n, axis=0), openings)
        self.bases: Bases | None = None
        """Of this rank's openings, as the last evaluation left them."""

    def evaluate(self, iteration: int) -> float:
        """Collective: the bound with the cuts that are there now."""
        costs = np.empty(0)
        if len(self._parameters):
            batch = self._model.solve(
                self._parameters,
                iteration,
                self._first,
                chain_of="opening",
                start_bases=self.bases,
                want_bases=True,
            )
            self.bases, costs = batch.bases, batch.objective
        everyone = gather_rows(self._comm, costs, self._model.n_openings)
        return risk_of(everyone, self._model.risk, self._model.probabilities)


def relative_gap(lower: float, upper: float) -> float:
    """``(upper - lower) / max(1, |upper|)``; negative when a small sample looks cheaper than the bound."""
    return (upper - lower) / max(1.0, abs(upper))
