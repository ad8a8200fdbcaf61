"""What the files say about the head and the power of a hydro plant, as `cobre.production` takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cobre.core.distinct import distinct
from cobre.core.sums import sum_in_order
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import ReferenceVolumeRecord
from cobre.io.read.system.hydros import FactorLosses, HydroRecord
from cobre.io.read.system.hydros import PolynomialTailrace as PolynomialRecord
from cobre.io.read.system.tailrace_curves import COEFFICIENTS
from cobre.production.curve import Curve
from cobre.production.energy import REFERENCE_SHARE

if TYPE_CHECKING:  # the plants of many cases have neither head nor planes
    from cobre.production.function import Losses, ProductionFunction
    from cobre.production.tailrace import Tailrace, TailraceFamily

HYDROS, CURVES = "system/hydros.json", "system/tailrace_curves.parquet"


@dataclass(frozen=True)
class Plant:
    """A hydro and its curves."""

    record: HydroRecord
    forebay: Curve | None
    """Height over volume; None without geometry."""
    area: Curve | None
    families: tuple[TailraceFamily, ...]
    """Of ``tailrace_curves``; they replace the plant's own tailrace where planes are fitted."""
    mean_inflow_m3s: float
    """Mean of the rows of the inflow history; 0 without any."""

    def own_tailrace(self) -> Tailrace | None:
        """The tailrace of the plant's entry in ``hydros.json``."""
        given = self.record.tailrace
        if given is None:
            return None
        from cobre.production.tailrace import PiecewiseTailrace, PolynomialTailrace

        if isinstance(given, PolynomialRecord):
            return PolynomialTailrace(tuple(map(float, given.coefficients)))
        points = sorted((float(point.outflow_m3s), float(point.height_m)) for point in given.points)
        return PiecewiseTailrace(Curve(tuple(q for q, _ in points), tuple(h for _, h in points)))

    def backwater(self, level_m: float | None) -> Tailrace | None:
        """The tailrace of ``tailrace_curves`` for a level of the reservoir below."""
        if not self.families:
            return None
        from cobre.production.tailrace import BackwaterTailrace

        return BackwaterTailrace(self.families, level_m)

    @property
    def tailrace_place(self) -> tuple[str, str]:
        """File and field that a planner changes to change the tailrace of a fit."""
        return (CURVES, "coefficient_0") if self.families else (HYDROS, "tailrace")

    def losses(self) -> Losses:
        """Head lost; none if it is not given."""
        from cobre.production.function import Losses

        given = self.record.hydraulic_losses
        if given is None:
            return Losses()
        if isinstance(given, FactorLosses):
            return Losses(factor=float(given.value))
        return Losses(constant_m=float(given.value_m))

    def production_function(self, forebay: Curve, tailrace: Tailrace | None) -> ProductionFunction:
        """The exact power with a tailrace; None means tail water at height 0."""
        from cobre.production.function import ProductionFunction
        from cobre.production.tailrace import PolynomialTailrace

        limits, efficiency = self.record.generation, self.record.efficiency
        return ProductionFunction(
            forebay,
            float(limits.max_turbined_m3s),
            float(limits.max_generation_mw),
            PolynomialTailrace() if tailrace is None else tailrace,
            self.losses(),
            1.0 if efficiency is None else float(efficiency.value),
        )

    def reference_volume(self, given: ReferenceVolumeRecord | None) -> float:
        """The volume at which productivity and level are taken, in hm3."""
        low, high = float(self.record.reservoir.min_storage_hm3), float(self.record.reservoir.max_storage_hm3)
        if given is not None and given.volume_hm3 is not None:
            return float(given.volume_hm3)
        share = REFERENCE_SHARE if given is None or given.percentile is None else float(given.percentile)
        return low + share * (high - low)


def build_plants(files: CaseFiles) -> dict[int, Plant]:
    """By hydro id, the plants with their curves."""
    geometry, history = files.tables["geometry"], files.tables["inflow_history"]
    plants = {}
    for record in files.hydros.hydros:
        rows = np.flatnonzero(geometry["hydro_id"] == record.id)
        inflows = history["value_m3s"][history["hydro_id"] == record.id].tolist()
        plants[record.id] = Plant(
            record,
            _curve(geometry, rows.tolist(), "height_m"),
            _curve(geometry, rows.tolist(), "area_km2"),
            _families(files.tables["tailrace_curves"], record.id),
            sum_in_order(inflows) / len(inflows) if inflows else 0.0,
        )
    return plants


def _curve(geometry: Table, rows: list[int], column: str) -> Curve | None:
    if not rows:
        return None
    return Curve(tuple(geometry["volume_hm3"][rows].tolist()), tuple(geometry[column][rows].tolist()))


def _families(table: Table, hydro_id: int) -> tuple[TailraceFamily, ...]:
    """Families in order of level, one without level first; segments in order of outflow."""
    mine = np.flatnonzero(table["hydro_id"] == hydro_id)
    if not len(mine):
        return ()
    from cobre.production.tailrace import Segment, TailraceFamily

    families = []
    for family_id in distinct(table["family_id"][mine]):
        rows = [int(row) for row in mine if table["family_id"][row] == family_id]
        level = float(table["downstream_reference_level_m"][rows[0]])
        segments = sorted(
            (
                Segment(
                    float(table["outflow_min_m3s"][row]),
                    float(table["outflow_max_m3s"][row]),
                    tuple(float(table[name][row]) for name in COEFFICIENTS),
                )
                for row in rows
            ),
            key=lambda segment: segment.low,
        )
        families.append(TailraceFamily(None if np.isnan(level) else level, tuple(segments)))
    return tuple(sorted(families, key=lambda family: (family.level_m is not None, family.level_m or 0.0)))
