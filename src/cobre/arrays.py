"""The types of arrays that annotations use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.int64]
"""Positions in another array; columns or rows of a stage problem."""
