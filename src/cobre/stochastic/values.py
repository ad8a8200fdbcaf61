"""Loads and availabilities from noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cobre.arrays import Floats

__all__ = ["availability_mw", "load_mw"]


def load_mw(mean_mw: ArrayLike, std_mw: ArrayLike, eta: ArrayLike) -> Floats:
    """max(0, mean + std η), before the factor of a block; the arguments broadcast."""
    return _floats(np.maximum(0.0, _floats(mean_mw) + _floats(std_mw) * _floats(eta)))


def availability_mw(mean: ArrayLike, std: ArrayLike, eta: ArrayLike, installed_mw: ArrayLike) -> Floats:
    """Installed power times mean + std η, which is kept within 0..1, before the factor of a block.

    ``mean`` and ``std`` are fractions of the installed power; the arguments broadcast.
    """
    share = np.clip(_floats(mean) + _floats(std) * _floats(eta), 0.0, 1.0)
    return share * _floats(installed_mw)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
