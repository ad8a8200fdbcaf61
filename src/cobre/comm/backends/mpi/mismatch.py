"""``COBRE_COMM_CHECK=1``: before each collective the ranks compare their calls."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from cobre.errors import CollectiveFailed

__all__ = ["MismatchReport"]

SIGNATURE_BYTES, TEXT_BYTES = 8, 240


class MismatchReport:
    """Exchanges the calls of all ranks on a communicator of its own.

    The exchange never blocks inside MPI's start, so that a rank that leaves can take part in the next one and go.
    """

    def __init__(self, comm: Any, mpi: Any) -> None:
        self._comm, self._byte = comm, mpi.BYTE
        self._farewell: tuple[Any, Any, Any] | None = None

    def agree(self, operation: str, call: str, signature: int | None = None) -> None:
        """Collective. Raise `CollectiveFailed` on every rank unless all are about to make the same call.

        ``signature`` distinguishes calls with equal texts; by default it is that of the text.
        """
        request, _, rows = self._exchange(call, signature)
        request.Wait()
        if (rows[:, :SIGNATURE_BYTES] == rows[0, :SIGNATURE_BYTES]).all():
            return
        callers: dict[bytes, list[int]] = {}
        for rank, row in enumerate(rows):
            callers.setdefault(row.tobytes(), []).append(rank)
        said = "; ".join(
            f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} called "
            + call[SIGNATURE_BYTES:].rstrip(b"\0").decode(errors="replace")
            for call, ranks in callers.items()
        )
        raise CollectiveFailed(
            operation,
            message=f"the ranks do not make the same call: {said}",
            suggestion="make every rank call the same collectives in the same order, with the same arguments",
        )

    def leave(self, why: str) -> None:
        """Answer the next exchange of the others, without waiting for it, by saying that this rank has left."""
        self._farewell = self._exchange(why)

    def settle(self) -> None:
        """Wait for the answer that `leave` began. Only at the end of the process, where MPI would wait, too."""
        if self._farewell is not None:
            self._farewell[0].Wait()
            self._farewell = None

    def _exchange(self, call: str, signature: int | None = None) -> tuple[Any, Any, Any]:
        text = call.encode()
        if signature is None:
            signature = int.from_bytes(blake2b(text, digest_size=SIGNATURE_BYTES).digest(), "little")
        row = np.zeros(SIGNATURE_BYTES + TEXT_BYTES, np.uint8)
        content = signature.to_bytes(SIGNATURE_BYTES, "little") + text[:TEXT_BYTES]
        row[: len(content)] = np.frombuffer(content, np.uint8)
        rows = np.empty((self._comm.size, row.size), np.uint8)
        request = self._comm.Iallgather((row, row.size, self._byte), (rows, row.size, self._byte))
        return request, row, rows
