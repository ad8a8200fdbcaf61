"""Writes a case directory from the contents of its files."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.errors import IOError
from cobre.files import unwritable

__all__ = ["write_case"]


def write_case(
    path: str | PathLike[str],
    documents: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Sequence[Any]]],
) -> list[str]:
    """Write a case into the folder ``path``, all of it or nothing; the names of its files.

    Raises `cobre.errors.IOError` if the folder holds something already or cannot be written.
    """
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise IOError(
            str(folder),
            f"{folder} exists already and is not empty",
            suggestion="choose a new folder; nothing was written",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        files = _write_files(scratch, documents, tables)
        scratch.chmod(0o755)
        scratch.replace(folder)
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise unwritable(folder, error) from error
    return files


def _write_files(
    folder: Path, documents: Mapping[str, Any], tables: Mapping[str, Mapping[str, Sequence[Any]]]
) -> list[str]:
    for name in (*documents, *tables):
        (folder / name).parent.mkdir(exist_ok=True)
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for name, columns in tables.items():
        pq.write_table(_table(columns), folder / name, compression="zstd")  # the public Cobre reads it, too
    return sorted((*documents, *tables))


def _table(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values, _type(name)) for name, values in columns.items()})


def _type(name: str) -> pa.DataType:
    endings = {"date": pa.date32(), "index": pa.uint32(), "id": pa.int32(), "lag": pa.int32()}
    return endings.get(name.rpartition("_")[2], pa.float64())
