"""Five layers of checks, each on all that the earlier ones left usable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobre.io.problems import Problems
from cobre.io.read import CaseFiles, read_case
from cobre.io.validate.coefficients import complete_ratios
from cobre.io.validate.dimensions import check_dimensions
from cobre.io.validate.files import check_files
from cobre.io.validate.history import complete_from_history
from cobre.io.validate.references import check_references
from cobre.io.validate.semantics import check_semantics

__all__ = ["LAYERS", "check_case"]

LAYERS = ("files", "schema", "references", "dimensions", "semantics")


def check_case(
    folder: Path, problems: Problems, config_overrides: Mapping[str, Any] | None = None
) -> tuple[CaseFiles, tuple[str, ...]]:
    """The files as read, and the layers that could look at all of the data."""
    check_files(folder, problems)
    files = read_case(folder, problems, config_overrides)
    check_references(files, problems)
    complete_ratios(files, problems)
    with files.timing("stochastic_fit"):
        complete_from_history(files, problems)
    check_dimensions(files, problems)
    check_semantics(files, problems)
    if files.damaged or files.unusable:
        return files, LAYERS[:1] if files.unusable else LAYERS[:2]
    return files, LAYERS
