"""Short texts for the objects of a study, as a prompt or a notebook shows them."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any


def changed_fields(value: Any) -> str:
    """A dataclass with those fields that differ from their defaults; for use as its ``__repr__``."""
    parts = (
        f"{each.name}={getattr(value, each.name)!r}"
        for each in fields(value)
        if each.repr and getattr(value, each.name) != _default(each)
    )
    return f"{type(value).__name__}({', '.join(parts)})"


def named_parts(value: Any) -> str:
    """A dataclass with the names of those fields that are there; for use as its ``__repr__``."""
    names = (each.name for each in fields(value) if getattr(value, each.name) is not None)
    return f"<{type(value).__name__}: {', '.join(names)}>"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "bus"), counted(2, "bus"), counted(3, "stage")
    ('1 bus', '2 buses', '3 stages')
    """
    plural = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number} {noun}{plural}"


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default
