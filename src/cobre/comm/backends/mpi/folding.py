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

__all__ = ["OrderedFold"]


class OrderedFold:
    """The reduction of one communicator, with the scratch memory that it reuses from call to call."""

    def __init__(self, comm: Any, mpi: Any, slab_bytes: int, block_bytes: int) -> None:
        self._rank, self._size = comm.rank, comm.size
        self._allgather, self._alltoallv, self._allgatherv = comm.Allgather, comm.Alltoallv, comm.Allgatherv
        self._in_place = mpi.IN_PLACE
        self._slab_bytes, self._block_bytes = slab_bytes, block_bytes
        self._slab = np.empty(0, np.uint8)

    def __call__(
        self, send: CommData, recv: CommData, op: str, itemsize: int, count: int, kind: Any
    ) -> float:
        """Fold all ranks' ``send`` into ``recv``; the seconds spent folding are returned."""
        slab_bytes = itemsize * count * self._size
        if slab_bytes > self._slab_bytes:
            return self._fold_blocks(send, recv, op, itemsize, kind)
        slab = self._slab if self._slab.size >= slab_bytes else self._scratch(slab_bytes)
        self._allgather((send, count, kind), (slab, count, kind))
        started = perf_counter()
        fold_slab_in_rank_order(slab, self._size, recv, op)
        return perf_counter() - started

    def _fold_blocks(self, send: CommData, recv: CommData, op: str, itemsize: int, kind: Any) -> float:
        """Each rank folds the block it owns and all gather the blocks: twice the payload moves, whatever the size."""
        source, target = as_flat_array(send), as_flat_array(recv)
        step = max(self._block_bytes // itemsize, 1)
        seconds = 0.0
        for start in range(0, source.size, step):
            piece = target[start : start + step]
            counts, displs = _layout(piece.size, self._size)
            share = counts[self._rank]
            slab = self._scratch(share * itemsize * self._size)
            shares = ([share] * self._size, range(0, share * self._size, share) if share else [0] * self._size)
            self._alltoallv((source[start : start + step], counts, displs, kind), (slab, *shares, kind))
            if share:
                started = perf_counter()
                mine = piece[displs[self._rank] : displs[self._rank] + share]
                fold_slab_in_rank_order(slab, self._size, mine, op)
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
