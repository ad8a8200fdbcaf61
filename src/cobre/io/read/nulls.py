"""Nulls that mean the same as a key that is not there."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError as ShapeError

Place = tuple[str | int, ...]


def without_idle_nulls(data: Any, error: ShapeError) -> tuple[Any, frozenset[Place]]:
    """A copy of ``data`` without the nulls that ``error`` complains about, and the places of these."""
    found = {
        place
        for each in error.errors(include_url=False)
        if each["input"] is None and each["type"] != "missing"
        for place in [_place(each["loc"], data)]
        if place and isinstance(place[-1], str)
    }
    rest = copy.deepcopy(data) if found else data
    removed = set()
    for place in found:
        holder = _inside(rest, place[:-1])
        if isinstance(holder, dict) and holder.get(place[-1], 0) is None:
            del holder[place[-1]]
            removed.add(place)
    return rest, frozenset(removed)


def restored(rest: Any, removed: Iterable[Place], error: ShapeError) -> Any:
    """``rest`` with the nulls of the keys that ``error`` misses: these have to be given."""
    wanted = {
        (*_place(each["loc"][:-1], rest), each["loc"][-1])
        for each in error.errors(include_url=False)
        if each["type"] == "missing"
    }
    for place in wanted.intersection(removed):
        _inside(rest, place[:-1])[place[-1]] = None
    return rest


def _place(loc: Sequence[str | int], data: Any) -> Place:
    """The keys and positions of ``loc`` that are in ``data``; what is not there is the tag of a union."""
    found: list[str | int] = []
    for step in loc:
        if isinstance(data, Mapping) and step in data:
            data = data[str(step)]
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            continue
        found.append(step)
    return tuple(found)


def _inside(data: Any, place: Place) -> Any:
    for step in place:
        data = data[step]
    return data
