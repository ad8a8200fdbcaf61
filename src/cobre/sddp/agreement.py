"""A few numbers that all ranks add up, so that every rank decides the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cobre.comm import Communicator, ReduceOp


def agree(comm: Communicator, mine: Mapping[str, float]) -> dict[str, float]:
    """Collective: for each name the sum over all ranks; every rank passes the same names in the same order.

    What only one rank knows arrives unchanged if the others pass 0.
    """
    given = np.array(list(mine.values()), dtype=np.float64)
    total = np.empty_like(given)
    comm.allreduce(given, total, ReduceOp.SUM)
    return dict(zip(mine, total.tolist(), strict=True))
