"""The cases that ``cobre init`` writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from cobre.io.examples.writing import write_case

__all__ = ["TEMPLATES", "Template", "write_example"]

Contents = tuple[dict[str, Any], dict[str, dict[str, list[Any]]]]


@dataclass(frozen=True)
class Template:
    """A case to start from."""

    description: str
    contents: Callable[[], Contents]


def _small() -> Contents:
    from cobre.io.examples.small import small_documents, small_tables

    return small_documents(), small_tables()


def _medium() -> Contents:
    from cobre.io.examples.generated import MEDIUM, generated_case

    return generated_case(MEDIUM)


def _national() -> Contents:
    from cobre.io.examples.generated import NATIONAL, generated_case

    return generated_case(NATIONAL)


TEMPLATES = {
    "small": Template(
        "two hydros on one river, three thermals, wind, three buses, twelve months; trains in seconds", _small
    ),
    "medium": Template(
        "ten hydros on two rivers with two lags, twelve thermals, wind, four buses, twelve months",
        _medium,
    ),
    "national": Template(
        "150 hydros, 90 thermals, wind, five buses, five years of months; for tests of speed and memory",
        _national,
    ),
}


def write_example(path: str | PathLike[str], template: str = "small") -> list[str]:
    """Write a template into the new folder ``path``; the names of its files.

    Raises `cobre.errors.IOError` if the folder holds something already or cannot be written.
    """
    return write_case(path, *TEMPLATES[template].contents())
