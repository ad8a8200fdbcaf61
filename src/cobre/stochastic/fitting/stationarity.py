"""Whether a periodic autoregression settles, or grows without bound."""

from __future__ import annotations

import math

import numpy as np

from cobre.arrays import Floats
from cobre.stochastic.fitting.arithmetic import matrix_product
from cobre.stochastic.fitting.closure import Closure

__all__ = ["spectral_radius", "stationarity_problem"]

CORRELATION_TOLERANCE = 1e-9
LEAST_VARIANCE = 1e-12
RADIUS_TOLERANCE = 1e-9
SQUARINGS = 45
"""‖Mⁿ‖^(1/n) is the spectral radius up to a factor n^(K/n); with n = 2^45 that is less than rounding."""


def spectral_radius(phi: Floats) -> Floats:
    """What a year multiplies a disturbance by, for coefficients (hydros, seasons, P): below 1 it dies out.

    The largest absolute eigenvalue of the product of the seasons' companion matrices, by repeated squaring.
    """
    n_hydros, n_seasons, n_lags = phi.shape
    if n_lags == 0:
        return np.zeros(n_hydros)
    product = np.tile(np.eye(n_lags), (n_hydros, 1, 1))
    for season in range(n_seasons):
        companion = np.tile(np.eye(n_lags, k=-1), (n_hydros, 1, 1))
        companion[:, 0] = phi[:, season]
        product = matrix_product(companion, product)
    return _largest_eigenvalues(product)


def _largest_eigenvalues(matrices: Floats) -> Floats:
    """‖Mⁿ‖^(1/n) of each matrix with n = 2^SQUARINGS; its logarithm is carried along, as Mⁿ itself may not fit."""
    log_norm = np.zeros(len(matrices))
    is_zero = np.zeros(len(matrices), dtype=bool)
    for squaring in range(SQUARINGS + 1):
        largest = np.abs(matrices).max(axis=(1, 2))
        is_zero |= largest == 0.0
        largest = np.where(is_zero, 1.0, largest)
        log_norm = log_norm + np.array([math.log(value) for value in largest])
        if squaring < SQUARINGS:
            scaled = matrices / largest[:, np.newaxis, np.newaxis]
            matrices = matrix_product(scaled, scaled)
            log_norm = 2.0 * log_norm
    radius = [math.exp(value / 2.0**SQUARINGS) for value in log_norm]
    return np.where(is_zero, 0.0, radius)


def stationarity_problem(closure: Closure, radius: Floats, hydro: int) -> str | None:
    """Why the model of a hydro is not stationary, in words; None if it is."""
    if closure.is_singular[hydro]:
        return "its correlations are not determined (the closure equations are singular)"
    largest = float(np.abs(closure.rho[hydro]).max())
    if largest > 1.0 + CORRELATION_TOLERANCE:
        return f"it implies a correlation of {largest:.6g}"
    least = float(closure.variance[hydro].min())
    if least <= LEAST_VARIANCE:
        return f"it leaves no variance for the noise of a season ({least:.3g} of 1)"
    if radius[hydro] >= 1.0 - RADIUS_TOLERANCE:
        return f"a disturbance is multiplied by {radius[hydro]:.9g} every year and never dies out"
    return None
