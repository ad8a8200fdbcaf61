"""Warnings about fitted production planes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cobre.core.production import PlaneFit
from cobre.io.assemble.plants import Plant
from cobre.io.problems import Place, Problems
from cobre.io.validate.naming import called, listed

if TYPE_CHECKING:
    from cobre.production.fit import FitSettings
    from cobre.production.function import ProductionFunction

MODELS = "system/hydro_production_models.json"
LARGEST_ERROR = 0.02
"""Mean error of a fit, as a share of the largest power, beyond which a planner is warned."""
N_FLOWS = 33
"""Flows at which the tail water is looked at."""


def check_fit_quality(
    fit: PlaneFit, settings: FitSettings, plant: Plant, stages: Sequence[int], problems: Problems
) -> None:
    """Warn of planes that are far from the exact power, or negative at the lowest storage."""
    owner = called("hydro", plant.record)
    merge = "" if settings.reduction is None else "merge fewer planes (fpha_plane_reduction), "
    if fit.relative_error > LARGEST_ERROR:
        problems.warn(
            "PhysicalConstraint",
            Place(MODELS, owner, "fpha_config", fit.relative_error),
            f"its fitted planes differ from the exact power by {100.0 * fit.relative_error:.3g} % of "
            f"{fit.peak_mw:g} MW on average, at most by {max(fit.max_deviation_mw, fit.fine_max_mw):.3g} MW "
            f"(stage {listed(stages)})",
            f"{merge}take more discretization points or a narrower fitting_window, and look at "
            "fpha_deviation_points.parquet",
        )
    lowest = float(plant.record.reservoir.min_storage_hm3)
    idle = float((fit.planes[:, 0] + fit.planes[:, 1] * lowest).min())
    if idle < -1e-9 * fit.peak_mw:
        steepest = fit.planes[int(np.argmin(fit.planes[:, 0] + fit.planes[:, 1] * lowest))]
        problems.warn(
            "PhysicalConstraint",
            Place(MODELS, owner, "fpha_config.fitting_window", float(fit.volumes_hm3[0])),
            f"its planes were fitted from {fit.volumes_hm3[0]:g} hm3 on and are negative at the lowest storage, "
            f"{lowest:g} hm3, so that the mean storage of a stage cannot be below {-steepest[0] / steepest[1]:g} hm3",
            "let geometry and fitting_window begin at the lowest storage",
        )


def check_heads(
    function: ProductionFunction, settings: FitSettings, plant: Plant, problems: Problems
) -> None:
    """Warn of tail water above the forebay, and of tail water that falls with the flow."""
    heads = [
        function.net_head(settings.low_volume_hm3, float(flow))
        for flow in np.linspace(0.0, function.max_turbined_m3s, settings.n_flows)
    ]
    heights = [
        function.tailrace.height(float(flow)) for flow in np.linspace(0.0, function.max_turbined_m3s, N_FLOWS)
    ]
    falls = [(before, after) for before, after in pairwise(heights) if after < before]
    file, field = plant.tailrace_place
    place = {"entity": called("hydro", plant.record), "field": field}
    if min(heads) <= 0.0:
        problems.warn(
            "PhysicalConstraint",
            file,
            f"its tail water stands above the forebay at {settings.low_volume_hm3:g} hm3: the net head falls to "
            f"{min(heads):g} m, where it gives no power",
            "check the heights of the geometry and of the tailrace: both count from the same level",
            value=min(heads),
            **place,
        )
    if falls:
        problems.warn(
            "PhysicalConstraint",
            file,
            f"its tail water falls from {falls[0][0]:g} to {falls[0][1]:g} m while more is turbined",
            "let the height of the tail water grow with the outflow",
            value=falls[0][1],
            **place,
        )


def check_plane_count(fit: PlaneFit, limit: int | None, plant: Plant, problems: Problems) -> None:
    """Warn where there are more planes than the case allows: the number is not limited."""
    if limit is not None and len(fit.planes) > limit:
        problems.warn(
            "IncompatibleSettings",
            Place(MODELS, called("hydro", plant.record), "fpha_config.max_planes_per_hydro", limit),
            f"max_planes_per_hydro = {limit} has no effect: the fit has {len(fit.planes)} planes",
            "merge similar planes with fpha_plane_reduction, or take fewer discretization points",
        )
