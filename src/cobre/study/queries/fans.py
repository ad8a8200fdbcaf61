"""Mean and quantiles over scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._native import output
from cobre.arrays import Floats
from cobre.draw.charts import SHARES

LARGE = 1 << 20
"""Values that are worth a second thread."""


@dataclass(frozen=True)
class Fan:
    """One value per place (a stage, say) for the mean and for each of `SHARES`."""

    mean: Floats
    quantiles: Floats
    """``[share, …place]``."""

    def at(self, share: float) -> Floats:
        """The quantile of one of `SHARES`."""
        found: Floats = self.quantiles[SHARES.index(share)]
        return found

    def of(self, entity: int) -> Fan:
        """That of one entity where places are ``[stage, entity]``."""
        return Fan(self.mean[:, entity], self.quantiles[:, :, entity])


def mean_of(values: NDArray[Any], weights: Floats | None = None) -> Any:
    """Over the first axis of ``values [scenario, …place]``; ``weights`` are the probabilities of scenarios."""
    if weights is None:
        return values.mean(axis=0)
    return (values * weights.reshape(-1, *[1] * (values.ndim - 1))).sum(axis=0)


def quantiles_of(values: Floats, shares: Sequence[float], weights: Floats | None = None) -> Floats:
    """``[share, …place]`` over the first axis of ``values [scenario, …place]``."""
    if weights is None:
        found: Floats = np.quantile(values, shares, axis=0)
        return found
    flat = values.reshape(len(values), -1)
    by_place = [weighted_quantiles(each, weights, shares) for each in flat.T]
    return np.stack(by_place, axis=1).reshape(len(shares), *values.shape[1:])


def fan_of(values: Floats, weights: Floats | None = None) -> Fan:
    """Over the first axis of ``values [scenario, …place]``; NaN at a place where a scenario has no value."""
    if weights is not None:
        found = quantiles_of(values, SHARES, weights)
        found[:, np.isnan(values).any(axis=0)] = np.nan
        return Fan(mean_of(values, weights), found)
    n, places = len(values), values.shape[1:]
    neighbours = [_neighbours(share, n) for share in SHARES]
    ranks = sorted({rank for low, high, _ in neighbours for rank in (low, high)})
    flat = np.ascontiguousarray(values).reshape(n, -1)
    found = np.empty((flat.shape[1], len(ranks)))

    def fill(part: slice) -> None:
        output.values_at_ranks(flat[:, part], ranks, found[part])

    if flat.size < LARGE:
        fill(slice(None))
    else:
        middle = flat.shape[1] // 2
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(fill, (slice(middle), slice(middle, None))))
    at = {rank: found[:, k] for k, rank in enumerate(ranks)}
    quantiles = np.stack([at[low] + part * (at[high] - at[low]) for low, high, part in neighbours])
    return Fan(values.mean(axis=0), quantiles.reshape(len(SHARES), *places))


def _neighbours(share: float, n: int) -> tuple[int, int, float]:
    """The two ranks of ``n`` values between which a quantile lies, and how far: as `numpy.quantile` has it."""
    place = share * (n - 1)
    low = int(place)
    return low, min(low + 1, n - 1), place - low


def weighted_quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> Floats:
    """The value below which a share of all weight lies, for each of ``shares``."""
    order = np.argsort(values, kind="stable")
    heights = np.cumsum(weights[order])
    places = np.searchsorted(heights, np.asarray(shares) * heights[-1], side="left")
    found: Floats = values[order][np.minimum(places, len(order) - 1)]
    return found
