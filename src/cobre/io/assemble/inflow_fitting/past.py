"""Inflows before the study that ``initial_conditions.json`` does not give, where the history has them."""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from cobre.core.horizon import Horizon
from cobre.io.assemble.system import entity_indices
from cobre.io.read.files import CaseFiles, PastInflows
from cobre.stochastic.fitting import InflowFit
from cobre.stochastic.periods import season_year

__all__ = ["complete_past_inflows"]


def complete_past_inflows(files: CaseFiles, fit: InflowFit, horizon: Horizon, n_lags: int) -> None:
    """Lengthen ``past_inflows`` up to ``n_lags`` by observed seasons, as far back as there is one without a gap.

    Given values stay: lag l is the l-th season before that of the first stage, whichever file gives its inflow.
    """
    first = horizon.stages[0]
    found, year = fit.place(first.season_id), season_year(first, horizon.season_definitions)
    if found is None or year is None:
        return
    level, position = found
    seen, n_seasons = level.observations, level.level.n_seasons
    start = (year - seen.first_year) * n_seasons + position
    given = {entry.hydro_id: entry for entry in files.past_inflows}
    for hydro_id, index in entity_indices(files)["hydro"].items():
        entry = given.get(hydro_id, PastInflows(hydro_id, ()))
        places = [start - lag for lag in range(len(entry.values_m3s) + 1, n_lags + 1)]
        series = seen.series[index]
        values = (series[place] if 0 <= place < len(series) else np.nan for place in places)
        observed = [float(value) for value in takewhile(np.isfinite, values)]
        if observed:
            longer = (*entry.values_m3s, *observed)
            given[hydro_id] = PastInflows(hydro_id, longer)
    files.past_inflows = tuple(given.values())
