"""One hash over everything that a study holds, to find out whether two are the same to the bit."""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any

import numpy as np

LATER = {"digest": "unless default"}
"""Metadata of a field that counts only where it is not its default: digests of older studies stay what they were."""


def digest(value: Any) -> str:
    """SHA-256 over ``value`` and all inside it: dataclasses, containers, arrays, numbers, text, dates.

    Numbers count by their bits, so that 0.0 and -0.0 differ and NaN equals itself.
    """
    sink = hashlib.sha256()
    _feed(value, sink)
    return sink.hexdigest()


def _feed(value: Any, sink: Any) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        _mark(sink, type(value).__name__)
        for field in fields(value):
            if field.compare and not _is_left_out(field, value):
                _mark(sink, field.name)
                _feed(getattr(value, field.name), sink)
    elif isinstance(value, np.ndarray):
        _mark(sink, f"array {value.dtype.str} {value.shape}")
        sink.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        _mark(sink, f"mapping {len(value)}")
        for key in sorted(value):
            _feed(key, sink)
            _feed(value[key], sink)
    elif isinstance(value, list | tuple):
        _mark(sink, f"sequence {len(value)}")
        for item in value:
            _feed(item, sink)
    elif isinstance(value, float):
        sink.update(b"float" + struct.pack("<d", value))
    elif value is None or isinstance(value, bool | int | str | dt.date):
        _mark(sink, f"{type(value).__name__} {value}")
    else:
        raise TypeError(f"a study holds no {type(value).__name__}")


def _is_left_out(field: Field[Any], value: Any) -> bool:
    if field.metadata.get("digest") != LATER["digest"]:
        return False
    found, default = getattr(value, field.name), field.default
    return found is default or (isinstance(found, bool | int | str | float | tuple) and found == default)


def _mark(sink: Any, text: str) -> None:
    data = text.encode()
    sink.update(len(data).to_bytes(4, "little") + data)
