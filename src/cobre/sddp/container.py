"""Named arrays in one file that is either whole and unchanged, or refused.

Layout, all little-endian: 8 bytes of magic; u32 version; u32 length of the header; the header, JSON with the
arrays' names, types, shapes and offsets beside whatever the writer adds; each array at a multiple of 64;
SHA-256 over all that. The same arrays give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.errors import ValidationError

PREFIX = struct.Struct("<8sII")
DIGEST_BYTES = 32
ALIGNMENT = 64


def encode(magic: bytes, version: int, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """``facts`` (plain JSON data) and ``arrays`` as the bytes of a file."""
    entries: list[dict[str, Any]] = []
    blobs: list[bytes] = []
    position = 0
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array)
        plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
        blob = plain.tobytes()
        blob += bytes(-len(blob) % ALIGNMENT)
        entries.append(
            {"name": name, "dtype": plain.dtype.str, "shape": list(plain.shape), "offset": position}
        )
        blobs.append(blob)
        position += len(blob)
    header = json.dumps({**facts, "arrays": entries, "bytes": position}, sort_keys=True).encode()
    header += b" " * (-(PREFIX.size + len(header)) % ALIGNMENT)
    body = PREFIX.pack(magic, version, len(header)) + header + b"".join(blobs)
    return body + hashlib.sha256(body).digest()


def decode(
    data: bytes, magic: bytes, versions: range, path: Path
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `encode` was given, or `ValidationError` for anything that it did not write."""
    if len(data) < PREFIX.size or data[:8] != magic:
        raise ValidationError(
            f"{path} is not a policy of this program: it does not begin with {magic.decode()!r}",
            kind="ParseError",
            context={"path": str(path)},
            suggestion="name the policy folder that cobre.train or cobre run wrote",
        )
    _, found, header_bytes = PREFIX.unpack_from(data)
    if found not in versions:
        raise ValidationError(
            f"{path} has version {found} of the file format; this program reads versions {versions[0]} to "
            f"{versions[-1]}",
            kind="ParseError",
            context={"path": str(path), "version": found},
            suggestion="train again with this program, or read the policy with the one that wrote it",
        )
    body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if len(data) < PREFIX.size + header_bytes + DIGEST_BYTES or hashlib.sha256(body).digest() != digest:
        raise ValidationError(
            f"{path} is damaged or cut short: its checksum does not match its {len(data)} bytes",
            kind="ParseError",
            context={"path": str(path), "bytes": len(data)},
            suggestion="copy it again from where it was written, or train again",
        )
    start = PREFIX.size + header_bytes
    facts: dict[str, Any] = json.loads(data[PREFIX.size : start])
    arrays = {}
    for entry in facts.pop("arrays"):
        dtype = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"], dtype=np.int64))
        flat = np.frombuffer(data, dtype=dtype, count=count, offset=start + entry["offset"])
        arrays[entry["name"]] = flat.reshape(entry["shape"]).astype(dtype.newbyteorder("="))
    del facts["bytes"]
    return facts, arrays
