"""Noise of inflows that is not normal: a three-parameter lognormal, or residuals of the history drawn again.

**Lognormal.** η = e^ξ - d with ξ normal, mean 0 and variance 1, bounded below by -d: noise takes at most σd away from
an inflow. Skewed to the right, as flows are. ξ takes the place of the correlated normal noise, so the method of a
stage's openings and the correlation stay what they are. ``lognormal`` has σd = μ: the least inflow that noise alone can
cause is 0, and a negative one can only come from dry lags. ``lognormal_nonnegative`` has σd = base, so that the inflow
is at least Σ ψ lag, which is never negative where no ψ is; the noise is the more skewed the more the lags explain.
Where some ψ is negative or the base is not positive, no bound could promise that, and σd = μ.

**Bootstrap.** An opening takes the residuals of all plants in one historical year of its season, drawn at random. Their
dependence and their skew are the history's; correlations are not needed.

Both need the noise of loads and sources as it is, and replace only the hydros' columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre._native import fitting, noise
from cobre.arrays import Floats
from cobre.core.horizon import Stage
from cobre.core.scenarios import InflowResiduals
from cobre.stochastic.groups import noise_groups, noise_sources
from cobre.stochastic.trees import OpeningTree

__all__ = ["Lognormal", "ResidualNoise", "reach_of_noise"]

LARGEST_BOUND = 1e6
"""Beyond it the lognormal is normal to the last digit that matters."""


def reach_of_noise(kind: str, mean_m3s: Floats, base_m3s: Floats, psi: Floats) -> Floats:
    """The most (..., hydros) that noise may take away; ``psi`` is (..., lags, hydros)."""
    if kind != "lognormal_nonnegative":
        return mean_m3s
    return np.where((base_m3s > 0.0) & (psi >= 0.0).all(axis=-2), base_m3s, mean_m3s)


@dataclass(frozen=True, eq=False)
class ResidualNoise:
    """Turns normal noise of hydros, which come first among the entities, into what ``residuals`` says.

    ``reach_m3s``, the most that lognormal noise takes away, and ``sigma_m3s`` are (stages, hydros).
    """

    residuals: InflowResiduals
    stages: Sequence[Stage]
    reach_m3s: Floats
    sigma_m3s: Floats
    _shapes: dict[int, Lognormal] = field(default_factory=dict, init=False, repr=False)

    def shape_tree(self, tree: OpeningTree, tree_seed: int, block: range) -> None:
        """Replace the hydros' noise in the stages of ``block``; equal whichever rank owns the block."""
        n_hydros, sources = self.reach_m3s.shape[1], noise_sources(self.stages)
        for t in block:
            rows = tree.stage(t)
            if self.residuals.kind != "bootstrap":
                rows[:, :n_hydros] = self._lognormal(t).apply(rows[:, :n_hydros])
            else:
                years = self.residuals.vectors[t]
                chosen = _years_of_openings(tree_seed, self.stages[sources[t]].id, len(rows), len(years))
                rows[:, :n_hydros] = years[chosen]

    def shape_fresh(self, values: Floats, seed: int, iteration: int, scenarios: range) -> None:
        """The same for trajectories with noise of their own: ``values`` (scenarios, stages, entities), in place."""
        n_hydros, groups = self.reach_m3s.shape[1], noise_groups(self.stages)
        for t, group in enumerate(groups.tolist()):
            if self.residuals.kind != "bootstrap":
                values[:, t, :n_hydros] = self._lognormal(t).apply(values[:, t, :n_hydros])
                continue
            years = self.residuals.vectors[t]
            seeds = [
                noise.grouped_forward_seed(abs(seed), iteration, scenario, group) for scenario in scenarios
            ]
            values[:, t, :n_hydros] = years[[each % len(years) for each in seeds]]

    def _lognormal(self, t: int) -> Lognormal:
        if t not in self._shapes:
            self._shapes[t] = Lognormal.of_model(self.reach_m3s[t], self.sigma_m3s[t])
        return self._shapes[t]


@dataclass(frozen=True, eq=False)
class Lognormal:
    """η = e^ξ - d with mean 0 and variance 1, for bounds d (n); normal where a bound is not positive or very large.

    With θ = 1 + 1/d² the mean of ξ is ½ ln(1 / (θ (θ - 1))) = ½ ln(d⁴ / (d² + 1)) and its deviation √(ln θ).
    """

    bound: Floats
    mean: Floats
    deviation: Floats
    is_shaped: NDArray[np.bool_]

    @classmethod
    def of(cls, bound: Floats) -> Lognormal:
        is_shaped = (bound > 0.0) & (bound < LARGEST_BOUND)
        usable = np.where(is_shaped, bound, 1.0)
        square = usable * usable
        mean = [0.5 * noise.logarithm(value) for value in (square * square / (square + 1.0)).tolist()]
        variance = [max(noise.logarithm(value), 0.0) for value in (1.0 + 1.0 / square).tolist()]
        return cls(usable, np.array(mean), np.sqrt(np.array(variance)), is_shaped)

    @classmethod
    def of_model(cls, reach_m3s: Floats, sigma_m3s: Floats) -> Lognormal:
        """With d = reach / σ."""
        return cls.of(np.divide(reach_m3s, sigma_m3s, out=np.zeros_like(sigma_m3s), where=sigma_m3s > 0.0))

    def apply(self, normal: Floats) -> Floats:
        """η of normal numbers (..., n)."""
        shaped = np.ascontiguousarray(self.mean + self.deviation * normal)
        fitting.exponentials(shaped.reshape(-1))
        return np.where(self.is_shaped, shaped - self.bound, normal)


def _years_of_openings(tree_seed: int, stage_id: int, n_openings: int, n_years: int) -> list[int]:
    """A historical year per opening: all different while there are enough, else drawn one by one."""
    if n_openings > n_years:
        return [noise.opening_seed(abs(tree_seed), o, stage_id) % n_years for o in range(n_openings)]
    years, generator = list(range(n_years)), noise.Generator(noise.stage_seed(abs(tree_seed), stage_id))
    for i in range(n_years - 1, 0, -1):
        j = generator.below(i + 1)
        years[i], years[j] = years[j], years[i]
    return years[:n_openings]
