"""Matrices of parameters: a part of each in every run, all of it with COBRE_TEST_SOAK=1."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

IS_SOAK = bool(os.environ.get("COBRE_TEST_SOAK"))


def every_value_once(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each value of each axis occurs; every combination in a soak."""
    if IS_SOAK:
        return list(product(*axes))
    longest = max(len(axis) for axis in axes)
    return [tuple(axis[turn % len(axis)] for axis in axes) for turn in range(longest)]


def in_turn(first: Iterable[Any], *others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Each value of the first axis with one combination of the others, which take turns; every combination in a soak."""
    rest = list(product(*others))
    if IS_SOAK:
        return [(value, *combination) for value in first for combination in rest]
    return [(value, *rest[turn % len(rest)]) for turn, value in enumerate(first)]
