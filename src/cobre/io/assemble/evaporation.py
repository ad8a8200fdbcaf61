"""Evaporation of reservoirs by stage."""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import Horizon, Stage
from cobre.core.production import EvaporationReference
from cobre.io.assemble.plants import build_plants
from cobre.io.assemble.system import by_date
from cobre.io.read.files import CaseFiles
from cobre.production.evaporation import fills_its_month, hours_of_month, linearise_evaporation


def build_evaporation(files: CaseFiles, horizon: Horizon) -> tuple[Floats, Floats]:
    """``k0`` and ``kv`` of the flow ``k0 + kv * volume``, each ``[hydro, stage]``; zero without evaporation."""
    hydros, plants = by_date(files.hydros.hydros), build_plants(files)
    constant = np.zeros((len(hydros), horizon.n_stages))
    slope = np.zeros_like(constant)
    for reference in build_evaporation_references(files, horizon):
        row, hydro = reference.hydro, hydros[reference.hydro]
        area = plants[hydro.id].area
        if area is None or hydro.evaporation is None:
            continue
        for index, stage in enumerate(horizon.stages):
            depth = float(hydro.evaporation.coefficients_mm[stage.start_date.month - 1])
            constant[row, index], slope[row, index] = linearise_evaporation(
                area, depth, _hours(files, stage), reference.volumes_hm3[index]
            )
    return constant, slope


def _hours(files: CaseFiles, stage: Stage) -> float:
    """In 0.18 the hours of the calendar month, whatever the stage."""
    return hours_of_month(stage.start_date) if files.generation.is_018 else evaporating_hours(stage)


def build_evaporation_references(files: CaseFiles, horizon: Horizon) -> tuple[EvaporationReference, ...]:
    """The volumes around which evaporation is linearised, of the hydros that evaporate."""
    found = []
    for row, hydro in enumerate(by_date(files.hydros.hydros)):
        if hydro.evaporation is None:
            continue
        given = hydro.evaporation.reference_volumes_hm3
        middle = 0.5 * (hydro.reservoir.min_storage_hm3 + hydro.reservoir.max_storage_hm3)
        months = [stage.start_date.month - 1 for stage in horizon.stages]
        volumes = tuple(float(middle if given is None else given[month]) for month in months)
        found.append(EvaporationReference(row, volumes, given is not None))
    return tuple(found)


def evaporating_hours(stage: Stage) -> float:
    """Hours in which the month's depth evaporates: a stage that is a month has its own, else the calendar's."""
    if fills_its_month(stage.start_date, stage.end_date):
        return stage.hours
    return hours_of_month(stage.start_date)
