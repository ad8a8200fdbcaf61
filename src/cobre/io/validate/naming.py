"""How messages call things."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from cobre.core.wording import listed

__all__ = ["Named", "called", "known", "listed"]


class Named(Protocol):
    """Anything with an id and a name."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


def called(kind: str, entity: Named) -> str:
    """``hydro 3 (ITAIPU)``."""
    return f"{kind} {entity.id} ({entity.name})" if entity.name else f"{kind} {entity.id}"


def known(ids: Collection[int]) -> str:
    """The ids to choose from."""
    return f"use one of {listed(sorted(ids))}" if ids else "there is none; add it or remove the reference"
