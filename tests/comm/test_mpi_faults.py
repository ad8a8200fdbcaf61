"""What MPI reports becomes the contract's error of the same meaning. Needs no MPI: the library here is a stand-in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cobre.comm.backends.mpi.faults import as_comm_error
from cobre.errors import (
    AllocationFailed,
    CollectiveFailed,
    InvalidBufferSize,
    InvalidCommunicator,
    InvalidRoot,
)

MPI = SimpleNamespace(ERR_COMM=5, ERR_BUFFER=1, ERR_COUNT=2, ERR_ROOT=7, ERR_NO_MEM=34, ERR_OTHER=15)


class Reported(Exception):
    def __init__(self, error_class: int) -> None:
        super().__init__()
        self.error_class = error_class

    def Get_error_class(self) -> int:
        return self.error_class

    def Get_error_code(self) -> int:
        return 1000 + self.error_class

    def Get_error_string(self) -> str:
        return "something about it"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ERR_COMM", InvalidCommunicator),
        ("ERR_BUFFER", InvalidBufferSize),
        ("ERR_COUNT", InvalidBufferSize),
        ("ERR_ROOT", InvalidRoot),
        ("ERR_NO_MEM", AllocationFailed),
        ("ERR_OTHER", CollectiveFailed),
    ],
)
def test_each_class_of_error_has_its_exception(name, expected):
    error = as_comm_error(MPI, Reported(getattr(MPI, name)), "broadcast", 1, 4)
    assert type(error) is expected
    assert error.message.startswith("broadcast failed on rank 1 of 4: MPI says something about it")
    assert error.suggestion


def test_other_mpi_errors_keep_their_code():
    error = as_comm_error(MPI, Reported(MPI.ERR_OTHER), "barrier", 0, 2)
    assert (error.operation, error.mpi_error_code) == ("barrier", 1015)
