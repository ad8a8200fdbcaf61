"""The whole contract on every backend, in real processes. With COBRE_TEST_SOAK=1 at every size up to 5, and 8.

One launch runs all checks and computes the digest; if it fails the kit runs each check on its own and names the
culprit. What a launch leaves behind fails the test that made it (`tests/leaks.py`).
"""

from __future__ import annotations

import functools
import os
import sys

import pytest

from cobre.comm import available_backends
from cobre.comm.selection import BACKENDS, get_backend
from comm.reference import digest_in, reference_digest
from commands import run_command
from matrices import IS_SOAK

SIZES = {"local": [1], "mpi": [1, 2, 3, 4]}
EVERY_SIZE = [1, 2, 3, 4, 5, 8] if IS_SOAK else [1, 3]
PAIRS = [
    (name, size) for name in available_backends() if name in BACKENDS for size in SIZES.get(name, EVERY_SIZE)
]

# Tiny pieces are slow, and every boundary is crossed with three ranks already.
SIZES_SHRUNK = [1, 2, 3, 4] if IS_SOAK else [3]

DEADLINE_S = 110


@functools.cache
def _kit(backend: str, size: int, limits: str = "") -> str:
    """What the kit prints; it must pass."""
    command = [sys.executable, "-m", "cobre.comm.testing", "-n", str(size), "--backend", backend]
    done = run_command(
        command, env={**os.environ, **({"COBRE_COMM_LIMITS": limits} if limits else {})}, timeout=DEADLINE_S
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout


@pytest.mark.parametrize(("backend", "size"), PAIRS)
def test_the_backend_passes_the_conformance_kit(backend, size):
    assert ", 0 failed" in _kit(backend, size)


@pytest.mark.parametrize(("backend", "size"), PAIRS)
def test_every_backend_gives_the_same_digest(backend, size):
    assert digest_in(_kit(backend, size)) == reference_digest(size)


@pytest.mark.parametrize(
    ("backend", "size"),
    [
        pair
        for pair in PAIRS
        if get_backend(pair[0]).limits and (pair[0] == "local" or pair[1] in SIZES_SHRUNK)
    ],
)
def test_it_passes_the_conformance_kit_with_every_internal_limit_shrunk(backend, size):
    limits = get_backend(backend).limits
    shrunk = ",".join(f"{name}={min(value, 192)}" for name, value in limits.items())
    said = _kit(backend, size, shrunk)
    assert ", 0 failed" in said
    assert digest_in(said) == reference_digest(size)
