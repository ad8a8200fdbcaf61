"""Reads a case directory: every file of its generation, whatever can be used of it."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobre.io.problems import Problems
from cobre.io.read.catalogue import DOCUMENTS, NEW_PATHS, OLDER_ONLY_PATHS, PATHS, TABLES, files_of
from cobre.io.read.columns import Table, TableFile
from cobre.io.read.documents import Document, Reading, parse_json, read_data
from cobre.io.read.files import CaseFiles
from cobre.io.read.generation import detect
from cobre.io.read.merging import merge_overrides
from cobre.io.read.records import Record
from cobre.io.read.tables import read_table

__all__ = ["CaseFiles", "is_there", "read_case"]

CONFIG = "config.json"


def read_case(
    folder: Path, problems: Problems, config_overrides: Mapping[str, Any] | None = None
) -> CaseFiles:
    """Everything in ``folder`` that can be used, in the shape of 0.18; what cannot is reported to ``problems``.

    Raises `OSError` where a file exists but may not be read.
    """
    parsed = {
        file.path: parse_json(folder / file.path, file.path, problems)
        for file in DOCUMENTS
        if is_there(folder / file.path)
    }
    generation = detect(parsed, problems)
    if generation is None:
        files = CaseFiles(folder)
        files.unusable.update(PATHS)
        files.tables.update({file.attribute: file.empty() for file in TABLES})
        return files
    files = CaseFiles(folder, generation)
    records: dict[str, Record] = {}
    tables: dict[str, Table] = {}
    for file in files_of(generation):
        if not is_there(folder / file.path):
            if isinstance(file, Document) and file.is_required:
                files.unusable.add(file.path)
            continue
        files.present.add(file.path)
        if isinstance(file, TableFile):
            tables[file.attribute], is_intact = read_table(folder, file, problems, is_018=generation.is_018)
            if not is_intact:
                files.damaged.add(file.path)
        else:
            if file.path not in parsed:
                parsed[file.path] = parse_json(folder / file.path, file.path, problems)
            data = parsed[file.path]
            if file.path == CONFIG and config_overrides and isinstance(data, dict):
                data = merge_overrides(data, config_overrides, file.record, problems)
            reading = (
                Reading() if data is None else read_data(data, file, problems, is_closed=generation.is_018)
            )
            if reading.record is not None:
                records[file.path] = reading.record
            _keep(files, file.path, reading)
    _fill(files, records, tables)
    _report_other_generation(files, problems)
    return files


def _fill(files: CaseFiles, records: dict[str, Record], tables: dict[str, Table]) -> None:
    if not files.generation.is_018:
        from cobre.io.read.older.modernise import modernise

        modernise(files, records, tables)
        return
    for document in DOCUMENTS:
        if document.path in records:
            setattr(files, document.attribute, records[document.path])
    files.tables.update({file.attribute: file.empty() for file in TABLES} | tables)


def _report_other_generation(files: CaseFiles, problems: Problems) -> None:
    """Files that only the other generation has."""
    only = OLDER_ONLY_PATHS if files.generation.is_018 else NEW_PATHS
    for path in only:
        if is_there(files.folder / path):
            problems.error(
                "IncompatibleSettings",
                path,
                f"is no file of {files.generation.name}, which this case is written in",
                "use block_id in constraints/line_bounds.parquet"
                if files.generation.is_018
                else "convert the case to 0.18, or remove the file",
                field=path,
                value=path,
                rule="structural.1",
            )


def is_there(path: Path) -> bool:
    """Whether ``path`` is a file. Unlike `Path.is_file` it raises where permission is missing to tell."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _keep(files: CaseFiles, path: str, reading: Reading) -> None:
    if reading.record is None:
        files.unusable.add(path)
    if not reading.is_intact:
        files.damaged.add(path)
    if not reading.is_unique:
        files.ambiguous.add(path)
    if reading.dropped:
        files.dropped[path] = reading.dropped
