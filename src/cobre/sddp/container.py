"""Named arrays in one file that is either whole and unchanged, or refused.

Layout, all little-endian: 8 bytes of magic; u32 version; u32 length of the header; the header, JSON with the
arrays' names, types, shapes, places and, where compressed, sizes, beside whatever the writer adds; each array at a
multiple of 64; SHA-256 over all that. The same arrays give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.errors import ValidationError
from cobre.solver import LAST_BASIS_STATUS, NO_BASIS

PREFIX = struct.Struct("<8sII")
DIGEST_BYTES = 32
ALIGNMENT = 64
CODEC = "zstd"
FOREIGN = "read it with the program that wrote it, or train again with this one"
LARGEST_IN_CUT = 1e20
"""What the solver takes for infinite is no number of a cut."""

Arrays = Mapping[str, NDArray[Any]]


def pieces(
    magic: bytes, version: int, facts: Mapping[str, Any], arrays: Arrays, *, is_compressed: bool = False
) -> Iterator[bytes | memoryview]:
    """The bytes of a file in pieces, without a second copy of all arrays in memory unless they are compressed."""
    stored = [_stored(name, array, is_compressed=is_compressed) for name, array in arrays.items()]
    position = 0
    for entry, blob in stored:
        entry["offset"] = position
        position += len(blob) + -len(blob) % ALIGNMENT
    described = {**facts, "arrays": [entry for entry, _ in stored], "bytes": position}
    header = json.dumps(described, sort_keys=True).encode()
    header += b" " * (-(PREFIX.size + len(header)) % ALIGNMENT)
    yield from _with_digest(_body(PREFIX.pack(magic, version, len(header)) + header, stored))


def encode(magic: bytes, version: int, facts: Mapping[str, Any], arrays: Arrays) -> bytes:
    """``facts`` (plain JSON data) and ``arrays`` as the bytes of a file."""
    return b"".join(pieces(magic, version, facts, arrays))


def _stored(
    name: str, array: NDArray[Any], *, is_compressed: bool
) -> tuple[dict[str, Any], bytes | memoryview]:
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    entry: dict[str, Any] = {"name": name, "dtype": plain.dtype.str, "shape": list(plain.shape)}
    blob: bytes | memoryview = plain.reshape(-1).view(np.uint8).data if plain.size else b""
    if is_compressed and plain.size:
        import pyarrow as pa

        blob = pa.compress(blob, codec=CODEC, asbytes=True)
        entry |= {"codec": CODEC, "stored_bytes": len(blob)}
    return entry, blob


def _body(
    beginning: bytes, stored: Iterable[tuple[dict[str, Any], bytes | memoryview]]
) -> Iterator[bytes | memoryview]:
    yield beginning
    for _, blob in stored:
        yield blob
        yield bytes(-len(blob) % ALIGNMENT)


def _with_digest(body: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
        yield piece
    yield digest.digest()


def decode(
    data: bytes, magic: bytes, versions: range, path: Path, *, content: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `encode` was given, or `ValidationError` for anything that it did not write.

    ``content`` is what the file should hold, for messages.
    """
    if len(data) < PREFIX.size or data[:8] != magic:
        why = f"is not a {content} of this program: it does not begin with {magic.decode()!r}"
        raise unusable(path, why, "name the folder that cobre.train or cobre run wrote")
    _, found, header_bytes = PREFIX.unpack_from(data)
    if found not in versions:
        readable = f"versions {versions[0]} to {versions[-1]}"
        why = f"has version {found} of the file format; this program reads {readable}"
        raise unusable(path, why, FOREIGN, version=found)
    view = memoryview(data)
    body, digest = view[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if len(data) < PREFIX.size + header_bytes + DIGEST_BYTES or hashlib.sha256(body).digest() != digest:
        why = f"is damaged or cut short: its checksum does not match its {len(data)} bytes"
        raise unusable(path, why, "copy it again from where it was written, or train again", bytes=len(data))
    start = PREFIX.size + header_bytes
    with understanding(path, content):
        facts: dict[str, Any] = json.loads(data[PREFIX.size : start])
        arrays = {entry["name"]: _array(view, start, entry) for entry in facts.pop("arrays")}
        del facts["bytes"]
    return facts, arrays


MISUNDERSTANDINGS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,  # Arrow's for a codec that it was built without
    OverflowError,
    MemoryError,
    RecursionError,
    OSError,  # Arrow's for compressed bytes that are none
)
"""What reading a foreign structure may end with."""


@contextmanager
def understanding(path: Path, content: str) -> Iterator[None]:
    """Refuse a file that is whole, as its checksum says, and has not what this program needs in it."""
    try:
        yield
    except MISUNDERSTANDINGS as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        why = f"is not a {content} that this program understands: {reason}"
        raise unusable(path, why, FOREIGN) from error


def unusable(path: Path, why: str, remedy: str, **facts: Any) -> ValidationError:
    """The error to raise for a file whose content cannot be used."""
    context = {"path": str(path), **facts}
    return ValidationError(f"{path} {why}", kind="ParseError", context=context, suggestion=remedy)


def checked(arrays: Arrays, name: str, dtype: str, *shape: int | None) -> NDArray[Any]:
    """The array of that name; `ValueError` unless it has this type and shape (None: any length)."""
    array = arrays[name]
    fits = len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=False))
    if array.dtype != dtype or not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, not {dtype} of shape ({wanted})")
    return array


def checked_cuts(arrays: Arrays, name: str, *shape: int | None) -> Floats:
    """The array of that name; `ValueError` unless it holds numbers of cuts that a solver can take."""
    array = checked(arrays, name, "float64", *shape)
    wrong = ~(np.abs(array) < LARGEST_IN_CUT)
    if wrong.any():
        raise ValueError(f"{name} holds {array[wrong][0]}, which is no number of a cut")
    return array


def checked_bases(arrays: Arrays, name: str, *shape: int | None) -> NDArray[np.uint8]:
    """The array of that name; `ValueError` unless it holds start bases of solves, one per row."""
    array = checked(arrays, name, "uint8", *shape)
    rows = np.atleast_2d(array)
    if rows.size and (rows[rows[:, 0] != NO_BASIS] > LAST_BASIS_STATUS).any():
        raise ValueError(f"{name} holds bytes that no start basis has")
    return array


def _array(data: memoryview, start: int, entry: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(entry["dtype"])
    if any(n < 0 for n in entry["shape"]):
        raise ValueError(f"{entry['name']} has the shape {entry['shape']}")
    count = math.prod(entry["shape"])
    first = start + entry["offset"]
    if "codec" in entry:
        import pyarrow as pa

        stored = data[first : first + entry["stored_bytes"]]
        content = pa.decompress(
            stored, decompressed_size=count * dtype.itemsize, codec=entry["codec"], asbytes=True
        )
        flat = np.frombuffer(content, dtype=dtype, count=count)
    else:
        flat = np.frombuffer(data, dtype=dtype, count=count, offset=first)
    return flat.reshape(entry["shape"]).astype(dtype.newbyteorder("="))
