"""Noise of inflows that is not normal: a three-parameter lognormal, or residuals of the history drawn again.

**Lognormal.** η = e^ξ - d with ξ normal, mean 0 and variance 1, bounded below by -d. With d = μ/σ the least inflow that
noise alone can cause is 0: a low inflow comes from dry lags, not from noise. Skewed to the right, as flows are. ξ takes
the place of the correlated normal noise, so the method of a stage's openings and the correlation stay what they are.

**Bootstrap.** An opening takes the residuals of all plants in one historical year of its season, drawn at random. Their
dependence and their skew are the history's; correlations are not needed.

Both need the noise of loads and sources as it is, and replace only the hydros' columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre._native import fitting, noise
from cobre.core.horizon import Stage
from cobre.core.scenarios import InflowResiduals
from cobre.stochastic.groups import noise_groups, noise_sources
from cobre.stochastic.trees import OpeningTree

__all__ = ["ResidualNoise", "lognormal", "lognormal_parameters"]

Floats = NDArray[np.float64]

LARGEST_BOUND = 1e6
"""Beyond it the lognormal is normal to the last digit that matters."""


@dataclass(frozen=True, eq=False)
class ResidualNoise:
    """Turns normal noise of hydros, which come first among the entities, into what ``residuals`` says.

    ``mean_m3s`` and ``sigma_m3s`` are (stages, hydros).
    """

    residuals: InflowResiduals
    stages: Sequence[Stage]
    mean_m3s: Floats
    sigma_m3s: Floats

    def shape_tree(self, tree: OpeningTree, tree_seed: int, block: range) -> None:
        """Replace the hydros' noise in the stages of ``block``; the same whoever owns which block."""
        n_hydros, sources = self.mean_m3s.shape[1], noise_sources(self.stages)
        for t in block:
            rows = tree.stage(t)
            if self.residuals.kind == "lognormal":
                rows[:, :n_hydros] = self._lognormal(t, rows[:, :n_hydros])
            else:
                years = self.residuals.vectors[t]
                chosen = _years_of_openings(tree_seed, self.stages[sources[t]].id, len(rows), len(years))
                rows[:, :n_hydros] = years[chosen]

    def shape_fresh(self, values: Floats, seed: int, iteration: int, scenarios: range) -> None:
        """The same for trajectories with noise of their own: ``values`` (scenarios, stages, entities), in place."""
        n_hydros, groups = self.mean_m3s.shape[1], noise_groups(self.stages)
        for t, group in enumerate(groups.tolist()):
            if self.residuals.kind == "lognormal":
                values[:, t, :n_hydros] = self._lognormal(t, values[:, t, :n_hydros])
                continue
            years = self.residuals.vectors[t]
            seeds = [
                noise.grouped_forward_seed(abs(seed), iteration, scenario, group) for scenario in scenarios
            ]
            values[:, t, :n_hydros] = years[[each % len(years) for each in seeds]]

    def _lognormal(self, t: int, normal: Floats) -> Floats:
        sigma = self.sigma_m3s[t]
        bound = np.divide(self.mean_m3s[t], sigma, out=np.zeros_like(sigma), where=sigma > 0.0)
        return lognormal(normal, bound)


def lognormal_parameters(bound: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of ξ for η = e^ξ - d with mean 0 and variance 1, for bounds d > 0.

    With θ = 1 + 1/d²: ½ ln(1 / (θ (θ - 1))) = ½ ln(d⁴ / (d² + 1)), and √(ln θ).
    """
    square = bound * bound
    inverse = 1.0 + 1.0 / square
    mean = [0.5 * noise.logarithm(float(value)) for value in np.ravel(square * square / (square + 1.0))]
    spread = [max(noise.logarithm(float(value)), 0.0) for value in np.ravel(inverse)]
    return np.array(mean).reshape(bound.shape), np.sqrt(np.array(spread).reshape(bound.shape))


def lognormal(normal: Floats, bound: Floats) -> Floats:
    """η of normal numbers (..., n) for bounds (n); unchanged where a bound is not positive or very large."""
    is_shaped = (bound > 0.0) & (bound < LARGEST_BOUND)
    usable = np.where(is_shaped, bound, 1.0)
    mean, spread = lognormal_parameters(usable)
    shaped = np.ascontiguousarray(mean + spread * normal)
    fitting.exponentials(shaped.reshape(-1))
    return np.where(is_shaped, shaped - usable, normal)


def _years_of_openings(tree_seed: int, stage_id: int, n_openings: int, n_years: int) -> list[int]:
    """A historical year per opening: all different while there are enough, else drawn one by one."""
    if n_openings > n_years:
        return [noise.opening_seed(abs(tree_seed), o, stage_id) % n_years for o in range(n_openings)]
    years, generator = list(range(n_years)), noise.Generator(noise.stage_seed(abs(tree_seed), stage_id))
    for i in range(n_years - 1, 0, -1):
        j = generator.below(i + 1)
        years[i], years[j] = years[j], years[i]
    return years[:n_openings]
