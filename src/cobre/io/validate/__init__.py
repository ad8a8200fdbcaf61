"""Five layers of checks, each on all that the earlier ones left usable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobre.core.case import Case
from cobre.io.assemble.horizon import with_seasons
from cobre.io.problems import Problems
from cobre.io.read.case_reader import read_case
from cobre.io.read.files import CaseFiles
from cobre.io.validate.coefficients import complete_ratios
from cobre.io.validate.dimensions import check_dimensions
from cobre.io.validate.files import check_files
from cobre.io.validate.fit_wanted import wants_fit
from cobre.io.validate.history_windows import check_windows
from cobre.io.validate.lag_seeds import complete_lag_seeds
from cobre.io.validate.references import check_references
from cobre.io.validate.semantics import check_semantics

__all__ = ["LAYERS", "CheckedCase", "check_case"]

LAYERS = ("files", "schema", "references", "dimensions", "semantics")


@dataclass(frozen=True, eq=False)
class CheckedCase:
    """What the checks leave: the files as read, with what was fitted to the history in its place."""

    files: CaseFiles
    layers: tuple[str, ...]
    """Those that could look at all of the data."""
    case: Case | None
    """The study; None if there is an error."""


def check_case(
    folder: Path, problems: Problems, config_overrides: Mapping[str, Any] | None = None
) -> CheckedCase:
    """Read the files of a case and report to ``problems`` everything that is wrong with them."""
    check_files(folder, problems)
    files = read_case(folder, problems, config_overrides)
    if files.generation.is_018:
        files.stages = with_seasons(files.stages)
    check_references(files, problems)
    complete_ratios(files, problems)
    has_good_windows = check_windows(files, problems)
    with files.timing("stochastic_fit"):
        if wants_fit(files) and has_good_windows:
            from cobre.io.validate.history import complete_from_history  # few cases need all that a fit takes

            complete_from_history(files, problems)
    if has_good_windows:
        complete_lag_seeds(files, problems)
    check_dimensions(files, problems)
    case = check_semantics(files, problems)
    layers = LAYERS[:1] if files.unusable else LAYERS[:2] if files.damaged else LAYERS
    return CheckedCase(files, layers, None if problems.errors else case)
