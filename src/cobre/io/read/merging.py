"""Settings given in a call, laid over those of ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from cobre.io.problems import Problems, shown
from cobre.io.read.config import FILE, ConfigRecord
from cobre.io.spelling import nearest


def merge_overrides(
    data: Mapping[str, Any], overrides: Mapping[str, Any], problems: Problems
) -> dict[str, Any]:
    """``data`` with ``overrides`` merged deeply: dicts merge, everything else replaces.

    A key that ``config.json`` does not have is an error: a misspelt setting must not look like one that works.
    """
    if not isinstance(overrides, Mapping):
        problems.error(
            "TypeMismatch",
            FILE.path,
            f"config_overrides is {shown(overrides)}, not a dict",
            "give a dict with the keys of config.json",
            entity="config_overrides",
            field="config_overrides",
            value=shown(overrides),
        )
        return dict(data)
    return _merge(data, overrides, ConfigRecord, (), problems)


def _merge(
    data: Mapping[str, Any],
    overrides: Mapping[str, Any],
    record: type[BaseModel] | None,
    place: tuple[str, ...],
    problems: Problems,
) -> dict[str, Any]:
    merged = dict(data)
    for key, value in overrides.items():
        field = ".".join((*place, str(key)))
        if record is not None and key not in record.model_fields:
            near = nearest(str(key), record.model_fields)
            problems.error(
                "SchemaViolation",
                FILE.path,
                f"config_overrides names {field} = {shown(value)}, which is no setting",
                f"use {near}" if near else f"use one of {', '.join(record.model_fields)}",
                entity="config_overrides",
                field=field,
                value=shown(value),
            )
            continue
        inner = None if record is None else _record_of(record.model_fields[key].annotation)
        if isinstance(value, Mapping) and (inner is not None or isinstance(merged.get(key), Mapping)):
            base = merged.get(key)
            merged[key] = _merge(
                base if isinstance(base, Mapping) else {}, value, inner, (*place, str(key)), problems
            )
        else:
            merged[key] = value
    return merged


def _record_of(annotation: Any) -> type[BaseModel] | None:
    """The record inside ``Record | None`` or ``Record``; None for anything else."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None
