"""Productivities of hydros by stage: what the water of a reservoir is worth in power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cobre.core.energy import EnergyConversion
from cobre.core.horizon import Horizon, Stage
from cobre.core.tables import HydroTables
from cobre.io.assemble.fitting import Fitter
from cobre.io.assemble.plants import Plant, build_plants
from cobre.io.assemble.production import production_of
from cobre.io.assemble.system import by_id, indices
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles
from cobre.production.energy import equivalent_productivity, integrated_productivity, plane_productivity
from cobre.production.function import MW_PER_M3S_AND_M, ProductionFunction

EQUIVALENT = "equivalent_productivity_mw_per_m3s"
SPECIFIC = "specific_productivity_mw_per_m3s_per_m"
OUTFLOW = "reference_outflow_m3s"


def build_energy(files: CaseFiles, horizon: Horizon, tables: HydroTables) -> EnergyConversion:
    """Productivities as the case gives them, or as they follow from head, planes or the stage's productivity."""
    hydros, index = by_id(files.hydros.hydros), indices(files.hydros.hydros)
    fitter, given = Fitter(files, build_plants(files)), _given_values(files.tables["energy_productivity"])
    reference, turbined, specific, equivalent, integrated = np.zeros((5, len(hydros), horizon.n_stages))
    for row, hydro in enumerate(hydros):
        for column, stage in enumerate(horizon.stages):
            cell = _Cell(fitter, fitter.plants[hydro.id], stage, tables, row, column, given)
            reference[row, column] = cell.reference_hm3
            turbined[row, column] = cell.reference_turbined()
            specific[row, column] = cell.specific()
            equivalent[row, column] = cell.equivalent()
            integrated[row, column] = cell.integrated(equivalent[row, column])
    return EnergyConversion(
        reference,
        turbined,
        specific,
        equivalent,
        integrated,
        np.array([float(hydro.reservoir.min_storage_hm3) for hydro in hydros]),
        np.array([float(hydro.reservoir.max_storage_hm3) for hydro in hydros]),
        tuple(None if hydro.downstream_id is None else index[hydro.downstream_id] for hydro in hydros),
    )


@dataclass(frozen=True)
class _Cell:
    """One hydro in one stage."""

    fitter: Fitter
    plant: Plant
    stage: Stage
    tables: HydroTables
    row: int
    column: int
    given: Mapping[tuple[int, int, str], float]

    @property
    def reference_hm3(self) -> float:
        detail = production_of(self.plant.record, self.stage, self.fitter.files).detail
        return self.plant.reference_volume(None if detail is None else detail.reference_volume)

    def reference_turbined(self) -> float:
        value = self._given(OUTFLOW)
        return float(self.plant.record.generation.max_turbined_m3s) if value is None else value

    def specific(self) -> float:
        """MW per m3/s and m of head, of the table or of the plant; NaN without either."""
        value = self._given(SPECIFIC)
        own = self.plant.record.specific_productivity_mw_per_m3s_per_m
        if value is None and own is not None:
            value = float(own)
        return np.nan if value is None else value

    def equivalent(self) -> float:
        """MW per m3/s at the reference volume."""
        fixed = self._given(EQUIVALENT)
        if fixed is not None:
            return fixed
        planes = self.tables.planes_of(self.row, self.column)
        if not len(planes):
            return float(self.tables.productivity_mw_per_m3s[self.row, self.column])
        function, specific = self._head()
        if function is not None:
            return equivalent_productivity(function, specific, self.reference_hm3)
        limits = self.plant.record.generation
        return plane_productivity(
            planes, self.reference_hm3, float(limits.max_turbined_m3s), float(limits.max_generation_mw)
        )

    def integrated(self, equivalent: float) -> float:
        """MW per m3/s, mean over the storage; the equivalent one where head or storage range is not known."""
        basin, (function, specific) = self.plant.record.reservoir, self._head()
        if function is None or self._given(EQUIVALENT) is not None:
            return equivalent
        if not basin.min_storage_hm3 < basin.max_storage_hm3:
            return equivalent
        low, high = float(basin.min_storage_hm3), float(basin.max_storage_hm3)
        return integrated_productivity(function, specific, low, high)

    def _head(self) -> tuple[ProductionFunction | None, float]:
        """What gives the head, and the specific productivity; None without geometry or specific productivity.

        The efficiency of a plant with planes stands in for a specific productivity that is not given. The tailrace is
        the plant's own, and that of ``tailrace_curves`` only if it has none.
        """
        plant, specific = self.plant, self.specific()
        efficiency, has_planes = (
            plant.record.efficiency,
            len(self.tables.planes_of(self.row, self.column)) > 0,
        )
        if np.isnan(specific) and efficiency is not None and has_planes:
            specific = MW_PER_M3S_AND_M * float(efficiency.value)
        if np.isnan(specific) or plant.forebay is None:
            return None, specific
        tailrace = plant.own_tailrace() or plant.backwater(self.fitter.level_below(plant, self.stage))
        return plant.production_function(plant.forebay, tailrace), specific

    def _given(self, name: str) -> float | None:
        """What ``hydro_energy_productivity`` says: its row of the stage, else its row of all stages."""
        for stage_id in (self.stage.id, ABSENT):
            value = self.given.get((self.plant.record.id, stage_id, name))
            if value is not None:
                return value
        return None


def _given_values(table: Table) -> dict[tuple[int, int, str], float]:
    """By hydro id, stage id (`ABSENT` for all stages) and column, the values of ``hydro_energy_productivity``."""
    keys = list(zip(table["hydro_id"].tolist(), table["stage_id"].tolist(), strict=True))
    return {
        (*key, name): value
        for name in (EQUIVALENT, SPECIFIC, OUTFLOW)
        for key, value in zip(keys, table[name].tolist(), strict=True)
        if not np.isnan(value)
    }
