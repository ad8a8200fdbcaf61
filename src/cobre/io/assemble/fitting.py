"""Production planes that the case asks to be fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from cobre.core.horizon import Horizon, Stage
from cobre.core.production import ProductionFit
from cobre.io.assemble.plants import Plant, build_plants
from cobre.io.assemble.production import Production, production_of
from cobre.io.assemble.system import by_date
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import (
    AngleReductionRecord,
    FphaConfigRecord,
    PlaneReductionRecord,
)
from cobre.io.read.system.hydros import HydroRecord

if TYPE_CHECKING:  # few cases ask for a fit
    from cobre.production.curve import Curve
    from cobre.production.fit import FitSettings
    from cobre.production.function import ProductionFunction
    from cobre.production.reduction import Reduction

DEFAULT_POINTS = 5
NO_RANGE = 1e-9
"""hm3 below which a window is a single volume."""
NARROW_SHARE, NARROW_HM3 = 0.005, 1.0
"""A single volume becomes two, on both sides by this share of the storage range or by so many hm3."""


Arguments: TypeAlias = "tuple[ProductionFunction, FitSettings]"


class Fitter:
    """What is needed to fit the planes of the plants of a case, each different fit looked up once."""

    def __init__(self, files: CaseFiles) -> None:
        self.plants = build_plants(files)
        self._files = files
        self._productions: dict[tuple[int, int], Production] = {}
        self._arguments: dict[tuple[int, int, float | None], Arguments] = {}

    def production(self, hydro: HydroRecord, stage: Stage) -> Production:
        """The production model of a plant in a stage."""
        key = (hydro.id, stage.id)
        if key not in self._productions:
            self._productions[key] = production_of(hydro, stage, self._files)
        return self._productions[key]

    def reference_volume(self, plant: Plant, stage: Stage) -> float:
        """Reference volume of a plant in a stage, in hm3."""
        detail = self.production(plant.record, stage).detail
        return plant.reference_volume(None if detail is None else detail.reference_volume)

    def level_below(self, plant: Plant, stage: Stage) -> float | None:
        """Height of the reservoir below at its reference volume; None if it is not known or does not matter."""
        downstream = plant.record.downstream_id
        below = None if downstream is None else self.plants.get(downstream)
        if below is None or below.forebay is None or not plant.families:
            return None
        return below.forebay.at(self.reference_volume(below, stage))

    def arguments(self, hydro: HydroRecord, stage: Stage) -> Arguments | None:
        """What `fit_planes` needs; None where planes are not fitted or the plant has no geometry."""
        plant, config = self.plants[hydro.id], self.production(hydro, stage).fit_config
        if config is None or plant.forebay is None:
            return None
        level = self.level_below(plant, stage)
        key = (hydro.id, id(config), level)
        if key not in self._arguments:
            tailrace = plant.backwater(level) if plant.families else plant.own_tailrace()
            reduction = _reduction(self._files.production_models.fpha_plane_reduction, hydro.id, level)
            settings = fit_settings(plant, plant.forebay, config, reduction)
            self._arguments[key] = (plant.production_function(plant.forebay, tailrace), settings)
        return self._arguments[key]


def wanted_window(plant: Plant, forebay: Curve, config: FphaConfigRecord) -> tuple[float, float]:
    """Lowest and highest volume that the case asks for; the ends of the geometry where it does not."""
    given = config.fitting_window
    if given is None:
        return forebay.first, forebay.last
    empty, full = map(float, (plant.record.reservoir.min_storage_hm3, plant.record.reservoir.max_storage_hm3))

    def bound(volume: float | None, share: float | None, otherwise: float) -> float:
        if volume is not None:
            return float(volume)
        return otherwise if share is None else empty + float(share) * (full - empty)

    return (
        bound(given.volume_min_hm3, given.volume_min_percentile, forebay.first),
        bound(given.volume_max_hm3, given.volume_max_percentile, forebay.last),
    )


def fit_settings(
    plant: Plant, forebay: Curve, config: FphaConfigRecord, reduction: Reduction | None
) -> FitSettings:
    """The grid of a fit; a single volume is replaced by two close to it."""
    from cobre.production.fit import FitSettings

    low, high = map(forebay.clamp, wanted_window(plant, forebay, config))
    points = config.volume_discretization_points or DEFAULT_POINTS
    is_run_of_river = high - low <= NO_RANGE or points == 1
    if is_run_of_river:
        basin = plant.record.reservoir
        half = max(NARROW_SHARE * float(basin.max_storage_hm3 - basin.min_storage_hm3), NARROW_HM3)
        low, high, points = low - half, low + half, 2
        if forebay.last - forebay.first > NO_RANGE:
            low, high = forebay.clamp(low), forebay.clamp(high)
    return FitSettings(
        low,
        high,
        points,
        config.turbine_discretization_points or DEFAULT_POINTS,
        is_run_of_river,
        2.0 * plant.mean_inflow_m3s if plant.mean_inflow_m3s > 0.0 else None,
        config.fit_factor == "least_squares",
        reduction,
    )


def _reduction(record: PlaneReductionRecord | None, hydro_id: int, level: float | None) -> Reduction | None:
    if record is None:
        return None
    from cobre.production.reduction import AngleReduction, DistanceReduction

    if isinstance(record, AngleReductionRecord):
        return AngleReduction(float(record.tolerance_deg))
    return DistanceReduction(float(record.tolerance_pct), record.n_samples, hydro_id, level)


def build_fits(files: CaseFiles, horizon: Horizon) -> tuple[ProductionFit, ...]:
    """Every fit of the case and the stages that share it, in order of hydro and first stage."""
    fitter = Fitter(files)
    found = []
    for row, hydro in enumerate(by_date(files.hydros.hydros)):
        stages: dict[Arguments, list[int]] = {}
        for index, stage in enumerate(horizon.stages):
            arguments = fitter.arguments(hydro, stage)
            if arguments is not None:
                stages.setdefault(arguments, []).append(index)
        if not stages:
            continue
        from cobre.production.fit import fit_planes

        found += [ProductionFit(row, tuple(those), fit_planes(*key)) for key, those in stages.items()]
    return tuple(found)
