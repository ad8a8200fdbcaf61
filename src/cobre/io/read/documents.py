"""JSON files: parsed with every trap of the format caught, checked against their record, salvaged.

A list entry that is wrong is reported and left out, so that the later layers can still look at the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError as ShapeError

from cobre.io.problems import Place, Problems
from cobre.io.read.nulls import restored, without_idle_nulls
from cobre.io.read.records import Record
from cobre.io.read.shapes import label, report_shape, report_unknown_keys


@dataclass(frozen=True)
class Document:
    """A JSON file of the case directory and the record that describes it."""

    path: str
    record: type[Record]
    attribute: str
    is_required: bool = False
    unique: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each list of the file, the fields that no two entries may share."""


def listing(path: str, record: type[Record], *key: str, is_required: bool = False) -> Document:
    """A file that begins with a list, no two entries of which may share the ``key``."""
    attribute = next(iter(record.model_fields))
    return Document(path, record, attribute, is_required, {attribute: key})


@dataclass
class Reading:
    """What could be made of a file: the record (None if nothing) and the list entries left out."""

    record: Record | None = None
    is_intact: bool = False
    dropped: tuple[Mapping[str, Any], ...] = ()
    is_unique: bool = True


def read_data(data: Any, document: Document, problems: Problems, *, is_closed: bool = False) -> Reading:
    """Check what was parsed from a JSON file; in a closed one an unknown key is an error, else a warning."""
    if not isinstance(data, dict):
        _report_no_object(data, document.path, problems)
        return Reading()
    try:
        record, data = _validated_without_nulls(document, data)
        is_intact = True
        dropped: tuple[Mapping[str, Any], ...] = ()
    except _Misshapen as misshapen:
        error, data = misshapen.error, misshapen.data
        wrong = report_shape(error, data, document.record, document.path, problems)
        is_intact = False
        rest, dropped = _without(data, wrong)
        try:
            record = _validated(document, rest)
        except ShapeError:
            return Reading(None, False, dropped)
        data = rest
    report_unknown_keys(record, data, document.path, problems, is_closed=is_closed)
    is_unique = _check_unique(record, document, problems)
    return Reading(record, is_intact and is_unique, dropped, is_unique)


def _report_no_object(data: Any, file: str, problems: Problems) -> None:
    problems.error(
        "SchemaViolation",
        file,
        f"holds a {_type_name(data)} where an object is wanted",
        "write { … } around the contents; cobre schema export writes the file's JSON Schema",
        value=_type_name(data),
    )


class _Misshapen(Exception):
    """Data that are no record, without the nulls that could as well be absent."""

    def __init__(self, error: ShapeError, data: Any) -> None:
        super().__init__()
        self.error = error
        self.data = data


def _validated_without_nulls(document: Document, data: Any) -> tuple[Record, Any]:
    """The record, and the data that it was made of: a null in place of a default is left out."""
    try:
        return _validated(document, data), data
    except ShapeError as error:
        rest, removed = without_idle_nulls(data, error)
        if not removed:
            raise _Misshapen(error, data) from None
    try:
        return _validated(document, rest), rest
    except ShapeError as error:
        rest = restored(rest, removed, error)
    try:
        return _validated(document, rest), rest
    except ShapeError as error:
        raise _Misshapen(error, rest) from None


def _validated(document: Document, data: Any) -> Record:
    # Through JSON again: only then does strict checking accept a list as JSON's form of a tuple.
    return document.record.model_validate_json(json.dumps(data, default=_as_json))


def _as_json(value: Any) -> Any:
    """Values of programs, such as NumPy's numbers in ``config_overrides``; text for all that JSON has no word for."""
    return value.item() if hasattr(value, "item") else str(value)


def _check_unique(record: Record, document: Document, problems: Problems) -> bool:
    """Report entries that share what only one may have."""
    is_unique = True
    for name, keys in document.unique.items():
        seen: set[tuple[Any, ...]] = set()
        for index, entry in enumerate(getattr(record, name)):
            key = tuple(getattr(entry, part) for part in keys)
            if key in seen:
                is_unique = False
                words = ", ".join(f"{part} {value}" for part, value in zip(keys, key, strict=True))
                problems.error(
                    "DuplicateId",
                    Place(
                        document.path,
                        label(name, index, entry.model_dump()),
                        ", ".join(keys),
                        key[0] if len(key) == 1 else list(key),
                    ),
                    f"{name} has two entries with {words}",
                    "give each entry its own, or remove one",
                )
            seen.add(key)
    return is_unique


def _without(
    data: Mapping[str, Any], wrong: set[tuple[str, int]]
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    rest, dropped = dict(data), []
    for key in {key for key, _ in wrong}:
        entries = data[key]
        rest[key] = [entry for index, entry in enumerate(entries) if (key, index) not in wrong]
        dropped += [entries[index] for name, index in sorted(wrong) if name == key]
    return rest, tuple(entry for entry in dropped if isinstance(entry, Mapping))


def parse_json(path: Path, name: str, problems: Problems) -> Any:
    """The parsed contents, or None after reporting why there are none."""

    class Trap(Exception):
        pass

    def constant(word: str) -> Any:
        raise Trap(f"holds {word}, which JSON does not know", "write a finite number", word)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise Trap(f"has the key {twice!r} twice in one object", "keep one of the two", twice)
        return found

    text = _read_text(path, name, problems)
    if text is None:
        return None
    if not text.strip():
        problems.error("ParseError", name, "is empty", "write the file again", value="")
        return None
    try:
        found = json.loads(text, parse_constant=constant, object_pairs_hook=unique)
        if found is not None:
            return found
        problems.error(
            "SchemaViolation",
            name,
            "holds null where an object is wanted",
            "write { … } around the contents, or remove the file; cobre schema export writes the file's JSON Schema",
            value="null",
        )
    except Trap as trap:
        message, remedy, value = trap.args
        problems.error("ParseError", name, message, remedy, value=value)
    except json.JSONDecodeError as error:
        # Lines as the parser counts them: it ends one after the last newline of a file that was cut off there.
        line = text.split("\n")[error.lineno - 1].strip()[:60]
        found_there = repr(line) if line or text[error.pos :].strip() else "the file ends there"
        problems.error(
            "ParseError",
            name,
            f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}: {found_there}",
            "correct that line (a missing comma, bracket or quote?), or write the file again if it was cut off",
            field=f"line {error.lineno}",
            value=line,
        )
    except (RecursionError, ValueError) as error:  # nested too deep, or an integer of thousands of digits
        problems.error(
            "ParseError", name, f"cannot be parsed: {error}", "write the file again", value=str(error)
        )
    return None


def _read_text(path: Path, name: str, problems: Problems) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problems.error(
            "ParseError",
            name,
            f"is not UTF-8 text: byte {error.object[error.start]:#04x} at position {error.start}",
            "save the file as UTF-8",
            value=error.object[error.start],
        )
    return None


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "object", list: "list", str: "text", bool: "true or false", int: "number", float: "number"}
    return names.get(type(value), type(value).__name__)
