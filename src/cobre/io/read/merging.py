"""Settings given in a call, laid over those of ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from cobre.io.problems import Place, Problems, shown
from cobre.io.read.config import FILE
from cobre.io.spelling import nearest


def merge_overrides(
    data: Mapping[str, Any], overrides: Mapping[str, Any], record: type[BaseModel], problems: Problems
) -> dict[str, Any]:
    """``data`` of a file of shape ``record`` with ``overrides`` merged deeply: dicts merge, everything else replaces.

    A dotted key such as ``training.tree_seed`` means the same as nested dicts, and ``training.forward_passes`` and
    ``simulation.num_scenarios`` are those of ``selection`` where the file has that. A key that ``config.json`` does
    not have is an error: a misspelt setting must not look like one that works.
    """
    if not isinstance(overrides, Mapping):
        problems.error(
            "TypeMismatch",
            Place(FILE.path, "config_overrides", "config_overrides", shown(overrides)),
            f"config_overrides is {shown(overrides)}, not a dict",
            "give a dict with the keys of config.json",
        )
        return dict(data)
    return _merge(data, _with_selection(_nested(overrides), record), record, (), problems)


def _with_selection(overrides: dict[str, Any], record: type[BaseModel]) -> dict[str, Any]:
    """``overrides`` with the counts of trajectories where 0.18 keeps them."""
    found = dict(overrides)
    for part, name in (("training", "forward_passes"), ("simulation", "num_scenarios")):
        inner = found.get(part)
        shape = _record_of(record.model_fields[part].annotation)
        if (
            isinstance(inner, Mapping)
            and name in inner
            and shape is not None
            and "selection" in shape.model_fields
        ):
            rest = {key: value for key, value in inner.items() if key != name}
            chosen = rest.get("selection")
            rest["selection"] = {
                "method": "sampled",
                **(chosen if isinstance(chosen, Mapping) else {}),
                name: inner[name],
            }
            found[part] = rest
    return found


def _nested(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``overrides`` with every dotted key written as nested dicts; later keys win."""
    nested: dict[str, Any] = {}
    for key, value in overrides.items():
        *outer, last = str(key).split(".")
        inner = nested
        for name in outer:
            inner[name] = dict(inner[name]) if isinstance(inner.get(name), Mapping) else {}
            inner = inner[name]
        old = inner.get(last)
        is_both = isinstance(value, Mapping) and isinstance(old, Mapping)
        inner[last] = {**old, **value} if is_both and old is not None else value
    return nested


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
                Place(FILE.path, "config_overrides", field, shown(value)),
                f"config_overrides names {field} = {shown(value)}, which is no setting",
                f"use {near}" if near else f"use one of {', '.join(sorted(record.model_fields))}",
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
