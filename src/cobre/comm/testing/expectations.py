"""How a check says that a promise is broken. Never ``assert``: the kit must also work under ``python -O``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Failure", "as_bytes", "expect", "expect_bytes", "expect_raises"]


class Failure(AssertionError):
    """A promise of the contract was not kept. ``check`` names the check, once the runner has set it."""

    check: str = ""


def expect(condition: object, reason: str) -> None:
    """Fail with ``reason`` unless ``condition`` holds."""
    if not condition:
        raise Failure(reason)


def expect_bytes(actual: Any, expected: Any, what: str) -> None:
    """Fail unless both buffers hold the same bytes; the reason names the first element that differs."""
    got, wanted = as_bytes(actual), as_bytes(expected)
    if got.size != wanted.size:
        raise Failure(f"{what}: {got.size} bytes instead of {wanted.size}")
    if np.array_equal(got, wanted):
        return
    itemsize = np.asarray(expected).itemsize
    first = int(np.flatnonzero(got != wanted)[0]) // itemsize
    part = slice(first * itemsize, (first + 1) * itemsize)
    raise Failure(
        f"{what}: element {first} of {wanted.size // itemsize} is {got[part].tobytes().hex()}"
        f" instead of {wanted[part].tobytes().hex()} (bytes in memory order)"
    )


def expect_raises(kind: type[Exception], call: Callable[[], object], what: str) -> Exception:
    """The ``kind`` that ``call`` raised; anything else, or nothing, is a failure."""
    try:
        call()
    except kind as error:
        return error
    except Exception as error:
        raise Failure(f"{what}: {type(error).__name__} instead of {kind.__name__}: {error}") from error
    raise Failure(f"{what}: accepted, where {kind.__name__} was due")


def as_bytes(buffer: Any) -> NDArray[np.uint8]:
    """The memory of a C-contiguous buffer as a flat array, without a copy (padding bytes included)."""
    # NumPy takes bytes for text by default.
    array = np.asarray(memoryview(buffer) if isinstance(buffer, bytes) else buffer)
    return array.reshape(-1).view(np.uint8)
