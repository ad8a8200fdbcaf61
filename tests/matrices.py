"""Matrices of parameters: a part of each in every run, all of it with COBRE_TEST_SOAK=1."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any
from zlib import crc32

import pytest

IS_SOAK = bool(os.environ.get("COBRE_TEST_SOAK"))


def every_value_once(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each value of each axis occurs; every combination in a soak."""
    if IS_SOAK:
        return list(product(*axes))
    longest = max(len(axis) for axis in axes)
    return [tuple(axis[turn % len(axis)] for axis in axes) for turn in range(longest)]


def in_turn(first: Iterable[Any], *others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Each value of the first axis with one combination of the others in turn; every combination in a soak."""
    rest = list(product(*others))
    if IS_SOAK:
        return [(value, *combination) for value in first for combination in rest]
    return [(value, *rest[turn % len(rest)]) for turn, value in enumerate(first)]


def take_turns(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests that differ only in the fixture that their module names in ``IN_TURN``, keep one; all in a soak."""
    if IS_SOAK:
        return
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[_name_without_turn(item)].append(item)
    kept = {group[crc32(name.encode()) % len(group)] for name, group in groups.items()}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _name_without_turn(item: pytest.Item) -> str:
    fixture = getattr(getattr(item, "module", None), "IN_TURN", None)
    callspec = getattr(item, "callspec", None)
    if callspec is None or fixture not in callspec.params:
        return item.nodeid
    parts = callspec.id.split("-")
    parts.remove(str(callspec.params[fixture]))
    return f"{item.path} {item.originalname} {parts}"
