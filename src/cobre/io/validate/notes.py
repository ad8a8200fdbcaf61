"""Short ways to refuse and to warn about what is not modelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cobre.io.problems import Place, Problems

CANNOT_RUN = "none in the case: this version cannot run the study, and without this it would be another study"
"""The remedy for what is not modelled where nothing else in the case would mean the same."""


def report_repeated(
    ids: Sequence[int],
    problems: Problems,
    where: tuple[str, str, str],
    message: str,
    remedy: str,
    **rule: str,
) -> None:
    """Report each id that is there twice; ``where`` is file, entity and field, ``{}`` stands for the id."""
    file, entity, field = where
    for twice in sorted({each for each in ids if ids.count(each) > 1}):
        owner, text = (each.replace("{}", str(twice)) for each in (entity, message))
        problems.error("DuplicateId", Place(file, owner, field, twice), text, remedy, **rule)


class Notes:
    """Reports under one kind, with the field and its value first."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def refuse(self, file: str, field: str, value: Any, message: str, remedy: str, entity: str = "") -> None:
        self._problems.error("IncompatibleSettings", Place(file, entity, field, value), message, remedy)

    def warn(self, file: str, field: str, value: Any, message: str, remedy: str, entity: str = "") -> None:
        self._problems.warn("IncompatibleSettings", Place(file, entity, field, value), message, remedy)
