"""Reads case directories: one module per file, every row checked, all problems collected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobre.errors import IOError
from cobre.io.problems import Problems
from cobre.io.read.catalogue import FILES
from cobre.io.read.config import FILE as CONFIG
from cobre.io.read.documents import Reading, parse_json, read_data, read_document
from cobre.io.read.files import CaseFiles
from cobre.io.read.merging import merge_overrides
from cobre.io.read.tables import TableFile, read_table

__all__ = ["CaseFiles", "read_case"]


def read_case(
    folder: Path, problems: Problems, config_overrides: Mapping[str, Any] | None = None
) -> CaseFiles:
    """Everything in ``folder`` that can be used; what cannot is reported to ``problems``.

    Raises `cobre.errors.IOError` where a file exists but may not be read.
    """
    files = CaseFiles(folder)
    for file in FILES:
        path = folder / file.path
        try:
            if path.is_file():
                files.present.add(file.path)
            if isinstance(file, TableFile):
                files.tables[file.attribute] = file.empty()
                if path.is_file():
                    files.tables[file.attribute], is_intact = read_table(folder, file, problems)
                    if not is_intact:
                        files.damaged.add(file.path)
            elif path.is_file():
                reading = (
                    _read_config(folder, config_overrides, problems)
                    if file is CONFIG
                    else read_document(folder, file, problems)
                )
                _keep(files, file.path, file.attribute, reading)
            elif file.is_required:
                files.unusable.add(file.path)
        except OSError as error:
            raise IOError(
                str(path),
                f"cannot read {path}: {error.strerror or error}",
                suggestion=f"give yourself read permission: chmod u+r {path}",
            ) from error
    return files


def _keep(files: CaseFiles, path: str, attribute: str, reading: Reading) -> None:
    if reading.record is not None:
        setattr(files, attribute, reading.record)
    else:
        files.unusable.add(path)
    if not reading.is_intact:
        files.damaged.add(path)
    if not reading.is_unique:
        files.ambiguous.add(path)
    if reading.dropped:
        files.dropped[path] = reading.dropped


def _read_config(folder: Path, overrides: Mapping[str, Any] | None, problems: Problems) -> Reading:
    data = parse_json(folder / CONFIG.path, CONFIG.path, problems)
    if data is None:
        return Reading()
    if overrides and isinstance(data, dict):
        data = merge_overrides(data, overrides, problems)
    return read_data(data, CONFIG, problems)
