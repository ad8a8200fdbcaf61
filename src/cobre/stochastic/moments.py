"""Means and deviations that noise is scaled with: those of the statistics files, or of external scenarios.

Where a class of entities takes its trajectories from a file, the mean and the (population) deviation over its scenarios
stand in for statistics that the case does not give, in the opening tree too. In cases of format 0.18 they replace given
ones as well (`Scenarios.external_sets_statistics`), except for hydros with lags, whose deviation is that of an
autoregression.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.case import Case
from cobre.core.scenarios import EntityClass, GivenScenarios, InflowStatistics
from cobre.stochastic.entities import NoiseEntities

__all__ = ["NoiseStatistics", "scenario_moments"]


@dataclass(frozen=True, eq=False)
class NoiseStatistics:
    """Who has noise, and its mean and deviation: inflows in rows, loads (buses, stages), shares (sources, stages)."""

    entities: NoiseEntities
    inflow: InflowStatistics
    load_mean_mw: Floats
    load_std_mw: Floats
    ncs_mean: Floats
    ncs_std: Floats

    @classmethod
    def of(cls, case: Case, external: Collection[EntityClass] = ()) -> NoiseStatistics:
        """Of a case whose trajectories follow external scenarios in these classes."""
        buses, sources, given = case.tables.bus, case.tables.non_controllable, case.scenarios
        load, ncs, inflow = (buses.load_mean_mw, buses.load_std_mw), (sources.mean, sources.std), given.inflow
        has_load, has_ncs = (buses.load_std_mw > 0.0).any(axis=1), sources.has_statistics
        is_always = given.external_sets_statistics
        if "load" in external and given.external_load is not None:
            lacks = is_always | ((load[0] == 0.0) & (load[1] == 0.0))
            load, named = _replaced(*load, given.external_load, lacks)
            has_load = has_load | named
        if "ncs" in external and given.external_ncs is not None:
            lacks = np.repeat((is_always | ~has_ncs)[:, np.newaxis], ncs[0].shape[1], axis=1)
            ncs, named = _replaced(*ncs, given.external_ncs, lacks)
            has_ncs = has_ncs | named
        if "inflow" in external and given.external_inflow is not None:
            inflow = _replaced_rows(case, given.external_inflow, is_always)
        entities = NoiseEntities(
            len(case.system.hydros),
            tuple(np.flatnonzero(has_load).tolist()),
            tuple(np.flatnonzero(has_ncs).tolist()),
        )
        return cls(entities, inflow, *load, *ncs)


def scenario_moments(
    given: GivenScenarios, n_entities: int, n_stages: int
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Mean, deviation and whether there are rows, each (entities, stages).

    Sums run in the order of scenarios; equal values have their own value as mean and no deviation.
    """
    order = np.lexsort((given.scenario, given.stage, given.entity))
    cell, value = (given.entity * n_stages + given.stage)[order], given.value[order]
    size = n_entities * n_stages
    count = np.bincount(cell, minlength=size)
    is_given = count > 0
    divisor = np.maximum(count, 1)
    mean = np.bincount(cell, weights=value, minlength=size) / divisor
    first = np.zeros(size)
    first[cell[::-1]] = value[::-1]
    is_constant = np.bincount(cell, weights=value != first[cell], minlength=size) == 0.0
    mean = np.where(is_constant, first, mean)
    deviation = np.sqrt(np.bincount(cell, weights=(value - mean[cell]) ** 2, minlength=size) / divisor)
    deviation = np.where(is_constant, 0.0, deviation)
    shape = (n_entities, n_stages)
    return mean.reshape(shape), deviation.reshape(shape), is_given.reshape(shape)


def _replaced(
    mean: Floats, std: Floats, given: GivenScenarios, lacks: NDArray[np.bool_]
) -> tuple[tuple[Floats, Floats], NDArray[np.bool_]]:
    """Mean and deviation with those of scenarios where statistics lack, and the entities for which that was so."""
    new_mean, new_std, is_given = scenario_moments(given, *mean.shape)
    is_new = is_given & lacks
    named: NDArray[np.bool_] = np.logical_or.reduce(is_new, axis=1)
    return (np.where(is_new, new_mean, mean), np.where(is_new, new_std, std)), named


def _replaced_rows(case: Case, given: GivenScenarios, is_always: bool) -> InflowStatistics:
    """The rows of inflow statistics; those of scenarios take the place of rows that lack, or of all without lags."""
    rows, stages, n_hydros = case.scenarios.inflow, case.horizon.stages, len(case.system.hydros)
    mean, std, is_given = scenario_moments(given, n_hydros, len(stages))
    index = {stage.id: t for t, stage in enumerate(stages)}
    place = np.array([index.get(each, -1) for each in rows.stage_id.tolist()], dtype=np.int64)
    has_row = np.zeros((n_hydros, len(stages)), dtype=bool)
    has_row[rows.hydro[place >= 0], place[place >= 0]] = True
    hydro, stage = np.nonzero(is_given & (~has_row | (is_always & ~_with_lags(case)[:, np.newaxis])))
    is_new = np.zeros_like(has_row)
    is_new[hydro, stage] = True
    stays = (place < 0) | ~is_new[rows.hydro, np.maximum(place, 0)]
    ids = np.array([each.id for each in stages], dtype=np.int64)
    columns = {
        "hydro": (rows.hydro, hydro),
        "stage_id": (rows.stage_id, ids[stage]),
        "mean_m3s": (rows.mean_m3s, mean[hydro, stage]),
        "std_m3s": (rows.std_m3s, std[hydro, stage]),
    }
    joined = {name: np.concatenate([old[stays], new]) for name, (old, new) in columns.items()}
    order = np.lexsort((joined["stage_id"], joined["hydro"]))
    return replace(rows, **{name: column[order] for name, column in joined.items()})


def _with_lags(case: Case) -> NDArray[np.bool_]:
    """Which hydros have an autoregression in any stage."""
    with_lags = np.zeros(len(case.system.hydros), dtype=bool)
    with_lags[case.scenarios.lags.hydro] = True
    if case.scenarios.annual is not None:
        with_lags[case.scenarios.annual.hydro] = True
    return with_lags
