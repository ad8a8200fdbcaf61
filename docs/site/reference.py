"""Writes the pages of the reference from what the package itself says: parsers, docstrings, schemas and tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from cobre import study
from cobre.cli import COMMANDS
from cobre.core.outputs import TableSchema
from cobre.io.schemas import schemas

COLUMNS = "100"
TABLES = {
    "Training": "training_tables",
    "Simulation": "simulation_tables",
    "Hydro models": "hydro_model_tables",
    "Constraints": "constraint_tables",
}


def reference() -> dict[str, str]:
    """The text of each page, by its name."""
    return {
        "commands.md": _commands(),
        "python.md": _api(
            "Python",
            "cobre",
            "What `import cobre` offers. Collectives are on [a page of their own](communication.md), and "
            "[every error](../errors.md) has a heading.",
            skipped={"comm", "errors"},
        ),
        "communication.md": _api(
            "Communication",
            "cobre.comm",
            "What `import cobre.comm` offers: ranks that exchange arrays. The methods of a communicator are those of "
            "`Communicator`.",
        ),
        "case-files.md": _case_files(),
        "output-tables.md": _output_tables(),
        "events.md": _events(),
    }


def _commands() -> str:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        parts = ["# Commands\n", "What `cobre COMMAND --help` prints.\n"]
        for name, (module, summary) in COMMANDS.items():
            text = import_module(module).build_parser().format_help().rstrip()
            parts.append(f"## {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n```text\n{text}\n```\n")
        return "\n".join(parts)
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _api(title: str, package: str, sentence: str, skipped: frozenset[str] | set[str] = frozenset()) -> str:
    names = [
        name
        for name in import_module(package).__all__
        if name not in skipped and not _is_error(getattr(import_module(package), name))
    ]
    return "\n".join([f"# {title}\n", f"{sentence}\n", *(f"::: {package}.{name}\n" for name in names)])


def _is_error(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Exception)


def _case_files() -> str:
    parts = [
        "# Case files\n",
        "Every file of a case and its fields, from the schemas that `cobre schema export` writes. "
        "[Write a case](../guides/write-a-case.md) says what they mean.\n",
    ]
    for path, schema in schemas().items():
        parts.append(f"## {path}\n")
        parts += _table_file(schema) if schema.get("type") == "array" else _document(schema)
    return "\n".join(parts)


def _table_file(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema["x-unique"]:
        yield f"A table; no two rows may share {', '.join(f'`{name}`' for name in schema['x-unique'])}.\n"
    yield _fields(schema["items"])
    for other in schema.get("x-alternatives", ()):
        yield "Or, with other columns:\n"
        yield _fields(other["items"])


def _document(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("description"):
        yield f"{schema['description']}\n"
    if "properties" in schema:
        yield _fields(schema)
    for name, record in schema.get("$defs", {}).items():
        if "properties" not in record:
            continue
        yield f"**{name}**: {record.get('description', '')}\n"
        yield _fields(record)


def _fields(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _type(field), "yes" if name in required else _default(field))
        for name, field in schema["properties"].items()
    ]
    return _markdown_table(("Field", "Type", "Required"), rows)


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default")
    return "" if default in (None, "", [], {}) else f"default `{default}`"


def _type(field: Mapping[str, Any]) -> str:
    """A field's type in one phrase."""
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    for union in ("anyOf", "oneOf"):
        if union in field:
            return " or ".join(dict.fromkeys(map(_type, field[union])))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    kinds = field.get("type", "anything")
    return (" or ".join(kinds) if isinstance(kinds, list) else str(kinds)) + _limits(field)


def _limits(field: Mapping[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {field[name]:g}" for name, sign in signs.items() if abs(field.get(name, 1e15)) < 1e9]
    return f" {', '.join(limits)}" if limits else ""


def _output_tables() -> str:
    parts = [
        "# Output tables\n",
        "Every table that a run writes, below `training` or `simulation` in the output folder; "
        "`variables.csv` has the same columns.\n",
    ]
    for title, module in TABLES.items():
        found = vars(import_module(f"cobre.core.{module}")).values()
        tables = [each for each in found if isinstance(each, TableSchema)]
        parts += [f"## {title}\n", *(f"### {each.name}\n\n{_columns(each)}" for each in tables)]
    return "\n".join(parts)


def _columns(table: TableSchema) -> str:
    rows = [
        (
            f"`{column.name}`",
            column.type + (" or null" if column.is_nullable else ""),
            column.unit,
            column.description,
        )
        for column in table
    ]
    return _markdown_table(("Column", "Type", "Unit", "Meaning"), rows)


def _events() -> str:
    parts = [
        "# Events\n",
        "The lines of `training/events.jsonl` and of `--output-format json-lines`. "
        "[Watch a run](../guides/watch-a-run.md) says when each is written.\n",
    ]
    for event in study.event_schema()["oneOf"]:
        parts.append(f"## {event['properties']['type']['const']}\n\n{_fields(event)}")
    return "\n".join(parts)


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
