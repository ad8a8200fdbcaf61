"""Reading FlatBuffers without a schema compiler: tables, numbers, texts and vectors by field id.

Every offset is checked before it is followed: a damaged file gives an error, never a wrong number from outside.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from cobre.errors import ValidationError
from cobre.sddp.container import unusable

U16, U32, I32 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<i")
IDENTIFIER_AT = 4


def identifier(data: bytes) -> bytes:
    """The four letters that say what the buffer is about; anything at all if its schema has none."""
    return data[IDENTIFIER_AT : IDENTIFIER_AT + 4]


class Table:
    """A table in a buffer; fields that the writer left out have their default."""

    def __init__(self, data: bytes, position: int, path: Path) -> None:
        self._data, self._position, self._path = data, position, path
        vtable = position - self._number(I32, position)
        n_bytes = self._number(U16, vtable)
        if n_bytes < 4 or n_bytes % 2:
            self._refuse("a table has an impossible size")
        self._offsets = [self._number(U16, vtable + 4 + 2 * k) for k in range((n_bytes - 4) // 2)]

    @classmethod
    def root(cls, data: bytes, path: Path) -> Self:
        """The table that the buffer is about."""
        if len(data) < U32.size:
            raise _damaged(path, f"it has {len(data)} bytes")
        return cls(data, U32.unpack_from(data)[0], path)

    def number(self, field: int, code: str, default: Any) -> Any:
        """A number of the ``struct`` format ``code`` (``"I"``, ``"d"``, …)."""
        place = self._place(field)
        return default if place is None else self._number(struct.Struct(f"<{code}"), place)

    def text(self, field: int) -> str | None:
        """A string."""
        found = self._vector(field, 1)
        if found is None:
            return None
        first, n = found
        try:
            return self._data[first : first + n].decode()
        except UnicodeDecodeError:
            self._refuse("a text is not UTF-8")

    def array(self, field: int, dtype: str) -> NDArray[Any]:
        """A vector of numbers; empty if there is none."""
        kind = np.dtype(dtype).newbyteorder("<")
        found = self._vector(field, kind.itemsize)
        if found is None:
            return np.empty(0, dtype=dtype)
        first, n = found
        return np.frombuffer(self._data, dtype=kind, count=n, offset=first).astype(dtype)

    def tables(self, field: int) -> list[Table]:
        """A vector of tables; empty if there is none."""
        found = self._vector(field, U32.size)
        if found is None:
            return []
        first, n = found
        places = [first + 4 * k for k in range(n)]
        return [Table(self._data, place + self._number(U32, place), self._path) for place in places]

    def _place(self, field: int) -> int | None:
        offset = self._offsets[field] if field < len(self._offsets) else 0
        return self._position + offset if offset else None

    def _vector(self, field: int, item_bytes: int) -> tuple[int, int] | None:
        """Where the items begin, and how many there are."""
        place = self._place(field)
        if place is None:
            return None
        start = place + self._number(U32, place)
        n = self._number(U32, start)
        if start + U32.size + n * item_bytes > len(self._data):
            self._refuse(f"a vector of {n} items goes beyond its end")
        return start + U32.size, n

    def _number(self, kind: struct.Struct, position: int) -> Any:
        if not 0 <= position <= len(self._data) - kind.size:
            self._refuse(f"it refers to byte {position} of {len(self._data)}")
        return kind.unpack_from(self._data, position)[0]

    def _refuse(self, reason: str) -> NoReturn:
        raise _damaged(self._path, reason)


def _damaged(path: Path, reason: str) -> ValidationError:
    why = f"is damaged, or no FlatBuffers file: {reason}"
    return unusable(path, why, "copy it again from where it was written")
