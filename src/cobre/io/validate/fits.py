"""Checks of production planes that are to be fitted: are there data, do they make sense, is the fit good?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cobre.core.horizon import Stage
from cobre.io.assemble.fitting import Arguments, Fitter
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.plants import CURVES, HYDROS, Plant
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import FphaConfigRecord
from cobre.io.validate.fit_quality import check_fit_quality, check_heads, check_plane_count
from cobre.io.validate.fitting_windows import check_fitting_window, check_reference_volumes
from cobre.io.validate.naming import called, listed
from cobre.production.curve import Curve

MODELS, GEOMETRY = "system/hydro_production_models.json", "system/hydro_geometry.parquet"
Fitted = tuple[Stage, FphaConfigRecord]
DEFAULTS = {
    "tailrace": "tail water at height 0 m",
    "hydraulic_losses": "no hydraulic losses",
    "efficiency": "efficiency 1",
}


def check_fits(files: CaseFiles, with_wrong_tailrace: Collection[int], problems: Problems) -> None:
    """Report fits that cannot be made, and fits that are not good. Hydros with a wrong tailrace are not fitted."""
    needed = {"stages.json", HYDROS, MODELS, GEOMETRY, CURVES}
    if needed & (files.damaged | files.unusable):
        return
    check_reference_volumes(files, problems)
    horizon, fitter = build_horizon(files.stages), Fitter(files)
    n_fitted = 0
    for hydro in files.hydros.hydros:
        configs = [(stage, fitter.production(hydro, stage).fit_config) for stage in horizon.stages]
        fitted = [(stage, config) for stage, config in configs if config is not None]
        if fitted:
            n_fitted += 1
            plant = fitter.plants[hydro.id]
            if _has_usable_data(plant, fitted, problems) and hydro.id not in with_wrong_tailrace:
                _check_hydro(fitter, plant, fitted, problems)
    if files.production_models.fpha_plane_reduction is not None and not n_fitted:
        problems.warn(
            "IncompatibleSettings",
            MODELS,
            "fpha_plane_reduction has no effect: no planes are fitted",
            "remove it",
            field="fpha_plane_reduction",
            value=files.production_models.fpha_plane_reduction.method,
        )


def _has_usable_data(plant: Plant, fitted: Sequence[Fitted], problems: Problems) -> bool:
    if plant.forebay is None:
        problems.error(
            "CoverageMismatch",
            Place(GEOMETRY, called("hydro", plant.record), "hydro_id", plant.record.id),
            "planes are fitted to it, but it has no rows here, so its head is not known",
            f"add rows with hydro_id {plant.record.id}, or use source precomputed",
        )
        return False
    _warn_of_defaults(plant, problems)
    _warn_of_narrow_geometry(plant, plant.forebay, problems)
    configs = dict.fromkeys(config for _, config in fitted)
    if any(config.volume_discretization_points == 1 for config in configs):
        _warn_of_a_single_volume(plant, plant.forebay, problems)
    windows = [check_fitting_window(plant, plant.forebay, config, problems) for config in configs]
    return all(windows) and not np.any(np.diff(plant.forebay.ys) < 0.0)


def _check_hydro(fitter: Fitter, plant: Plant, fitted: Sequence[Fitted], problems: Problems) -> None:
    """Make each different fit of a plant once and look at it."""
    stages: dict[Arguments, list[int]] = {}
    limits: dict[Arguments, int | None] = {}
    for stage, config in fitted:
        arguments = fitter.arguments(plant.record, stage)
        if arguments is not None:
            stages.setdefault(arguments, []).append(stage.id)
            limits[arguments] = config.max_planes_per_hydro
    from cobre.production.fit import UnfittableProduction, fit_planes  # few cases ask for a fit

    for arguments, ids in stages.items():
        try:
            fit = fit_planes(*arguments)
        except UnfittableProduction as error:
            file, field = plant.tailrace_place
            problems.error(
                "PhysicalConstraint",
                Place(file, called("hydro", plant.record), field, error.value),
                f"{error} (stage {listed(ids)})",
                error.remedy,
            )
            continue
        check_fit_quality(fit, arguments[1], plant, ids, problems)
        check_heads(*arguments, plant, problems)
        check_plane_count(fit, limits[arguments], plant, problems)


def _warn_of_defaults(plant: Plant, problems: Problems) -> None:
    missing = [name for name in DEFAULTS if getattr(plant.record, name) is None]
    if plant.families and "tailrace" in missing:
        missing.remove("tailrace")
    if missing:
        problems.warn(
            "CoverageMismatch",
            Place(HYDROS, called("hydro", plant.record), missing[0], None),
            f"has no {', '.join(missing)}: its planes are fitted with {', '.join(DEFAULTS[name] for name in missing)}",
            f"give {' and '.join(missing)}",
        )


def _warn_of_narrow_geometry(plant: Plant, forebay: Curve, problems: Problems) -> None:
    basin = plant.record.reservoir
    if not basin.min_storage_hm3 < basin.max_storage_hm3:
        return
    if len(forebay.xs) == 1:
        message = f"has one row, at {forebay.first:g} hm3: its head is taken as the same at all volumes"
    elif forebay.first > basin.min_storage_hm3 or forebay.last < basin.max_storage_hm3:
        message = (
            f"its rows reach from {forebay.first:g} to {forebay.last:g} hm3, its storage from "
            f"{basin.min_storage_hm3:g} to {basin.max_storage_hm3:g}: beyond the rows its head stays the same"
        )
    else:
        return
    problems.warn(
        "CoverageMismatch",
        Place(GEOMETRY, called("hydro", plant.record), "volume_hm3", [forebay.first, forebay.last]),
        message,
        "add rows for the lowest and the highest storage",
    )


def _warn_of_a_single_volume(plant: Plant, forebay: Curve, problems: Problems) -> None:
    basin = plant.record.reservoir
    if len(forebay.xs) == 1 or not basin.min_storage_hm3 < basin.max_storage_hm3:
        return
    problems.warn(
        "PhysicalConstraint",
        Place(MODELS, called("hydro", plant.record), "fpha_config.volume_discretization_points", 1),
        "volume_discretization_points = 1 fits its planes at the lowest volume alone: its head is taken as the same "
        f"from {basin.min_storage_hm3:g} to {basin.max_storage_hm3:g} hm3, which the errors of the fit do not show",
        "take two points or more",
    )
