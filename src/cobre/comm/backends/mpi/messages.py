"""How bytes travel in MPI: element types by size alone, and messages that 32-bit counts cannot describe."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.comm.arguments import as_flat_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cobre.comm.protocol import CommData

__all__ = ["ElementTypes", "LongMessages", "largest_message"]


class ElementTypes(dict[int, Any]):
    """MPI's type for elements of so many bytes. Nothing is converted on the way, so the size suffices."""

    def __init__(self, mpi: Any) -> None:
        super().__init__({1: mpi.BYTE, 2: mpi.INT16_T, 4: mpi.INT32_T, 8: mpi.INT64_T})
        self._byte = mpi.BYTE

    def __missing__(self, itemsize: int) -> Any:
        datatype = self[itemsize] = self._byte.Create_contiguous(itemsize).Commit()
        return datatype


def largest_message(mpi: Any, limit_bytes: int, default_bytes: int) -> int:
    """How many bytes one call may carry: no limit from MPI 4 on, unless a test sets one."""
    has_large_counts = mpi.Get_version() >= (4, 0) and mpi.VERSION >= 4
    return 1 << 62 if has_large_counts and limit_bytes == default_bytes else limit_bytes


class LongMessages:
    """The two collectives that carry payload, for lengths beyond what one call can."""

    def __init__(self, comm: Any, mpi: Any, piece_bytes: int) -> None:
        self._comm, self._byte, self._piece_bytes = comm, mpi.BYTE, piece_bytes

    def broadcast(self, buf: CommData, root: int) -> None:
        """Piece by piece."""
        data = _bytes_of(buf)
        for start in range(0, data.size, self._piece_bytes):
            piece = data[start : start + self._piece_bytes]
            self._comm.Bcast((piece, piece.size, self._byte), root)

    def gather(
        self,
        send: CommData,
        recv: CommData,
        counts: Sequence[int],
        displs: Sequence[int],
        itemsize: int,
        kind: Any,
    ) -> None:
        """Each rank broadcasts its part. Decided by the counts alone, so that all ranks do the same.

        Where only the gaps make displacements too large, which are this rank's own affair, all other ranks see a plain
        gather: the parts come side by side first and go to their places then.
        """
        target, rank = _bytes_of(recv), self._comm.rank
        parts = [
            target[displ * itemsize : (displ + count) * itemsize]
            for displ, count in zip(displs, counts, strict=True)
        ]
        if sum(counts) * itemsize <= self._piece_bytes:
            starts = [0, *accumulate(counts)]
            packed = np.empty(starts[-1] * itemsize, np.uint8)
            self._comm.Allgatherv((send, counts[rank], kind), (packed, counts, starts[:-1], kind))
            for part, start in zip(parts, starts[:-1], strict=True):
                part[:] = packed[start * itemsize : start * itemsize + part.size]
            return
        mine, source = parts[rank], _bytes_of(send)
        if mine.size and mine.ctypes.data != source.ctypes.data:
            mine[:] = source
        for root, part in enumerate(parts):
            self.broadcast(part, root)


def _bytes_of(buffer: CommData) -> NDArray[np.uint8]:
    return as_flat_array(buffer).view(np.uint8)
