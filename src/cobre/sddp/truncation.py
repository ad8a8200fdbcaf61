"""Inflows that may not be negative although their model says so, and cuts that stay below the cost all the same.

The inflow of a hydro is ``z = max(0, a)`` with ``a = psi . lags + e``; ``e`` belongs to the opening. The stage
problem is convex in ``z``, but ``max(0, a)`` bends the wrong way where more water is worth money: as a
function of the lags the cost has a concave kink at ``a = 0``. A cut whose slope ignores the clamp is too
high wherever ``a`` is negative, and one with slope zero where it is positive. So each cut uses an affine function
that is nowhere above ``dual * max(0, a)`` for all values that ``a`` can take in the tree: the chord between its least
and its greatest one. The lower bound then is one; it stays below the optimum by what the kink costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats


@dataclass(frozen=True, eq=False)
class Truncation:
    """The clamp of one stage."""

    lag_coefficients: Floats
    """``psi [hydro, lag]``."""
    is_random: NDArray[np.bool_]
    """``[hydro]``: an inflow without noise is never clamped."""
    noise_m3s: Floats
    """``e [opening, hydro]``, the inflow of each opening without its lag terms."""
    lowest_past_m3s: Floats
    """``[hydro]``: the least that ``psi . lags`` can be in this stage, over all histories of the tree."""
    highest_past_m3s: Floats
    """``[hydro]``."""

    def raised(self, states_lags: Floats, noise: Floats) -> Floats:
        """``noise [n, hydro]`` with each clamped inflow's term raised so that the inflow is 0."""
        past = lag_terms(self.lag_coefficients, states_lags)
        return np.where(self.is_random, np.maximum(noise, -past), noise)

    def corrections(self, lags: Floats, inflow_duals: Floats) -> tuple[Floats, Floats]:
        """What to add to gradients and constants of cuts that a plain dual solution gives.

        ``lags [point, lag, hydro]``, ``inflow_duals [point, opening, hydro]``; the result is ``[point, opening,
        lag, hydro]`` for the gradient with respect to the lags, and ``[point, opening]`` for the constant.
        """
        past = lag_terms(self.lag_coefficients, lags)[:, np.newaxis, :]
        used = np.where(self.is_random, np.maximum(self.noise_m3s, -past), self.noise_m3s)
        slope, constant = self._minorant(inflow_duals, past + self.noise_m3s)
        change = slope - inflow_duals
        gradients = change[:, :, np.newaxis, :] * self.lag_coefficients.T
        terms = (slope * self.noise_m3s - inflow_duals * used) + constant
        constants = (
            np.add.accumulate(terms, axis=2)[:, :, -1] if terms.shape[2] else np.zeros(terms.shape[:2])
        )
        return gradients, constants

    def _minorant(self, dual: Floats, now: Floats) -> tuple[Floats, Floats]:
        """``slope * a + constant <= dual * max(0, a)`` for every ``a`` of the tree; exact where there is no kink."""
        low, high = self.noise_m3s + self.lowest_past_m3s, self.noise_m3s + self.highest_past_m3s
        never_clamped = (low >= 0.0) | ~self.is_random
        width = np.where(high > low, high - low, 1.0)
        chord = dual * high / width
        slope = np.where(dual < 0.0, np.where(high <= 0.0, 0.0, chord), np.where(now >= 0.0, dual, 0.0))
        constant = np.where((dual < 0.0) & (high > 0.0), -chord * low, 0.0)
        return np.where(never_clamped, dual, slope), np.where(never_clamped, 0.0, constant)


def lag_terms(lag_coefficients: Floats, lags: Floats) -> Floats:
    """``sum over lags of psi[hydro, lag] * lags[..., lag, hydro]``, nearest lag first."""
    total = np.zeros((*lags.shape[:-2], lags.shape[-1]))
    for lag in range(lags.shape[-2]):
        total += lag_coefficients[:, lag] * lags[..., lag, :]
    return total


@dataclass(frozen=True)
class Histories:
    """What inflows can be: the first three by stage."""

    lag_coefficients: Sequence[Floats]
    is_clamped: Sequence[NDArray[np.bool_]]
    """Of hydros whose inflow is never below 0."""
    noise_m3s: Sequence[Floats]
    first_lags: Floats
    """``[lag, hydro]``: the inflows before the study."""
    advance: Callable[[int, Floats, Floats], Floats]
    """``(stage, lags, inflow)``: the lags of the next stage. It must not fall where they or the inflow grow."""

    def stages(self) -> Iterator[tuple[Floats, NDArray[np.bool_], Floats]]:
        """Coefficients, which hydros are clamped, and noise."""
        return zip(self.lag_coefficients, self.is_clamped, self.noise_m3s, strict=True)


def truncations(tree: Histories) -> list[Truncation]:
    """The clamps of all stages."""
    found = []
    for (psi, random, noise), (low, high) in zip(tree.stages(), lag_ranges(tree)[:-1], strict=True):
        lowest, highest = _past_range(psi, low, high)
        found.append(Truncation(psi, random, noise, lowest, highest))
    return found


def lag_ranges(tree: Histories) -> list[tuple[Floats, Floats]]:
    """The least and greatest lags, each ``[lag, hydro]``, that a stage can begin with over all histories of the tree.

    One entry more than there are stages: the last one is about what the last stage leaves.
    """
    low, high = tree.first_lags.copy(), tree.first_lags.copy()
    found = [(low, high)]
    for stage, (psi, clamped, noise) in enumerate(tree.stages()):
        lowest, highest = _past_range(psi, low, high)
        least, most = noise.min(axis=0) + lowest, noise.max(axis=0) + highest
        least, most = (np.where(clamped, np.maximum(end, 0.0), end) for end in (least, most))
        low, high = tree.advance(stage, low, least), tree.advance(stage, high, most)
        found.append((low, high))
    return found


def _past_range(psi: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    upward, downward = np.maximum(psi, 0.0), np.minimum(psi, 0.0)
    return (
        lag_terms(upward, low) + lag_terms(downward, high),
        lag_terms(upward, high) + lag_terms(downward, low),
    )
