"""Turns pydantic's findings about a JSON file into reports that name entity, field, value and remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic import ValidationError as ShapeError

from cobre.errors import VALIDATION_KINDS
from cobre.io.problems import Place, Problems, shown
from cobre.io.read.keys import known_keys, missing_key
from cobre.io.spelling import nearest

WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number that fits 32 bits",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "list_type": "a list [ … ]",
    "tuple_type": "a list [ … ]",
    "dict_type": "an object { … }",
    "model_type": "an object { … }",
    "model_attributes_type": "an object { … }",
}
RANGES = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
SINGULAR = {
    "buses": "bus",
    "storage": "storage of hydro",
    "filling_storage": "filling storage of hydro",
    "past_inflows": "past inflows of hydro",
    "recent_observations": "recent observation of hydro",
    "production_models": "production model of hydro",
    "load_factors": "load factors of bus",
    "exchange_factors": "exchange factors of line",
    "non_controllable_factors": "factors of non-controllable source",
}
WHOLE_ENTRY = "the entry"
ID_KEYS = ("id", "hydro_id", "bus_id", "line_id", "ncs_id")


def report_shape(
    error: ShapeError, data: Mapping[str, Any], record: type[BaseModel], file: str, problems: Problems
) -> set[tuple[str, int]]:
    """Report every finding about ``data``, which is no ``record``; the list entries (key, index) that hold them."""
    wrong: set[tuple[str, int]] = set()
    for finding in error.errors(include_url=False):
        if _counts_only_sound_entries(finding):
            continue
        entity, field, value = _locate_finding(finding, data)
        kind, message, remedy = _explain(finding, field, record)
        problems.error(kind, Place(file, entity, field, _brief(value)), message, remedy)
        place = finding["loc"]
        if len(place) > 1 and isinstance(place[0], str) and isinstance(place[1], int):
            wrong.add((place[0], place[1]))
    return wrong


def _counts_only_sound_entries(finding: Mapping[str, Any]) -> bool:
    """Whether a list is long enough: entries that have findings of their own are not counted by Pydantic."""
    return finding["type"] == "too_short" and bool(len(finding["input"]) >= finding["ctx"]["min_length"])


def _locate_finding(finding: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Entity, field and value; for a union whose tag is wrong or missing these are the tag's."""
    kind, context = finding["type"], finding.get("ctx", {})
    entity, field = locate(finding["loc"], data, keeps_unknown=kind == "missing")
    if kind in ("union_tag_invalid", "union_tag_not_found") and str(context["discriminator"]).startswith("'"):
        name = str(context["discriminator"]).strip("'")
        return entity, name if field == WHOLE_ENTRY else f"{field}.{name}", context.get("tag")
    return entity, field, None if kind == "missing" else finding["input"]


def _explain(finding: Mapping[str, Any], field: str, record: type[BaseModel]) -> tuple[str, str, str]:
    kind, context, value = finding["type"], finding.get("ctx", {}), shown(finding["input"])
    if kind in VALIDATION_KINDS:
        return kind, f"{field} is {value}, which {finding['msg']}", context["remedy"]
    if kind == "missing":
        *place, name = finding["loc"]
        if not isinstance(finding["input"], Mapping):
            return (
                "SchemaViolation",
                f"{field} is missing in {value}",
                "give an entry that is as long as the others",
            )
        instead, remedy = missing_key(str(name), finding["input"], record, place)
        return "SchemaViolation", f"{field} is missing{instead}", remedy
    if kind == "extra_forbidden":
        remedy = _spelling(finding["loc"], record)
        return "SchemaViolation", f"{field} is no known key here (value {value})", remedy
    if kind in WANTED:
        return "TypeMismatch", f"{field} is {value} where {WANTED[kind]} is wanted", f"write {WANTED[kind]}"
    if kind in RANGES:
        key, words = RANGES[kind]
        return (
            "OutOfRange",
            f"{field} is {value}, not {words} {context[key]:g}",
            f"give a value {words} {context[key]:g}",
        )
    if kind == "finite_number":
        return "OutOfRange", f"{field} is {value}, not a finite number", "give a finite number"
    if kind == "literal_error":
        return (
            "InvalidEnum",
            f"{field} is {value}, not one of {context['expected']}",
            f"use {context['expected']}",
        )
    if kind == "union_tag_invalid":
        tag, tags = context["tag"], context["expected_tags"]
        return "InvalidEnum", f"{field} is {tag!r}, not one of {tags}", f"use {tags}"
    if kind == "union_tag_not_found":
        return "SchemaViolation", f"{field} is missing", f"add {field}"
    if kind in ("too_short", "too_long"):
        wanted = context.get("min_length", context.get("max_length"))
        actual = context["actual_length"]
        words = "at least" if kind == "too_short" else "at most"
        return "SchemaViolation", f"{field} has {actual} entries", f"give {words} {wanted} entries"
    return (
        "SchemaViolation",
        f"{field} is {value}: {finding['msg']}",
        "see cobre schema export for what is wanted",
    )


