"""From a folder to a study, or to everything that is wrong with it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.core.case import Case
from cobre.core.provenance import SetupSeconds
from cobre.errors import IOError
from cobre.io.problems import Problems, ValidationReport, raise_if_invalid
from cobre.io.provenance import inflow_provenance
from cobre.io.validate import CheckedCase, check_case

__all__ = ["examine", "load", "load_with_report", "validate"]


def load(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
    """The study in a folder.

    ``config_overrides`` has the keys of ``config.json`` and is merged into it: dicts merge, lists replace. Raises one
    `cobre.errors.ValidationError` that carries all problems, or `cobre.errors.IOError` if there is no such folder or it
    may not be read.
    """
    return load_with_report(path, config_overrides)[0]


def load_with_report(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None
) -> tuple[Case, ValidationReport]:
    """Like `load`, with the warnings."""
    began = time.perf_counter()
    checked, report = examine(path, config_overrides)
    raise_if_invalid(report, str(path))
    files, case = checked.files, checked.case
    if case is None:
        raise AssertionError("a case without errors was not assembled")
    seconds = time.perf_counter() - began
    times = SetupSeconds(seconds - sum(files.fit_seconds.values()), **files.fit_seconds)
    return replace(case, inflow_provenance=inflow_provenance(files), setup_seconds=times), report


def validate(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None
) -> ValidationReport:
    """Every error and warning about the case in a folder."""
    return examine(path, config_overrides)[1]


def examine(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None
) -> tuple[CheckedCase, ValidationReport]:
    """What the files hold, and everything found in them."""
    folder, problems = Path(path), Problems()
    try:
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "does not exist"
            raise IOError(
                str(path), f"the case folder {path} {what}", suggestion="give the path of a case folder"
            )
        next(folder.iterdir(), None)
        checked = check_case(folder, problems, config_overrides)
    except OSError as error:
        place = error.filename or path
        raise IOError(
            str(place),
            f"cannot read {place}: {error.strerror or error}",
            suggestion=f"give yourself permission to read it, for instance: chmod -R u+rX {path}",
        ) from error
    return checked, problems.report(checked.layers)
