"""What a misspelt name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest"]

SIMILARITY = 0.75
"""Share of letters two names must have in common, in order."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like ``name``, apart from upper case and separators; None if none is like it.

    >>> nearest("BusId", ["id", "bus_id"]), nearest("colour", ["bus_id"])
    ('bus_id', None)
    """
    by_letters = {_letters(candidate): candidate for candidate in candidates}
    found = get_close_matches(_letters(name), by_letters, 1, SIMILARITY)
    return by_letters[found[0]] if found else None


def _letters(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")
