"""What the ranks of one machine share of an iteration, so that any of them can compute the cut of any trial point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cobre.arrays import Floats, Ints
from cobre.comm import GroupMember, ReduceOp, SharedRegion
from cobre.comm.selection import BackendKind
from cobre.errors import AllocationFailed
from cobre.sddp.stage import Bases


class SharedTrialPoints:
    """Trial states, bases and cuts of all paths in shared memory, and which trial points are taken.

    A rank fills in what its own paths left (`publish`). Then every rank claims trial points of a step one by one, so
    that none waits while another has several left.
    """

    def __init__(self, comm: GroupMember, n_steps: int, n_paths: int, dimension: int) -> None:
        """Collective. `AllocationFailed` where shared memory is too small, on every rank."""
        self._comm = comm
        self._regions: list[SharedRegion] = []
        self._shape = (n_steps, n_paths)
        self.claims: Ints = self._shared((n_steps, 1), np.int64)
        """``[step, 1]``: trial points that are taken."""
        self.states: Floats = self._shared((n_steps, n_paths, dimension), np.float64)
        self.rows: Floats = self._shared((n_steps, n_paths, 1 + dimension), np.float64)
        """``[step, path]``: intercept and coefficients."""
        self._bases = np.empty((n_steps, 0), np.uint8)
        self._widths = [0] * n_steps

    @classmethod
    def of(
        cls, comm: GroupMember, n_steps: int, n_paths: int, dimension: int, *, can_claim: bool
    ) -> SharedTrialPoints | None:
        """Collective. None where ranks share no memory, or not enough of it, or not all ``can_claim``."""
        if comm.size == 1 or comm.backend != BackendKind.SHM:
            return None
        mine, everyone = np.array([can_claim]), np.empty(1, np.bool_)
        comm.allreduce(mine, everyone, ReduceOp.MIN)
        if not everyone[0]:
            return None
        try:
            return cls(comm, n_steps, n_paths, dimension)
        except AllocationFailed:
            return None

    def publish(
        self, first: int, states: Sequence[Floats], bases: Sequence[Bases | None], widths: Sequence[int]
    ) -> bool:
        """Collective: what this rank's paths, from the ``first`` on, left in each step, whose bases have ``widths``.

        False, on every rank, where shared memory is too small.
        """
        if not self._make_room(max(widths)):
            return False
        self._widths = list(widths)
        for step, (left, basis) in enumerate(zip(states, bases, strict=True)):
            if basis is not None and len(left):
                self.states[step, first : first + len(left)] = left
                self.bases(step)[first : first + len(left)] = basis
        if self._comm.rank == 0:
            self.claims[:] = 0  # nobody claims before the barrier
        self._comm.barrier()
        return True

    def bases(self, step: int) -> Bases:
        """``[path, status]``: what all paths left in a step."""
        n_paths, width = self._shape[1], self._widths[step]
        return self._bases[step, : n_paths * width].reshape(n_paths, width)

    def _make_room(self, width: int) -> bool:
        n_steps, n_paths = self._shape
        if n_paths * width > self._bases.shape[1]:
            try:
                self._bases = self._shared((n_steps, n_paths * (width + width // 2)), np.uint8)
            except AllocationFailed:
                return False
        return True

    def close(self) -> None:
        """Collective: free the memory."""
        self.claims, self.states, self.rows = (
            np.empty((0, 1), np.int64),
            np.empty((0, 0, 0)),
            np.empty((0, 0, 0)),
        )
        self._bases = np.empty((0, 0), np.uint8)
        while self._regions:
            self._regions.pop().close()

    def _shared(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        count = math.prod(shape)
        region = self._comm.create_shared_region(count, dtype)
        self._regions.append(region)
        return region.as_mut_block(0, count).reshape(shape)
