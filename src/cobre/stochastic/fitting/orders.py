"""How many lags a season gets: by partial autocorrelation, or by an information criterion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre._native import noise
from cobre.arrays import Floats, Ints

__all__ = ["information_orders", "significance_bound", "significant_orders"]

CONFIDENCE_95 = 1.96
FEWEST_FOR_LAGS = 3
"""Two observations correlate perfectly whatever they are."""


def significance_bound(count: Ints) -> Floats:
    """1.96 / √N, beyond which a partial autocorrelation is taken for real; infinite without observations."""
    return np.where(count > 0, CONFIDENCE_95 / np.sqrt(np.maximum(count, 1)), np.inf)


def significant_orders(partial: Floats, count: Ints, *, at_least_one: bool = False) -> Ints:
    """For every ceiling 0..P the largest lag up to it that is significant: (..., P + 1), 0 if none is.

    ``partial`` is (..., P), NaN where the equations had no solution; ``count`` the observations (...). With
    ``at_least_one`` the order is at least 1, unless the value at lag 1 is exactly 0 (the rule of PAR(p)-A).
    """
    n_lags = partial.shape[-1]
    is_usable = count >= FEWEST_FOR_LAGS
    bound = significance_bound(count)[..., np.newaxis]
    is_significant = np.nan_to_num(np.abs(partial)) > bound
    orders = np.zeros((*count.shape, n_lags + 1), dtype=np.int64)
    for ceiling in range(1, n_lags + 1):
        orders[..., ceiling] = np.where(is_significant[..., ceiling - 1], ceiling, orders[..., ceiling - 1])
    if at_least_one and n_lags:
        first = np.nan_to_num(partial[..., :1])
        orders[..., 1:] = np.where(first == 0.0, 0, np.maximum(orders[..., 1:], 1))
    return np.where(is_usable[..., np.newaxis], orders, 0)


def information_orders(variance: Floats, count: Ints, criterion: str) -> Ints:
    """For every ceiling 0..P the order up to it with the least criterion: (..., P + 1); the smaller one on ties.

    ``variance`` (..., P) is the share of variance that orders 1..P leave unexplained, NaN where there is no
    solution. AIC = N ln σ² + 2k and BIC = N ln σ² + k ln N; order 0 has 0.
    """
    n_lags = variance.shape[-1]
    best = np.zeros(count.shape)
    orders = np.zeros((*count.shape, n_lags + 1), dtype=np.int64)
    price = np.where(count > 1, 2.0 if criterion == "aic" else _logarithms(np.maximum(count, 1)), 0.0)
    for k in range(1, n_lags + 1):
        left = np.nan_to_num(variance[..., k - 1])
        is_valid = (left > 0.0) & (count >= FEWEST_FOR_LAGS)
        value = count * _logarithms(np.where(is_valid, left, 1.0)) + k * price
        is_better = is_valid & (value < best - TIE * np.abs(best))
        orders[..., k] = np.where(is_better, k, orders[..., k - 1])
        best = np.where(is_better, value, best)
    return orders


TIE = 1e-12
"""Criteria that differ by less, relatively, differ by rounding."""


def _logarithms(values: NDArray[np.generic]) -> Floats:
    """Natural logarithms with the same bits on every machine."""
    flat = [noise.logarithm(float(value)) for value in np.ravel(values)]
    return np.array(flat).reshape(np.shape(values))
