"""The data that checks move and fold: every dtype, awkward lengths, bits that a careless copy would lose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EXTREME_DTYPES",
    "MOVABLE_DTYPES",
    "REDUCIBLE_DTYPES",
    "any_bits",
    "layouts",
    "lengths",
    "numbers",
]

INTEGERS = tuple(np.dtype(f"{kind}{width}") for kind in "iu" for width in (1, 2, 4, 8))
FLOATS = tuple(np.dtype(f"f{width}") for width in (2, 4, 8))
COMPLEX = (np.dtype("c8"), np.dtype("c16"))
STRUCTURED = (
    np.dtype([("stage", "i4"), ("cut", "f8", (2, 3)), ("active", "?")]),
    np.dtype([("flag", "u1"), ("value", "f8"), ("tail", "i2")], align=True),
    np.dtype([("outer", [("re", ">f4"), ("count", "<u2")]), ("wide", "g")]),
)

EXTREME_DTYPES = (np.dtype("?"), *INTEGERS, *FLOATS)
"""What MIN and MAX fold."""

REDUCIBLE_DTYPES = (*EXTREME_DTYPES, *COMPLEX)
"""What SUM folds."""

MOVABLE_DTYPES = (
    *REDUCIBLE_DTYPES,
    np.dtype("g"),
    np.dtype("G"),
    np.dtype("f8").newbyteorder("S"),
    np.dtype("i4").newbyteorder("S"),
    *STRUCTURED,
)
"""What allgatherv and broadcast carry."""

PATTERN_BYTES = 65521  # a prime: no chunk of a power of two can swap places unnoticed
CACHE_LINE, PAGE = 64, 4096


def any_bits(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """``count`` elements of random bits, NaNs and padding included (bool stays 0 or 1)."""
    n_bytes = count * dtype.itemsize
    pattern = np.frombuffer(rng.bytes(min(n_bytes, PATTERN_BYTES)), np.uint8)
    memory = np.resize(pattern, n_bytes)
    return (memory & 1 if dtype == np.bool_ else memory).view(dtype)


def numbers(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """``count`` numbers whose sum depends on the order: large ones that cancel, small ones that get lost."""
    if dtype.kind not in "fc":
        return any_bits(rng, dtype, count)
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    n_parts = count * (dtype.itemsize // part.itemsize)
    period = min(n_parts, 8191)
    large = 2.0 ** np.finfo(part).nmant
    scale = rng.choice([large, -large, 1.0, -1.0, 1.0 / 3.0], period)
    pattern = (scale * rng.uniform(1.0, 1.5, period)).astype(part)
    return np.resize(pattern, n_parts).view(dtype)


def lengths(limits: Mapping[str, int], itemsize: int, max_bytes: int, smallest: int = 0) -> list[int]:
    """Element counts worth trying: none, one, primes, and around every size where code may change course."""
    edges = {CACHE_LINE, PAGE, *limits.values()}
    sizes = [n for edge in edges for n in (edge - 1, edge, edge + 1, 2 * edge + 3)]
    counts = {0, 1, 2, 7, 127, 1009}
    counts |= {n // itemsize for n in sizes} | {-(-n // itemsize) for n in sizes}
    return sorted(n for n in counts if smallest <= n <= max(max_bytes // itemsize, 1))


def layouts(rng: np.random.Generator, size: int) -> list[tuple[list[int], list[int]]]:
    """Counts with displacements that are packed, spread out with gaps, reversed, and shuffled."""
    counts = [int(n) for n in rng.integers(0, 9, size)]
    counts[int(rng.integers(size))] = 5
    orders = [range(size), range(size), range(size - 1, -1, -1), [int(r) for r in rng.permutation(size)]]
    gaps = [0, 3, 0, 2]
    return [(counts, _place(counts, order, gap)) for order, gap in zip(orders, gaps, strict=True)]


def _place(counts: list[int], order: Any, gap: int) -> list[int]:
    displs, start = [0] * len(counts), gap
    for rank in order:
        displs[rank] = start
        start += counts[rank] + gap
    return displs
