"""Checks of volumes that planners choose: fitting windows and reference volumes."""

from __future__ import annotations

from collections.abc import Iterator

from cobre.io.assemble.fitting import wanted_window
from cobre.io.assemble.plants import Plant
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import FphaConfigRecord, ModelChoice, StageRangesRecord
from cobre.io.validate.naming import called
from cobre.production.curve import Curve

MODELS = "system/hydro_production_models.json"


def check_fitting_window(plant: Plant, forebay: Curve, config: FphaConfigRecord, problems: Problems) -> bool:
    """Report a window that is given twice, empty or outside the geometry; whether it is good."""
    given, owner = config.fitting_window, called("hydro", plant.record)
    if given is None:
        return True
    is_good = True
    for end in ("min", "max"):
        volume, share = getattr(given, f"volume_{end}_hm3"), getattr(given, f"volume_{end}_percentile")
        if volume is not None and share is not None:
            is_good = False
            problems.error(
                "IncompatibleSettings",
                Place(MODELS, owner, f"fpha_config.fitting_window.volume_{end}_hm3", volume),
                f"volume_{end}_hm3 = {volume:g} and volume_{end}_percentile = {share:g} are both given",
                "keep one of the two",
            )
    low, high = wanted_window(plant, forebay, config)
    is_empty = low > high
    is_outside = forebay.first < forebay.last and (high < forebay.first or forebay.last < low)
    if is_empty or is_outside:
        is_good = False
        problems.error(
            "OutOfRange",
            Place(MODELS, owner, "fpha_config.fitting_window", [low, high]),
            f"the fitting window from {low:g} to {high:g} hm3 "
            + (
                "is empty"
                if is_empty
                else f"lies outside the geometry, {forebay.first:g} to {forebay.last:g} hm3"
            ),
            "let the window begin below its end and overlap the geometry",
        )
    return is_good


def check_reference_volumes(files: CaseFiles, problems: Problems) -> None:
    """Report reference volumes that say two things or nothing, and those outside their reservoir."""
    hydros = {hydro.id: hydro for hydro in files.hydros.hydros}
    for hydro_id, choice in _choices(files):
        given, hydro = choice.reference_volume, hydros.get(hydro_id)
        if given is None:
            continue
        place = {
            "entity": f"hydro {hydro_id}" if hydro is None else called("hydro", hydro),
            "field": "reference_volume",
        }
        if (given.volume_hm3 is None) == (given.percentile is None):
            both = given.volume_hm3 is not None
            problems.error(
                "IncompatibleSettings",
                MODELS,
                "reference_volume has "
                + ("volume_hm3 and percentile" if both else "neither volume_hm3 nor percentile"),
                "give one of the two",
                value=given.volume_hm3,
                **place,
            )
        elif given.volume_hm3 is not None and hydro is not None:
            low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
            if not low <= given.volume_hm3 <= high:
                problems.warn(
                    "OutOfRange",
                    MODELS,
                    f"reference_volume = {given.volume_hm3:g} hm3 is outside its reservoir's {low:g} to {high:g}",
                    "give a volume between the lowest and the highest storage",
                    value=given.volume_hm3,
                    **place,
                )


def _choices(files: CaseFiles) -> Iterator[tuple[int, ModelChoice]]:
    for entry in files.production_models.production_models:
        for choice in entry.stage_ranges if isinstance(entry, StageRangesRecord) else entry.seasons:
            yield entry.hydro_id, choice