def _spelling(place: Sequence[str | int], record: type[BaseModel]) -> str:
    """What to do about the unknown key at the end of ``place``."""
    name, known = str(place[-1]), known_keys(record, place[:-1])
    if name in known:
        return f"remove {name}: it goes with another choice than this one"
    near = nearest(name, known)
    return f"rename {name} to {near} if that is meant" if near else f"use one of {', '.join(sorted(known))}"


def locate(place: Sequence[str | int], data: Any, *, keeps_unknown: bool = False) -> tuple[str, str]:
    """The entity and the field that a path into the parsed data speaks about.

    Steps that are not in the data are tags of unions and left out; ``keeps_unknown`` keeps the last one.
    """
    entity, names = "", ""
    for depth, step in enumerate(place):
        is_last = depth == len(place) - 1
        if isinstance(step, int):
            data = data[step] if isinstance(data, list) and 0 <= step < len(data) else None
            if not entity and depth == 1:
                entity, names = label(str(place[0]), step, data), ""
            else:
                names += f"[{step}]"
            continue
        if isinstance(data, Mapping) and step in data and not _is_tag(data[step], place[depth + 1 :]):
            data = data[step]
        elif not (is_last and keeps_unknown):
            continue
        names += f".{step}" if names else step
    return entity, names or WHOLE_ENTRY


def _is_tag(inner: Any, rest: Sequence[str | int]) -> bool:
    """Whether a step that could be a key must be a union's tag: a list is not entered by name."""
    return isinstance(inner, list) and bool(rest) and isinstance(rest[0], str)


def label(key: str, index: int, entry: Any) -> str:
    """The label of a list entry in messages: its id and name, or else its position."""
    noun = SINGULAR.get(key, key.removesuffix("s").replace("_", " "))
    if not isinstance(entry, Mapping):
        return f"{noun} at position {index}"
    identity = next((entry[name] for name in ID_KEYS if isinstance(entry.get(name), int)), None)
    if identity is None:
        return f"{noun} at position {index}"
    name, stage = entry.get("name"), entry.get("stage_id")
    quoted = f" ({name})" if isinstance(name, str) and name else ""
    return f"{noun} {identity}{quoted}" + (f", stage {stage}" if isinstance(stage, int) else "")


def _brief(value: Any) -> Any:
    return shown(value, 120) if isinstance(value, dict | list) else value


OPEN_PLACES = ("tailrace", "hydraulic_losses", "efficiency", "production_models")
"""Objects that may have any further keys, also in files that are closed."""


def report_unknown_keys(
    record: BaseModel, data: Mapping[str, Any], file: str, problems: Problems, *, is_closed: bool = False
) -> None:
    """Report once per key name that the format does not know, naming who has it: an error in a closed file."""
    holders: dict[str, list[tuple[str, Any]]] = {}
    remedies: dict[str, str] = {}
    refused: set[str] = set()
    for place, value in _extras(record, ()):
        if place == ("$schema",):
            continue
        entity, field = locate(place, data)
        holders.setdefault(field, []).append((entity, value))
        remedies[field] = _spelling(place, type(record))
        if is_closed and not any(part in OPEN_PLACES for part in place):
            refused.add(field)
    for field, found in holders.items():
        entity, value = found[0]
        others = f" (and {len(found) - 1} more entries)" if len(found) > 1 else ""
        is_refused = field in refused
        ending = "" if is_refused else "; it is ignored"
        report = problems.error if is_refused else problems.warn
        report(
            "SchemaViolation",
            Place(file, entity, field, _brief(value)),
            f"{field} = {shown(value)} is a key the format does not know{ending}{others}",
            remedies[field],
        )


def _extras(value: Any, place: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Any]]:
    found: list[tuple[tuple[str | int, ...], Any]] = []
    if isinstance(value, BaseModel):
        found += [((*place, key), extra) for key, extra in (value.model_extra or {}).items()]
        for name in type(value).model_fields:
            found += _extras(getattr(value, name), (*place, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            found += _extras(item, (*place, index))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            found += _extras(item, (*place, key))
    return found
