"""Cases from their folders: load, check, and change their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from os import PathLike
from typing import Any

from cobre import io
from cobre._lazy import collecting_garbage_later
from cobre.core.case import Case
from cobre.errors import CobreError
from cobre.io import ValidationReport


def load_case(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
    """The study in a case directory.

    Raises one `cobre.ValidationError` whose ``errors`` lists every problem, or `cobre.IOError` if the folder is not
    there or may not be read. ``config_overrides`` has the keys of ``config.json`` and is merged into it.
    """
    with collecting_garbage_later():
        return io.load(path, config_overrides)


def load_with_report(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None
) -> tuple[Case, ValidationReport]:
    """Like `load_case`, with the warnings."""
    with collecting_garbage_later():
        return io.load_with_report(path, config_overrides)


class CaseLoader:
    """`load_case` under the name that users of the public Cobre know."""

    @staticmethod
    def load(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
        """See `load_case`."""
        return load_case(path, config_overrides)


def validate(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None
) -> ValidationReport:
    """Every error and warning about a case directory; raises only if there is no such folder."""
    report: ValidationReport = import_module("cobre.io.loading").validate(path, config_overrides)
    return report


def configured(
    case: Case | str | PathLike[str] | None,
    config_overrides: Mapping[str, Any] | None,
    on_note: Callable[[str], None] | None = None,
) -> Case:
    """The study with other settings laid over those of its ``config.json``.

    ``on_note`` gets the warnings about a case that is read from its folder.
    """
    if case is None:
        raise TypeError("there is no case to train\n  fix: pass a case, or the folder of one")
    if not isinstance(case, Case):
        return _read(case, config_overrides, on_note)
    if not config_overrides:
        return case
    if case.folder is None:
        raise CobreError(
            "config_overrides lie over config.json, and this case was not read from a folder",
            kind="IncompatibleSettings",
            suggestion="change case.config with dataclasses.replace, or load the case from its folder",
        )
    return _read(case.folder, config_overrides, on_note)


def _read(
    path: str | PathLike[str],
    config_overrides: Mapping[str, Any] | None,
    on_note: Callable[[str], None] | None,
) -> Case:
    with collecting_garbage_later():
        case, report = io.load_with_report(path, config_overrides)
    if on_note is not None:
        for warning in report.warnings:
            on_note(f"warning: {warning}")
    return case
