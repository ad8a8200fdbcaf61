"""Details of a run while it trains: cuts of a stage, and the paths of its trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cobre.errors import CobreError
from cobre.sddp.forward import Trajectories
from cobre.sddp.stage import StageModel

NEWEST_CUTS = 50
MOST_PATHS = 20
"""An answer stays small: a person reads it."""


def newest_cuts(models: Sequence[StageModel], state_names: Sequence[str], stage: int) -> dict[str, Any]:
    """The newest cuts of ``stage`` (from 0 on), newest first."""
    if stage >= len(models):
        raise CobreError(
            f"there is no stage {stage}",
            kind="IncompatibleSettings",
            context={"stage": stage},
            suggestion=f"choose a stage from 0 to {len(models) - 1}",
        )
    pool = models[stage].cuts()
    shown = range(pool.size - 1, max(-1, pool.size - 1 - NEWEST_CUTS), -1)
    return {
        "stage": stage,
        "state_names": list(state_names),
        "total": pool.size,
        "active": int(np.count_nonzero(pool.active)),
        "cuts": [
            {
                "number": k,
                "iteration": int(pool.iterations[k]),
                "is_active": bool(pool.active[k]),
                "intercept": float(pool.intercepts[k]),
                "coefficients": [float(value) for value in pool.coefficients[k]],
            }
            for k in shown
        ],
    }


def paths_of(trajectories: Trajectories | None, storages: int) -> dict[str, Any]:
    """Cost and stored volume by stage of the first trajectories of this rank's newest iteration."""
    if trajectories is None:
        return {"paths": []}
    n = min(MOST_PATHS, len(trajectories))
    stored = [states[:, :storages].sum(axis=1) for states in trajectories.states]
    paths = []
    for k in range(n):
        visits = trajectories.visits_of(k)
        volumes = [float(stored[step][visit]) for step, visit in enumerate(visits)]
        scenario = trajectories.first_scenario + k
        paths.append({"scenario": scenario, "cost": float(trajectories.costs[k]), "storage_hm3": volumes})
    return {"paths": paths}
