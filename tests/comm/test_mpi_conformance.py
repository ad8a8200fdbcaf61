"""The whole contract under real ``mpiexec``, with Open MPI and with MPICH.

Each size and each way to run meets one library here; with COBRE_TEST_SOAK=1 each meets both.
"""

from __future__ import annotations

import os

import pytest

from comm.reference import digest_in, reference_digest
from mpi_ranks import LIBRARIES, python_of, run

SHRUNK = {"COBRE_COMM_LIMITS": "slab_bytes=192,block_bytes=4096,message_bytes=4096"}
COMPARED = {"COBRE_COMM_CHECK": "1"}
WAYS = {"plain": {}, "limits shrunk": SHRUNK, "calls compared": COMPARED, "both": {**SHRUNK, **COMPARED}}

EVERYTHING = [
    (library, size, way)
    for library in LIBRARIES
    for size in (1, 2, 3, 4)
    for way in WAYS
    if size in (2, 3) or way == "plain"
]
SOME = [("mpich", 3, "plain"), ("openmpi", 2, "both")]


@pytest.mark.parametrize(
    ("library", "size", "way"), EVERYTHING if os.environ.get("COBRE_TEST_SOAK") else SOME
)
def test_it_passes_the_conformance_kit_with_the_digest_of_every_other_backend(library, size, way):
    command = [python_of(library), "-m", "cobre.comm.testing", "-n", size, "--backend", "mpi"]
    done = run(*command, "--deadline", 60, **WAYS[way])
    assert done.returncode == 0, done.stdout[-6000:]
    assert ", 0 failed" in done.stdout
    assert digest_in(done.stdout) == reference_digest(size)
