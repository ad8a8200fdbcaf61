"""How much power a hydro makes of its water in each stage: a productivity, or planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.horizon import Horizon, Stage
from cobre.core.production import ProductionFit
from cobre.io.assemble.system import by_date
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import FphaConfigRecord, ModelChoice, StageRangesRecord
from cobre.io.read.system.hydros import HydroRecord

EQUIVALENT = "equivalent_productivity_mw_per_m3s"
"""Column of ``hydro_energy_productivity``."""
NO_CAPACITY = 1e-9
"""m3/s or MW of a plant that cannot generate; planes fitted to it would all be 0."""


@dataclass(frozen=True)
class Production:
    """The model of one hydro in one stage; ``productivity`` is None with planes or if none is given."""

    has_planes: bool
    productivity: float | None
    detail: ModelChoice | None = None
    """The choice that applies, if the file of production models has one."""

    @property
    def fit_config(self) -> FphaConfigRecord | None:
        """How its planes are fitted; None where they are given or there are none."""
        config = None if self.detail is None else self.detail.fpha_config
        return config if self.has_planes and config is not None and config.source == "computed" else None


def production_of(hydro: HydroRecord, stage: Stage, files: CaseFiles) -> Production:
    """The model that applies: the stage's or season's choice, then the plant's own without a productivity.

    The productivity is that of the choice, or the equivalent one of ``hydro_energy_productivity``.
    """
    key = (id(hydro), stage.id if hydro.id in files.hydros_with_production_by_stage else None)
    found: Production | None = files.productions.get(key)
    if found is None:
        found = files.productions[key] = _find_production(hydro, stage, files)
    return found


def _find_production(hydro: HydroRecord, stage: Stage, files: CaseFiles) -> Production:
    choice = _choice(hydro.id, stage, files)
    model = hydro.generation.model if choice is None else choice[0]
    detail = None if choice is None else choice[1]
    if model == "fpha":
        found = Production(True, None, detail)
        flow = hydro.generation.max_turbined_m3s
        most = min(flow, hydro.generation.max_generation_mw)
        can_turbine = not files.generation.is_018 or flow > NO_CAPACITY
        if not can_turbine or (found.fit_config is not None and most <= NO_CAPACITY):
            return Production(False, 0.0, detail)
        return found
    if detail is not None and detail.productivity_mw_per_m3s is not None:
        return Production(False, detail.productivity_mw_per_m3s, detail)
    return Production(False, files.energy_value(EQUIVALENT, hydro.id, stage.id), detail)


def _choice(hydro_id: int, stage: Stage, files: CaseFiles) -> tuple[str, ModelChoice | None] | None:
    entry = files.production_model_of.get(hydro_id)
    if entry is None:
        return None
    if isinstance(entry, StageRangesRecord):
        for each in sorted(entry.stage_ranges, key=lambda each: each.start_stage_id):
            is_open = each.end_stage_id is None
            if each.start_stage_id <= stage.id and (is_open or stage.id <= (each.end_stage_id or 0)):
                return each.model, each
        return None
    season = next((each for each in entry.seasons if each.season_id == stage.season_id), None)
    return (entry.default_model, None) if season is None else (season.model, season)


def planes_of(hydro_id: int, stage_id: int, table: Table) -> Floats:
    """Rows (constant, per hm3, per m3/s turbined, per m3/s spilled); rows of the stage win over common ones."""
    mine = table["hydro_id"] == hydro_id
    rows = np.flatnonzero(mine & (table["stage_id"] == stage_id))
    if not len(rows):
        rows = np.flatnonzero(mine & (table["stage_id"] == ABSENT))
    kappa = np.where(np.isnan(table["kappa"][rows]), 1.0, table["kappa"][rows])
    columns = (
        table["gamma_0"][rows] * kappa,
        *(table[name][rows] for name in ("gamma_v", "gamma_q", "gamma_s")),
    )
    return np.stack(columns, axis=1).reshape(-1, 4)


def build_production(
    files: CaseFiles, horizon: Horizon, fits: Sequence[ProductionFit]
) -> tuple[Floats, Ints, Floats]:
    """Productivity (NaN with planes), offsets of planes, planes: as `HydroTables` takes them."""
    hydros: Sequence[HydroRecord] = by_date(files.hydros.hydros)
    fitted = {(each.hydro, stage): each.fit.planes for each in fits for stage in each.stages}
    productivity = np.full((len(hydros), horizon.n_stages), np.nan)
    offsets, planes = [0], []
    for row, hydro in enumerate(hydros):
        for index, stage in enumerate(horizon.stages):
            production = production_of(hydro, stage, files)
            count = 0
            if production.has_planes:
                found = fitted.get((row, index))
                if found is None:
                    found = planes_of(hydro.id, stage.id, files.tables["hyperplanes"])
                planes.append(found)
                count = len(found)
            elif production.productivity is not None:
                productivity[row, index] = production.productivity
            offsets.append(offsets[-1] + count)
    every = np.concatenate(planes) if planes else np.empty((0, 4))
    return productivity, np.array(offsets, np.int64), np.ascontiguousarray(every, np.float64)
