"""The whole contract under real ``mpiexec``, with Open MPI and with MPICH."""

from __future__ import annotations

import sys

import pytest

from mpi_ranks import LIBRARIES, python_of, run

KIT = ("-m", "cobre.comm.testing")
SHRUNK = "slab_bytes=192,block_bytes=4096,message_bytes=4096"


def _kit(library: str, size: int, *options: str, **environ: str) -> str:
    command = [python_of(library), *KIT, "-n", size, "--backend", "mpi", "--deadline", 40]
    done = run(*command, *options, **environ)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def _digest(text: str) -> str:
    return next(line for line in text.split() if len(line) == 64)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_keeps_the_contract(library, size):
    assert ", 0 failed" in _kit(library, size)


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_keeps_the_contract_with_every_internal_limit_shrunk(library):
    assert ", 0 failed" in _kit(library, 3, COBRE_COMM_LIMITS=SHRUNK)


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_keeps_the_contract_while_calls_are_compared(library):
    assert ", 0 failed" in _kit(library, 3, COBRE_COMM_CHECK="1")


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_digest_is_that_of_every_other_backend(size):
    shm = run(sys.executable, *KIT, "-n", size, "--backend", "shm", "--digest")
    digests = {"shm": _digest(shm.stdout)}  # which is tcp's and local's, too: test_conformance
    digests |= {library: _digest(_kit(library, size, "--digest")) for library in LIBRARIES}
    assert len(digests) == 3
    assert len(set(digests.values())) == 1, digests


def test_limits_and_comparison_change_no_bit():
    plain = _digest(_kit("openmpi", 3, "--digest"))
    assert _digest(_kit("openmpi", 3, "--digest", COBRE_COMM_LIMITS=SHRUNK, COBRE_COMM_CHECK="1")) == plain
