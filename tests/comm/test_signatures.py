"""``help()`` and ``inspect.signature`` have something to show, and it is what the contract says."""

from __future__ import annotations

import inspect

import pytest

import mpi_ranks
from cobre.comm import (
    GroupMember,
    HeapRegion,
    LocalCommunicator,
    SharedRegion,
    ShmCommunicator,
    TcpCommunicator,
    create_communicator,
)
from cobre.comm.backends.shm import ShmRegion

COLLECTIVES = ("allgatherv", "allreduce", "broadcast", "barrier", "stats")
METHODS = (*COLLECTIVES, "close", "create_shared_region", "split_local")
PROPERTIES = ("rank", "size", "backend", "is_leader")
REGION = ("as_slice", "as_mut_slice", "as_mut_block", "fence", "close", "count", "dtype")


def check(communicator):
    """Of a class of communicators."""
    for name in METHODS:
        method, promise = getattr(communicator, name), getattr(GroupMember, name)
        signature = inspect.signature(method)
        assert list(signature.parameters) == list(inspect.signature(promise).parameters), name
        assert inspect.getdoc(method), name
    for name in COLLECTIVES:
        assert inspect.getdoc(getattr(communicator, name)) == inspect.getdoc(getattr(GroupMember, name))
    for name in PROPERTIES:
        assert inspect.getdoc(getattr(communicator, name)) == inspect.getdoc(getattr(GroupMember, name))


@pytest.mark.parametrize("communicator", [LocalCommunicator, ShmCommunicator, TcpCommunicator])
def test_every_method_of_a_communicator_has_a_signature_and_the_contract_s_docstring(communicator):
    check(communicator)


def test_those_of_mpi_do_too(tmp_path):
    program = tmp_path / "program.py"
    code = (
        "import inspect\nfrom cobre.comm import GroupMember, MpiCommunicator\n"
        f"COLLECTIVES, METHODS, PROPERTIES = {COLLECTIVES!r}, {METHODS!r}, {PROPERTIES!r}\n"
        f"{inspect.getsource(check)}\ncheck(MpiCommunicator)\n"
    )
    program.write_text(code)
    done = mpi_ranks.run(mpi_ranks.python_of("openmpi"), program)
    assert done.returncode == 0, done.stdout


def test_a_bound_method_shows_what_to_pass():
    with create_communicator("local") as comm:
        assert str(inspect.signature(comm.allgatherv)) == "(send, recv, counts, displs)"
        assert "counts" in (comm.allgatherv.__doc__ or "")


@pytest.mark.parametrize("region", [HeapRegion, ShmRegion])
def test_every_member_of_a_region_has_a_docstring(region):
    for name in REGION:
        assert inspect.getdoc(getattr(region, name)), name
        assert getattr(SharedRegion, name).__doc__
