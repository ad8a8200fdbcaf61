"""Translates the errors of MPI into those of the contract."""

from __future__ import annotations

from typing import Any

from cobre.errors import (
    AllocationFailed,
    CollectiveFailed,
    CommError,
    InvalidBufferSize,
    InvalidCommunicator,
    InvalidRoot,
)

__all__ = ["as_comm_error"]


def as_comm_error(mpi: Any, error: Any, operation: str, rank: int, size: int) -> CommError:
    """The exception that stands for an ``MPI.Exception`` raised by ``operation``."""
    code, text = error.Get_error_code(), error.Get_error_string()
    message = f"{operation} failed on rank {rank} of {size}: MPI says {text} (code {code})"
    match error.Get_error_class():
        case mpi.ERR_COMM:
            return InvalidCommunicator(message, suggestion="do not free the communicator while it is in use")
        case mpi.ERR_BUFFER | mpi.ERR_COUNT:
            return InvalidBufferSize(
                operation, 0, 0, message, suggestion="check that all ranks pass buffers that fit together"
            )
        case mpi.ERR_ROOT:
            return InvalidRoot(-1, size, message)
        case mpi.ERR_NO_MEM:
            return AllocationFailed(0, message, suggestion="use smaller messages, or free memory")
    return CollectiveFailed(
        operation,
        code,
        message,
        suggestion="check that all ranks make the same calls: COBRE_COMM_CHECK=1 names the ranks that do not",
    )
