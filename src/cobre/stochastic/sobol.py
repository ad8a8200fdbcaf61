"""Direction numbers of Sobol points, from the table of Joe and Kuo (new-joe-kuo-6.21201)."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from cobre._native import noise
from cobre.errors import ValidationError

__all__ = ["MAX_SOBOL_DIMENSIONS", "sobol_directions"]

MAX_SOBOL_DIMENSIONS = 21_201
"""As many dimensions as the table has: entities with noise in one class, or in one stage of the tree."""

_BITS = 32
_TABLE = "sobol_directions.bin"


@lru_cache(maxsize=4)
def sobol_directions(n_dimensions: int) -> NDArray[np.uint32]:
    """Row d has the 32 direction numbers of dimension d, the most significant bit first."""
    if n_dimensions > MAX_SOBOL_DIMENSIONS:
        raise ValidationError(
            f"Sobol points have at most {MAX_SOBOL_DIMENSIONS} dimensions, and the study needs {n_dimensions}",
            kind="OutOfRange",
            context={"file": "stages.json", "field": "sampling_method", "dimensions": n_dimensions},
            suggestion="give the openings in scenarios/noise_openings.parquet",
        )
    directions = np.empty((n_dimensions, _BITS), dtype=np.uint32)
    noise.sobol_directions((files("cobre.stochastic") / _TABLE).read_bytes(), directions)
    directions.flags.writeable = False
    return directions
