"""How messages call things."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol


class Named(Protocol):
    """Anything with an id and a name."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


def called(kind: str, entity: Named) -> str:
    """``hydro 3 (ITAIPU)``."""
    return f"{kind} {entity.id} ({entity.name})" if entity.name else f"{kind} {entity.id}"


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Up to ``limit`` values and how many more there are."""
    every = [str(value) for value in values]
    text = ", ".join(every[:limit])
    return f"{text} and {len(every) - limit} more" if len(every) > limit else text


def known(ids: Collection[int]) -> str:
    """The ids to choose from."""
    return f"use one of {listed(sorted(ids))}" if ids else "there is none; add it or remove the reference"
