"""Matrices of parameters: a part of each in every run, all of it with COBRE_TEST_SOAK=1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

IS_SOAK = bool(os.environ.get("COBRE_TEST_SOAK"))


def every_value_once(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each value of each axis occurs; every combination in a soak."""
    if IS_SOAK:
        return list(product(*axes))
    longest = max(len(axis) for axis in axes)
    return [tuple(axis[turn % len(axis)] for axis in axes) for turn in range(longest)]
