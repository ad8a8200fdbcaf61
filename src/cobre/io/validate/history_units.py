"""Whether the history is in m³/s: what its flows are compared with, from all over the case."""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.history_dates import hydros_by_index
from cobre.io.validate.history_reports import report_finding
from cobre.stochastic.fitting import InflowFit
from cobre.stochastic.fitting.units import Surroundings, check_units

__all__ = ["report_units"]


def report_units(files: CaseFiles, fit: InflowFit, problems: Problems) -> None:
    """Flows that look a thousand times too large or too small."""
    hydros = hydros_by_index(files)
    capacity = np.array([float(hydro.generation.max_turbined_m3s) for hydro in hydros])
    around = Surroundings(capacity, _recent(files), _sources(files))
    for finding in check_units(fit.levels[0].observations, around):
        report_finding(files, finding, problems)


def _recent(files: CaseFiles) -> Floats:
    """Mean inflow (hydros) of what the case gives about the time before the study; NaN where it gives nothing."""
    index = entity_indices(files)["hydro"]
    total, weight = np.zeros(len(index)), np.zeros(len(index))
    for past in files.past_inflows:
        if past.hydro_id in index:
            total[index[past.hydro_id]] += sum(past.values_m3s)
            weight[index[past.hydro_id]] += len(past.values_m3s)
    if not weight.any():
        for each in files.initial_conditions.recent_observations:
            days = max(0, (each.end_date - each.start_date).days)
            if each.hydro_id in index:
                total[index[each.hydro_id]] += days * each.value_m3s
                weight[index[each.hydro_id]] += days
    mean = np.full(len(index), np.nan)
    np.divide(total, weight, out=mean, where=weight > 0.0)
    return mean


def _sources(files: CaseFiles) -> list[set[int] | None]:
    """By hydro, all whose water can reach it by river or canal; None where pumps bring more."""
    index = entity_indices(files)["hydro"]
    above: list[set[int]] = [set() for _ in index]
    for hydro in files.hydros.hydros:
        for below in (hydro.downstream_id, hydro.diversion.downstream_id if hydro.diversion else None):
            if below in index:
                above[index[below]].add(index[hydro.id])
    pumped = {index.get(each.destination_hydro_id) for each in files.pumping_stations.pumping_stations}
    found: list[set[int] | None] = []
    for h in range(len(index)):
        reached, waiting = {h}, [h]
        while waiting:
            new = above[waiting.pop()] - reached
            reached |= new
            waiting += new
        found.append(None if reached & pumped else reached)
    return found
