"""Evaporation linearised around a reference volume: ``k0 + kv * volume`` in m3/s."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Horizon
from cobre.io.assemble.system import by_id
from cobre.io.read.files import CaseFiles

SECONDS_PER_HOUR_AND_KM2_MM = 3.6
"""Hours times this, under mm times km2, gives m3/s: 1 mm over 1 km2 is 1000 m3, an hour 3600 s."""


def build_evaporation(files: CaseFiles, horizon: Horizon) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``k0`` and ``kv``, each ``[hydro, stage]``; zero for hydros without evaporation."""
    hydros = by_id(files.hydros.hydros)
    constant = np.zeros((len(hydros), horizon.n_stages))
    slope = np.zeros_like(constant)
    geometry = files.tables["geometry"]
    for row, hydro in enumerate(hydros):
        if hydro.evaporation is None:
            continue
        mine = geometry["hydro_id"] == hydro.id
        volumes, areas = geometry["volume_hm3"][mine], geometry["area_km2"][mine]
        middle = 0.5 * (hydro.reservoir.min_storage_hm3 + hydro.reservoir.max_storage_hm3)
        for index, stage in enumerate(horizon.stages):
            month = stage.season_id or 0
            references = hydro.evaporation.reference_volumes_hm3
            volume = middle if references is None else references[month]
            area, area_slope = surface(volumes, areas, volume)
            depth = hydro.evaporation.coefficients_mm[month] / (SECONDS_PER_HOUR_AND_KM2_MM * stage.hours)
            slope[row, index] = depth * area_slope
            constant[row, index] = depth * area - slope[row, index] * volume
    return constant, slope


def surface(volumes: NDArray[np.float64], areas: NDArray[np.float64], volume: float) -> tuple[float, float]:
    """Area at a volume (constant beyond the table) and the slope of the segment it lies in.

    At a point of the table the segment to its right counts, at the last point the last one.
    """
    if len(volumes) == 1:
        return float(areas[0]), 0.0
    segment = int(np.clip(np.searchsorted(volumes, volume, side="right") - 1, 0, len(volumes) - 2))
    left, right = float(volumes[segment]), float(volumes[segment + 1])
    slope = (float(areas[segment + 1]) - float(areas[segment])) / (right - left)
    inside = min(max(volume, left), right)
    return float(areas[segment]) + slope * (inside - left), slope
