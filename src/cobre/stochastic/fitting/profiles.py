"""Correlation profiles: how the noises of plants go together, in all seasons and in each with enough data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.model import DEFAULT_PROFILE, LevelFit
from cobre.stochastic.fitting.spatial import FEWEST_COMMON, correlation_matrix, repaired

__all__ = ["correlation_profiles"]

Floats = NDArray[np.float64]


def correlation_profiles(
    levels: Sequence[LevelFit], findings: list[Finding]
) -> tuple[dict[str, Floats], dict[int, str]]:
    """Profiles by name, and which season uses which: its own where every pair has enough dates, else its level's."""
    profiles: dict[str, Floats] = {}
    of_season: dict[int, str] = {}
    for number, fit in enumerate(levels):
        name = DEFAULT_PROFILE if number == 0 else f"level_{number}"
        matrix, common = correlation_matrix(fit.residuals)
        profiles[name] = _repaired(matrix, name, findings)
        if number == 0:
            findings += _common_findings(common)
        n_seasons = fit.level.n_seasons
        for s, season in enumerate(fit.level.season_ids):
            if season is None:
                continue
            if number:
                of_season[season] = name
            matrix, common = correlation_matrix(fit.residuals[:, s::n_seasons])
            if n_seasons > 1 and len(common) > 1 and common.min() >= FEWEST_COMMON:
                of_season[season] = f"season_{season:0{len(str(n_seasons - 1))}d}"
                profiles[of_season[season]] = _repaired(matrix, of_season[season], findings)
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


def _repaired(matrix: Floats, name: str, findings: list[Finding]) -> Floats:
    result = repaired(matrix)
    if result.smallest_eigenvalue is not None:
        findings.append(
            Finding(
                "warning",
                "OutOfRange",
                f"the correlations of profile {name} contradict each other (smallest eigenvalue "
                f"{result.smallest_eigenvalue:.3g}); the nearest ones that do not are used",
                "give all plants records of the same years",
                value=result.smallest_eigenvalue,
            )
        )
    return result.matrix
