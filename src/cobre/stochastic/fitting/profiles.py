"""Correlation profiles: correlation of the noises of plants, in all seasons and in each with enough data.

Noise is not divided by its share of the deviation, so that seasons of much noise count more in the matrix of all
seasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.wording import listed
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.model import DEFAULT_PROFILE, LevelFit
from cobre.stochastic.fitting.spatial import FEWEST_COMMON, correlation_matrix, repaired

__all__ = ["correlation_profiles"]


class Mended(NamedTuple):
    """A profile that noise cannot have as it was."""

    name: str
    smallest_eigenvalue: float
    fewest_common: int
    """Dates of the pair that has the fewest in common."""


def correlation_profiles(
    levels: Sequence[LevelFit], findings: list[Finding]
) -> tuple[dict[str, Floats], dict[int, str]]:
    """Profiles by name, and which season uses which: its own where every pair has enough dates, else its level's."""
    profiles: dict[str, Floats] = {}
    of_season: dict[int, str] = {}
    mended: list[Mended] = []
    for number, fit in enumerate(levels):
        name = DEFAULT_PROFILE if number == 0 else f"level_{number}"
        matrix, common = correlation_matrix(fit.unexplained)
        profiles[name] = _repaired(matrix, common, name, mended)
        if number == 0:
            findings += _common_findings(common)
        n_seasons = fit.level.n_seasons
        for s, season in enumerate(fit.level.season_ids):
            if season is None:
                continue
            if number:
                of_season[season] = name
            matrix, common = correlation_matrix(fit.unexplained[:, s::n_seasons])
            if n_seasons > 1 and len(common) > 1 and common.min() >= FEWEST_COMMON:
                of_season[season] = f"season_{season:0{len(str(n_seasons - 1))}d}"
                profiles[of_season[season]] = _repaired(matrix, common, of_season[season], mended)
    findings += _mended_findings(mended, len(levels[0].unexplained) if levels else 0)
    return profiles, of_season


def _common_findings(common: NDArray[np.int64]) -> Iterator[Finding]:
    """Plants whose records hardly overlap; ``common`` has the dates that each pair shares."""
    own = np.diagonal(common)
    is_few = (common < FEWEST_COMMON) & (2 * common < np.minimum(own[:, np.newaxis], own))
    for h in np.flatnonzero(is_few.any(axis=1)).tolist():
        least = int(common[h, is_few[h]].min())
        yield Finding(
            "warning",
            "CoverageMismatch",
            f"has fewer than {FEWEST_COMMON} dates in common with {np.count_nonzero(is_few[h])} of {len(own) - 1} "
            f"other plants, with one only {least}: their correlation is uncertain, and 0 with fewer than two",
            "give all plants records of the same years, or scenarios/correlation.json",
            h,
            value=least,
        )


def _repaired(matrix: Floats, common: NDArray[np.int64], name: str, mended: list[Mended]) -> Floats:
    result = repaired(matrix)
    if result.smallest_eigenvalue is not None:
        mended.append(Mended(name, result.smallest_eigenvalue, int(common.min())))
    return result.matrix


def _mended_findings(mended: Sequence[Mended], n_hydros: int) -> Iterator[Finding]:
    """Profiles that noise cannot have: from records of different years, or from fewer dates than plants."""
    many = [each for each in mended if FEWEST_COMMON <= each.fewest_common < n_hydros]
    rest = [each for each in mended if each not in many]
    if many:
        least = min(each.fewest_common for each in many)
        smallest = min(each.smallest_eigenvalue for each in many)
        yield Finding(
            "warning",
            "OutOfRange",
            f"{n_hydros} plants, of which a pair has only {least} dates in common, leave correlations that no noise "
            f"can have in profile {_names(many)} (smallest eigenvalue {smallest:.3g}); the nearest that it can have "
            "are used",
            "ignore this if the eigenvalue is small; else give longer records of the same years, or "
            "scenarios/correlation.json",
            value=smallest,
        )
    if rest:
        smallest = min(each.smallest_eigenvalue for each in rest)
        yield Finding(
            "warning",
            "OutOfRange",
            f"the correlations of profile {_names(rest)} contradict each other (smallest eigenvalue {smallest:.3g}); "
            "the nearest ones that do not are used",
            "give all plants records of the same years",
            value=smallest,
        )


def _names(mended: Sequence[Mended]) -> str:
    return listed((each.name for each in mended), len(mended))
