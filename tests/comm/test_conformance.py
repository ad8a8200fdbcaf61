"""The whole contract on every backend and size, in real processes.

One launch runs all checks; if it fails the kit runs each on its own and names the culprit. What a
launch leaves behind fails the test that made it (`tests/conftest.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cobre.comm import available_backends
from cobre.comm.selection import BACKENDS, get_backend

SIZES = {"local": [1], "mpi": [1, 2, 3, 4]}
EVERY_SIZE = [1, 2, 3, 4, 8]
PAIRS = [
    (name, size) for name in available_backends() if name in BACKENDS for size in SIZES.get(name, EVERY_SIZE)
]

LARGEST_SHRUNK = 3  # tiny pieces are slow, and every boundary is crossed with three ranks already

DEADLINE_S = 100


def _kit(backend: str, size: int, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cobre.comm.testing", "-n", str(size), "--backend", backend, *options]
    return subprocess.run(
        command,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def _assert_passed(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    assert ", 0 failed" in done.stdout


@pytest.mark.parametrize(("backend", "size"), PAIRS)
def test_the_backend_keeps_the_contract(backend, size):
    _assert_passed(_kit(backend, size))


@pytest.mark.parametrize(
    ("backend", "size"), [pair for pair in PAIRS if get_backend(pair[0]).limits and pair[1] <= LARGEST_SHRUNK]
)
def test_it_keeps_the_contract_with_every_internal_limit_shrunk(backend, size):
    limits = get_backend(backend).limits
    shrunk = ",".join(f"{name}={min(value, 192)}" for name, value in limits.items())
    _assert_passed(_kit(backend, size, COBRE_COMM_LIMITS=shrunk))


@pytest.mark.parametrize("size", sorted({size for _, size in PAIRS}))
def test_every_backend_gives_the_same_digest(size):
    digests = {}
    for backend in (name for name, its_size in PAIRS if its_size == size):
        done = _kit(backend, size, "--digest")
        assert done.returncode == 0, done.stdout + done.stderr
        digests[backend] = done.stdout.split()[-1]
    assert len(set(digests.values())) == 1, digests
    assert all(len(digest) == 64 for digest in digests.values()), digests
