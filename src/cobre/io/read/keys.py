"""Which keys an object of a JSON file may have, and what an unknown one was probably meant to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from cobre.io.spelling import nearest


def known_keys(record: type[BaseModel], place: Sequence[str | int]) -> set[str]:
    """Keys of the object that the path ``place`` into a file leads to; of all its variants where it has several.

    Positions in lists, keys of free mappings and tags of unions are steps of such a path, too.
    """
    current = [record]
    for step in place:
        inner = [found for each in current for found in _records_in(_annotation(each, step))]
        current = inner or current
    return {_key(each, name) for each in current for name in each.model_fields}


def missing_key(
    name: str, found: Mapping[str, Any], record: type[BaseModel], place: Sequence[str | int]
) -> tuple[str, str]:
    """What is there instead of the key ``name``, and what to do about it; the first may be empty."""
    unknown = sorted(set(found) - known_keys(record, place))
    near = nearest(name, unknown)
    if near is not None:
        return f"; {near} is there, which is no key of the format", f"rename {near} to {name}"
    if unknown:
        return (
            f"; unknown keys are there: {', '.join(unknown[:8])}",
            f"add {name}, or rename the key that means it",
        )
    return "", f"add {name}"


def _records_in(annotation: Any) -> list[type[BaseModel]]:
    """The records that a type is made of, those of a list, a mapping or a union included."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [record for part in get_args(annotation) for record in _records_in(part)]


def _annotation(record: type[BaseModel], step: str | int) -> Any:
    return next(
        (each.annotation for name, each in record.model_fields.items() if _key(record, name) == step), None
    )


def _key(record: type[BaseModel], name: str) -> str:
    return record.model_fields[name].alias or name
