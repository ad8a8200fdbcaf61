"""Matrices of parameters: a part of each in every run, all of it with COBRE_TEST_SOAK=1."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any
from zlib import crc32

import pytest

from mpi_ranks import LIBRARIES

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


def add_markers(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "soak: runs with COBRE_TEST_SOAK=1 only")
    config.addinivalue_line("markers", "few(n): n of the test's parameter sets in every run, all in a soak")


def thin_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only a soak runs.

    These are the tests marked ``soak``, most parameter sets of those marked ``few``, all but one backend of those
    whose module names its fixture in ``IN_TURN``, and one of the two MPI libraries of every other test.
    """
    if IS_SOAK:
        return
    kept = _few(_one_of_each_turn([item for item in items if item.get_closest_marker("soak") is None]))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _one_of_each_turn(items: list[pytest.Item]) -> list[pytest.Item]:
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[_name_without_turn(item)].append(item)
    return [group[crc32(name.encode()) % len(group)] for name, group in groups.items()]


def _few(items: list[pytest.Item]) -> set[pytest.Item]:
    """Evenly spaced parameter sets of tests that are marked ``few``, and all other tests."""
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        few = item.get_closest_marker("few")
        groups[item.nodeid if few is None else item.nodeid.partition("[")[0]].append(item)
    kept = set()
    for name, group in groups.items():
        few = group[0].get_closest_marker("few")
        number = min(len(group), few.args[0]) if few else len(group)
        first = crc32(name.encode()) % len(group)
        kept |= {group[(first + place * len(group) // number) % len(group)] for place in range(number)}
    return kept


def _name_without_turn(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return item.nodeid
    name = getattr(item.module, "IN_TURN", None)
    if name not in callspec.params:
        named = [
            each for each, value in callspec.params.items() if isinstance(value, str) and value in LIBRARIES
        ]
        if len(named) != 1:  # one that runs a library beside the other needs both
            return item.nodeid
        [name] = named
    parts = callspec.id.split("-")
    parts.remove(str(callspec.params[name]))
    return f"{item.path} {item.originalname} {parts}"
