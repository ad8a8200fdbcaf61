"""Reads case directories: one module per file, every row checked, all problems collected."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobre.io.problems import Problems
from cobre.io.read.catalogue import FILES
from cobre.io.read.columns import TableFile
from cobre.io.read.config import FILE as CONFIG
from cobre.io.read.documents import Reading, parse_json, read_data, read_document
from cobre.io.read.files import CaseFiles
from cobre.io.read.merging import merge_overrides
from cobre.io.read.tables import read_table

__all__ = ["CaseFiles", "is_there", "read_case"]


def read_case(
    folder: Path, problems: Problems, config_overrides: Mapping[str, Any] | None = None
) -> CaseFiles:
    """Everything in ``folder`` that can be used; what cannot is reported to ``problems``.

    Raises `OSError` where a file exists but may not be read.
    """
    files = CaseFiles(folder)
    for file in FILES:
        if not is_there(folder / file.path):
            if isinstance(file, TableFile):
                files.tables[file.attribute] = file.empty()
            elif file.is_required:
                files.unusable.add(file.path)
            continue
        files.present.add(file.path)
        if isinstance(file, TableFile):
            files.tables[file.attribute], is_intact = read_table(folder, file, problems)
            if not is_intact:
                files.damaged.add(file.path)
        else:
            reading = (
                _read_config(folder, config_overrides, problems)
                if file is CONFIG
                else read_document(folder, file, problems)
            )
            _keep(files, file.path, file.attribute, reading)
    return files


def is_there(path: Path) -> bool:
    """Whether ``path`` is a file. Unlike `Path.is_file` it raises where permission is missing to tell."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


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
