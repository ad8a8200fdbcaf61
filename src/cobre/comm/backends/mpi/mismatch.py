"""``COBRE_COMM_CHECK=1``: before each collective the ranks tell each other what they are about to call."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from cobre.comm.arguments import dtype_signature
from cobre.errors import CollectiveFailed

__all__ = ["MismatchReport", "describe"]

DIGEST_BYTES, TEXT_BYTES = 16, 240


def describe(operation: str, buffer: object = None, **details: object) -> str:
    """A call as its ranks must agree on it: ``broadcast(float64, count=3, root=0)``."""
    parts = [] if buffer is None else [dtype_signature(buffer)]
    parts += [f"{name}={value}" for name, value in details.items()]
    return f"{operation}({', '.join(parts)})"


class MismatchReport:
    """Exchanges the calls of all ranks on a communicator of its own.

    The exchange never blocks inside MPI's start, so that a rank that leaves can take part in the next one and go.
    """

    def __init__(self, comm: Any, mpi: Any) -> None:
        self._comm, self._byte = comm, mpi.BYTE
        self._farewell: tuple[Any, Any, Any] | None = None

    def agree(self, operation: str, call: str) -> None:
        """Collective. Raise `CollectiveFailed` on every rank unless all are about to make the same call."""
        request, _, rows = self._exchange(call)
        request.Wait()
        if (rows[:, :DIGEST_BYTES] == rows[0, :DIGEST_BYTES]).all():
            return
        callers: dict[bytes, list[int]] = {}
        for rank, row in enumerate(rows):
            callers.setdefault(row.tobytes(), []).append(rank)
        said = "; ".join(
            f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} called "
            + call[DIGEST_BYTES:].rstrip(b"\0").decode(errors="replace")
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

    def _exchange(self, call: str) -> tuple[Any, Any, Any]:
        digest, text = blake2b(call.encode(), digest_size=DIGEST_BYTES).digest(), _shortened(call).encode()
        row = np.zeros(DIGEST_BYTES + TEXT_BYTES, np.uint8)
        row[:DIGEST_BYTES] = np.frombuffer(digest, np.uint8)
        row[DIGEST_BYTES : DIGEST_BYTES + len(text)] = np.frombuffer(text, np.uint8)
        rows = np.empty((self._comm.size, row.size), np.uint8)
        request = self._comm.Iallgather((row, row.size, self._byte), (rows, row.size, self._byte))
        return request, row, rows


def _shortened(call: str) -> str:
    """``call`` in the space of a row. A list of counts on many ranks is longer: its checksum still tells two apart."""
    if len(call.encode()) <= TEXT_BYTES:
        return call
    mark = f"… (checksum {blake2b(call.encode(), digest_size=4).hexdigest()})"
    return call.encode()[: TEXT_BYTES - len(mark.encode())].decode(errors="ignore") + mark
