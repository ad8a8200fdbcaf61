"""Productivities of hydros by stage: what the water of a reservoir is worth in power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cobre.arrays import Floats
from cobre.core.energy import EnergyConversion
from cobre.core.horizon import Horizon
from cobre.core.tables import HydroTables
from cobre.io.assemble.fitting import Fitter
from cobre.io.assemble.plants import Plant
from cobre.io.assemble.production import EQUIVALENT
from cobre.io.assemble.system import by_date, indices
from cobre.io.read.files import CaseFiles
from cobre.production.energy import PlaneProductivity, equivalent_productivity, integrated_productivity

if TYPE_CHECKING:
    from cobre.production.function import ProductionFunction

SPECIFIC = "specific_productivity_mw_per_m3s_per_m"
OUTFLOW = "reference_outflow_m3s"


def build_energy(files: CaseFiles, horizon: Horizon, tables: HydroTables) -> EnergyConversion:
    """Productivities as the case gives them, or as they follow from head, planes or the stage's productivity."""
    hydros, index = by_date(files.hydros.hydros), indices(by_date(files.hydros.hydros))
    fitter = Fitter(files)
    reference, turbined, specific, equivalent, integrated = np.zeros((5, len(hydros), horizon.n_stages))
    for row, hydro in enumerate(hydros):
        plant, known = fitter.plants[hydro.id], dict[object, tuple[float, float]]()
        for column, stage in enumerate(horizon.stages):
            given = {
                name: files.energy_value(name, hydro.id, stage.id) for name in (EQUIVALENT, SPECIFIC, OUTFLOW)
            }
            cell = _Cell(
                plant,
                given,
                fitter.reference_volume(plant, stage),
                fitter.level_below(plant, stage),
                float(tables.productivity_mw_per_m3s[row, column]),
                tables.planes_of(row, column),
            )
            key = cell.key
            if key not in known:
                known[key] = cell.productivities()
            reference[row, column] = cell.reference_hm3
            turbined[row, column] = cell.reference_turbined()
            specific[row, column] = cell.specific()
            equivalent[row, column], integrated[row, column] = known[key]
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


@dataclass(frozen=True, eq=False)
class _Cell:
    """One hydro in one stage; many stages have the same."""

    plant: Plant
    given: Mapping[str, float | None]
    """What ``hydro_energy_productivity`` says about it, by column."""
    reference_hm3: float
    level_below_m: float | None
    productivity: float
    """NaN with planes."""
    planes: Floats

    @property
    def key(self) -> object:
        """Cells of a plant with equal keys have equal productivities."""
        given = tuple(self.given.values())
        return (given, self.reference_hm3, self.level_below_m, repr(self.productivity), self.planes.tobytes())

    def reference_turbined(self) -> float:
        value = self.given[OUTFLOW]
        return float(self.plant.record.generation.max_turbined_m3s) if value is None else value

    def specific(self) -> float:
        """MW per m3/s and m of head, of the table or of the plant; NaN without either."""
        value, own = self.given[SPECIFIC], self.plant.record.specific_productivity_mw_per_m3s_per_m
        if value is None and own is not None:
            value = float(own)
        return np.nan if value is None else value

    def productivities(self) -> tuple[float, float]:
        """MW per m3/s: equivalent and integrated."""
        fixed = self.given[EQUIVALENT]
        if fixed is not None:
            return fixed, fixed
        function, specific = self._head()
        if not len(self.planes):
            equivalent = self.productivity
        elif function is not None:
            equivalent = equivalent_productivity(function, specific, self.reference_hm3)
        else:
            equivalent = self._plane_productivity().at(self.reference_hm3)
        basin = self.plant.record.reservoir
        low, high = float(basin.min_storage_hm3), float(basin.max_storage_hm3)
        if not low < high:
            return equivalent, equivalent
        if function is not None:
            return equivalent, integrated_productivity(function, specific, low, high)
        return equivalent, self._plane_productivity().mean(low, high) if len(self.planes) else equivalent

    def _plane_productivity(self) -> PlaneProductivity:
        limits = self.plant.record.generation
        return PlaneProductivity(self.planes, float(limits.max_turbined_m3s), float(limits.max_generation_mw))

    def _head(self) -> tuple[ProductionFunction | None, float]:
        """What gives the head, and the specific productivity; None without geometry or specific productivity.

        The efficiency of a plant with planes stands in for a specific productivity that is not given. The tailrace is
        the plant's own, and that of ``tailrace_curves`` only if it has none.
        """
        plant, specific, efficiency = self.plant, self.specific(), self.plant.record.efficiency
        if np.isnan(specific) and efficiency is not None and len(self.planes):
            from cobre.production.function import MW_PER_M3S_AND_M

            specific = MW_PER_M3S_AND_M * float(efficiency.value)
        if np.isnan(specific) or plant.forebay is None:
            return None, specific
        tailrace = plant.own_tailrace() or plant.backwater(self.level_below_m)
        return plant.production_function(plant.forebay, tailrace), specific
