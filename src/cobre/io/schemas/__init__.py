"""JSON Schemas of all files of a case directory, for editors and for programs that write cases.

A Parquet file is described as a list of rows; ``x-parquet-type`` gives the type of each column and ``x-unique`` the
columns that no two rows may share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cobre.errors import IOError
from cobre.io.read.catalogue import FILES
from cobre.io.read.columns import TYPE_NAMES, Column, TableFile
from cobre.io.read.documents import Document

__all__ = ["export_schemas", "schemas"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {"int": "integer", "float": "number", "date": "string"}


def schemas() -> dict[str, dict[str, Any]]:
    """For each file of the format (by its path in the case directory) its schema."""
    return {
        file.path: _document_schema(file) if isinstance(file, Document) else _table_schema(file)
        for file in FILES
    }


def export_schemas(folder: Path, others: Mapping[str, Mapping[str, Any]] | None = None) -> list[Path]:
    """Write every schema, and ``others`` by their names, into ``folder``; the paths written."""
    by_name = {**{Path(path).stem: schema for path, schema in schemas().items()}, **(others or {})}
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in by_name.items():
            target = folder / f"{name}.schema.json"
            target.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
            written.append(target)
    except OSError as error:
        raise IOError(
            str(folder),
            f"cannot write schemas to {folder}: {error.strerror}",
            suggestion="choose a folder that you may write to",
        ) from error
    return written


def _document_schema(document: Document) -> dict[str, Any]:
    return {"$schema": DIALECT, **document.record.model_json_schema(by_alias=True), "title": document.path}


def _table_schema(table: TableFile) -> dict[str, Any]:
    required = [column.name for column in table.columns if not column.is_optional]
    return {
        "$schema": DIALECT,
        "title": table.path,
        "type": "array",
        "items": {
            "type": "object",
            "properties": {column.name: _column_schema(column) for column in table.columns},
            "required": required,
        },
        "x-unique": list(table.key),
        **(
            {"x-alternatives": [_table_schema(other) for other in table.alternatives]}
            if table.alternatives
            else {}
        ),
    }


def _column_schema(column: Column) -> dict[str, Any]:
    kind = JSON_TYPES[column.kind]
    schema: dict[str, Any] = {"type": [kind, "null"] if column.is_nullable else kind}
    if column.kind == "date":
        schema["format"] = "date"
    if column.low is not None:
        schema["exclusiveMinimum" if column.excludes_low else "minimum"] = column.low
    if column.high is not None:
        schema["maximum"] = column.high
    if column.refers_to:
        schema["description"] = f"id of a {column.refers_to.removeprefix('any ')}"
    return {**schema, "x-parquet-type": TYPE_NAMES[column.kind]}
