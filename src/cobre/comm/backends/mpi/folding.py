"""``allreduce`` in rank order: MPI moves the contributions, the core folds them.

``MPI_Allreduce`` may fold in any order it likes, so the last bit would depend on library, size and topology.
"""

from __future__ import annotations

from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.comm.arguments import as_flat_array, fold_slab_in_rank_order
from cobre.comm.partition import block_layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cobre.comm.protocol import CommData

__all__ = ["BlockwiseFold"]


class BlockwiseFold:
    """The reduction of a long payload: each rank folds the block it owns, then all gather the blocks.

    Twice the payload moves, however many ranks there are. Scratch memory is kept from call to call, and a
    payload goes in pieces, so that it never exceeds ``block_bytes``.
    """

    def __init__(self, comm: Any, mpi: Any, block_bytes: int) -> None:
        self._rank, self._size = comm.rank, comm.size
        self._alltoallv, self._allgatherv, self._in_place = comm.Alltoallv, comm.Allgatherv, mpi.IN_PLACE
        self._block_bytes = block_bytes
        self._slab = np.empty(0, np.uint8)

    def __call__(self, send: CommData, recv: CommData, op: str, itemsize: int, kind: Any) -> float:
        """Fold all ranks' ``send`` into ``recv``; the seconds spent folding are returned."""
        source, target = as_flat_array(send), as_flat_array(recv)
        step = max(self._block_bytes // itemsize, 1)
        seconds = 0.0
        for start in range(0, source.size, step):
            piece = target[start : start + step]
            counts, displs = _layout(piece.size, self._size)
            share, first = counts[self._rank], displs[self._rank]
            slab = self._scratch(share * itemsize * self._size)
            shares, places = [share] * self._size, [share * rank for rank in range(self._size)]
            self._alltoallv(
                (source[start : start + step], counts, displs, kind), (slab, shares, places, kind)
            )
            if share:
                started = perf_counter()
                fold_slab_in_rank_order(slab, self._size, piece[first : first + share], op)
                seconds += perf_counter() - started
            self._allgatherv(self._in_place, (piece, counts, displs, kind))
        return seconds

    def _scratch(self, n_bytes: int) -> NDArray[np.uint8]:
        if self._slab.size < n_bytes:
            self._slab = np.empty(n_bytes, np.uint8)
        return self._slab


@lru_cache(maxsize=64)
def _layout(count: int, size: int) -> tuple[list[int], list[int]]:
    return block_layout(count, size)
