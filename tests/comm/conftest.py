"""Fixtures that several files here take."""

import pytest

from cobre.comm import available_backends
from mpi_batch import said

__all__ = ["said"]


@pytest.fixture(params=["shm", "tcp", "sockets"])
def backend(request, sockets_path, monkeypatch):
    """A backend whose ranks `run` can start."""
    monkeypatch.syspath_prepend(sockets_path)
    if request.param not in available_backends():
        pytest.skip(f"{request.param} is not available here")
    return request.param
