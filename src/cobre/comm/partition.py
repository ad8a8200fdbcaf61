"""Which rank owns which part of ``n`` items: contiguous blocks, the remainder on the first ranks."""

from __future__ import annotations

from operator import index

__all__ = ["block_layout", "contiguous_block"]


def contiguous_block(n: int, rank: int, size: int) -> tuple[int, int]:
    """``(start, count)`` of the items that ``rank`` owns.

    >>> [contiguous_block(10, rank, 4) for rank in range(4)]
    [(0, 3), (3, 3), (6, 2), (8, 2)]
    """
    n, rank, size = index(n), index(rank), index(size)
    if n < 0:
        raise ValueError(f"cannot split {n} items: pass 0 or more")
    if size < 1:
        raise ValueError(f"cannot split over {size} ranks: pass 1 or more")
    if not 0 <= rank < size:
        raise ValueError(f"rank {rank} is not one of the ranks 0..{size - 1}")
    share, remainder = divmod(n, size)
    return rank * share + min(rank, remainder), share + (rank < remainder)


def block_layout(n: int, size: int) -> tuple[list[int], list[int]]:
    """``(counts, displs)`` of all ranks, as `Communicator.allgatherv` takes them.

    >>> block_layout(10, 4)
    ([3, 3, 2, 2], [0, 3, 6, 8])
    """
    if index(size) < 1:
        raise ValueError(f"cannot split over {size} ranks: pass 1 or more")
    blocks = [contiguous_block(n, rank, size) for rank in range(size)]
    return [count for _, count in blocks], [start for start, _ in blocks]
