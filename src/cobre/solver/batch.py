"""`BatchOutput`: where a batch of solves writes; `BatchOutcome`: how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats

__all__ = ["COUNTED", "LAST_BASIS_STATUS", "NO_BASIS", "BatchOutcome", "BatchOutput", "Status"]


NO_BASIS = 255
"""A start basis whose first byte is this says: begin from the slack basis."""
LAST_BASIS_STATUS = 4
"""The greatest byte of any other basis."""


COUNTED = (
    "solves",
    "chains",
    "iterations",
    "retries",
    "run_ns",
    "cuts_ns",
    "patch_ns",
    "basis_ns",
    *(f"recovered_{attempt}" for attempt in range(2, 8)),
)
"""Of the counters of a solver, what `count_all` gives."""


class Status(StrEnum):
    """How a batch ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"
    """Numerical trouble that no attempt overcame."""
    OUT_OF_TIME = "out_of_time"
    """The time for retries ran out before one succeeded."""


@dataclass(slots=True)
class BatchOutcome:
    """``status`` is that of the solve ``index``, at which the batch stopped; ``index`` counts all when optimal."""

    status: Status
    index: int
    attempts: int

    @property
    def is_optimal(self) -> bool:
        return self.status is Status.OPTIMAL


@dataclass(slots=True, eq=False)
class BatchOutput:
    """Arrays for ``n`` solves in the caller's units; those that are ``None`` are not written.

    A dual is the derivative of the objective by the right-hand side of its row: the cost of asking for one unit
    more. A reduced cost is the derivative by the value of a nonbasic column.
    """

    objective: Floats
    """``[n]``, the sum of ``cost * value`` in column order."""
    observed_primal: Floats
    """``[n, len(observed_columns)]``"""
    observed_dual: Floats
    """``[n, len(observed_rows)]``"""
    iterations: NDArray[np.int32] | None = None
    """``[n]``, of the simplex method"""
    bases: NDArray[np.uint8] | None = None
    """``[n / chain_length, basis_size]``"""
    cut_dual: Floats | None = None
    """``[n, n_slots]``, never negative beyond the tolerance; 0 for cuts that are not in the program."""
    primal: Floats | None = None
    """``[n, n_columns]``"""
    dual: Floats | None = None
    """``[n, n_rows]``"""
    reduced_cost: Floats | None = None
    """``[n, n_columns]``"""
