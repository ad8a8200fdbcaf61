"""Short ways to refuse and to warn about what is not modelled."""

from __future__ import annotations

from typing import Any

from cobre.io.problems import Place, Problems

CANNOT_RUN = "none in the case: this version cannot run the study, and without this it would be another study"
"""The remedy for what is not modelled where nothing else in the case would mean the same."""


class Notes:
    """Reports under one kind, with the field and its value first."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def refuse(self, file: str, field: str, value: Any, message: str, remedy: str, entity: str = "") -> None:
        self._problems.error("IncompatibleSettings", Place(file, entity, field, value), message, remedy)

    def warn(self, file: str, field: str, value: Any, message: str, remedy: str, entity: str = "") -> None:
        self._problems.warn("IncompatibleSettings", Place(file, entity, field, value), message, remedy)
