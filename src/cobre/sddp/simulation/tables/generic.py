"""Violations of generic constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.simulation.outcome import StageOutcome


def violation_rows(outcome: StageOutcome) -> dict[str, NDArray[np.generic]]:
    """One row per constraint and block that has a bound in this stage, kept or not."""
    view, columns = outcome.view, outcome.view.problem.columns.constraint
    constraints = view.scope.system.generic_constraints
    above, below = outcome.values(columns.above), outcome.values(columns.below)
    table = view.scope.tables.constraint
    mine = table.stage == view.scope.index
    is_two_sided = np.isfinite(table.lower[mine]) & np.isfinite(table.upper[mine])
    return {
        "block_id": np.where(columns.block < 0, np.nan, columns.block),
        "constraint_id": np.array([constraints[c].id for c in columns.constraint], dtype=np.int32),
        "slack_value": np.where(is_two_sided, below - above, above + below),
        "slack_cost": outcome.charges(columns.above) + outcome.charges(columns.below),
    }
