"""Fixtures that several files here take."""

from mpi_batch import said

__all__ = ["said"]
