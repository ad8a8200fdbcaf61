"""Writes FlatBuffers for tests: a table is a dict from field id to value."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Number:
    """A number of a ``struct`` format."""

    code: str
    value: Any


def write(table: dict[int, Any], identifier: bytes = b"") -> bytes:
    """Values are `Number`, str, arrays, dicts (tables) and lists of dicts."""
    data = bytearray(4) + identifier
    data[:4] = struct.pack("<I", _table(data, table))
    return bytes(data)


def _table(data: bytearray, table: dict[int, Any]) -> int:
    """Append a table and everything that it refers to; where it begins."""
    n = max(table, default=-1) + 1
    offsets, inline, references = [0] * n, bytearray(4), []
    for field, value in table.items():
        if isinstance(value, Number):
            offsets[field] = len(inline)
            inline += struct.pack(f"<{value.code}", value.value)
        else:
            offsets[field] = len(inline)
            references.append((len(inline), value))
            inline += bytes(4)
    vtable = len(data)
    data += struct.pack(f"<HH{n}H", 4 + 2 * n, len(inline), *offsets)
    position = len(data)
    inline[:4] = struct.pack("<i", position - vtable)
    data += inline
    for place, value in references:
        _refer(data, position + place, _value(data, value))
    return position


def _value(data: bytearray, value: Any) -> int:
    if isinstance(value, str):
        return _append(data, struct.pack("<I", len(value.encode())) + value.encode() + b"\0")
    if isinstance(value, np.ndarray):
        return _append(data, struct.pack("<I", len(value)) + value.tobytes())
    if isinstance(value, dict):
        return _table(data, value)
    start = _append(data, struct.pack("<I", len(value)) + bytes(4 * len(value)))
    for k, each in enumerate(value):
        _refer(data, start + 4 + 4 * k, _table(data, each))
    return start


def _append(data: bytearray, content: bytes) -> int:
    position = len(data)
    data += content
    return position


def _refer(data: bytearray, place: int, target: int) -> None:
    data[place : place + 4] = struct.pack("<I", target - place)
