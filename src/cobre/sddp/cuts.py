"""The cuts of a stage: a lower envelope of what the stages after it will cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.comm import Communicator, GroupMember, SharedRegion, block_layout
from cobre.comm.selection import BackendKind
from cobre.errors import AllocationFailed

FIRST_CAPACITY = 64
SHARING = (BackendKind.SHM, BackendKind.MPI)
"""Backends whose regions are one copy per machine. Others would take all memory at once for nothing."""
SHARED_FROM_BYTES = 1 << 20
"""From so many on, ranks of a machine share the numbers of a pool: below it a region costs more than it saves."""


class CutPool:
    """All cuts ``theta >= intercept + coefficients . x`` of one stage, in slot order.

    The cuts of an iteration follow those of the one before, in the order of its passes, whichever rank computed them. A
    cut that selection drops keeps its slot and only leaves the linear program.

    The ranks of ``comm``, if it is given, all make the same calls with the same cuts. Where they have shared memory the
    numbers of a large pool are in one copy per machine: what one rank writes there, every other writes as well.
    """

    def __init__(self, state_dimension: int, comm: GroupMember | None = None) -> None:
        self.state_dimension = state_dimension
        self.comm = comm
        self._region: SharedRegion | None = None
        """Of the rows, where they are shared."""
        self._outgrown: list[SharedRegion] = []
        self.size = 0
        self._rows = np.empty((FIRST_CAPACITY, 1 + state_dimension))
        self._active = np.zeros(FIRST_CAPACITY, dtype=np.bool_)
        self._last_active = np.zeros(FIRST_CAPACITY, dtype=np.int64)
        self._active_count = np.zeros(FIRST_CAPACITY, dtype=np.int64)
        self._iteration = np.zeros(FIRST_CAPACITY, dtype=np.int64)

    @property
    def rows(self) -> Floats:
        """``[slot, 1 + dimension]``: the intercept, then the coefficients."""
        return self._rows[: self.size]

    @property
    def intercepts(self) -> Floats:
        return self._rows[: self.size, 0]

    @property
    def coefficients(self) -> Floats:
        return self._rows[: self.size, 1:]

    @property
    def active(self) -> NDArray[np.bool_]:
        """Whether each slot's cut is part of the stage problem."""
        return self._active[: self.size]

    @property
    def active_slots(self) -> Ints:
        """Slots in the stage problem: its cut rows, in order."""
        return np.flatnonzero(self.active)

    @property
    def last_active(self) -> Ints:
        """Iteration in which each cut last bound a solution, at least the one that made it."""
        return self._last_active[: self.size]

    @property
    def active_count(self) -> Ints:
        """In how many solves each cut was binding."""
        return self._active_count[: self.size]

    @property
    def iterations(self) -> Ints:
        """Iteration that made each cut; 0 for cuts of another run."""
        return self._iteration[: self.size]

    def open_slots(self, n: int) -> Floats:
        """Rows of the next ``n`` slots, to be filled and then kept with `insert`."""
        self._reserve(self.size + n)
        return self._rows[self.size : self.size + n]

    def insert(self, n: int, iteration: int) -> None:
        """Make the ``n`` rows filled after `open_slots` cuts of ``iteration``."""
        new = slice(self.size, self.size + n)
        self.size += n
        self._active[new] = True
        self._last_active[new] = iteration
        self._active_count[new] = 0
        self._iteration[new] = iteration

    def close_outgrown(self) -> None:
        """Collective: free the memory that the rows have outgrown, once nothing reads it any more."""
        while self._outgrown:
            self._outgrown.pop(0).close()

    @property
    def is_shared(self) -> bool:
        """Whether the rows are in memory of several ranks."""
        return self._region is not None

    def close(self) -> None:
        """Collective: let go of all cuts, and free memory that ranks share once nothing reads it any more."""
        self.size = 0
        self._rows = np.empty((FIRST_CAPACITY, 1 + self.state_dimension))
        if self._region is not None:
            self._outgrown.append(self._region)
            self._region = None
        self.close_outgrown()

    def record_activity(self, counts: Ints, iteration: int) -> None:
        """Note in how many solves of ``iteration`` each active slot was binding; ``counts`` follow `active_slots`."""
        slots = self.active_slots
        self._active_count[slots] += counts
        self._last_active[slots[counts > 0]] = iteration

    def made_in(self, iteration: int) -> NDArray[np.bool_]:
        """Which slots hold cuts of this iteration."""
        made: NDArray[np.bool_] = self.iterations == iteration
        return made

    def restore(
        self,
        rows: Floats,
        active: NDArray[np.bool_],
        last_active: Ints,
        active_count: Ints,
        iterations: Ints,
    ) -> None:
        """Fill an empty pool with cuts and all that selection knows about them, in slot order."""
        self.open_slots(len(rows))[:] = rows
        self.insert(len(rows), 0)
        self.active[:] = active
        self.last_active[:] = last_active
        self.active_count[:] = active_count
        self.iterations[:] = iterations

    def put_back(self, slots: Ints) -> None:
        """Make dropped cuts part of the stage problem again."""
        self._active[slots] = True

    def drop(self, slots: Ints) -> None:
        """Take these cuts out of the stage problem."""
        self._active[slots] = False

    def _reserve(self, size: int) -> None:
        capacity = len(self._rows)
        if size <= capacity:
            return
        # In proportion: the copies cost less than a few passes over all cuts, whatever their number. Shared memory is
        # taken at once, other memory when it is written.
        while capacity < size:
            capacity += capacity // 2 if self._is_to_share(capacity) else capacity
        before = self._region
        rows = self._new_rows(capacity)
        rows[: self.size] = self.rows
        self._rows = rows
        if before is not None:
            self._outgrown.append(before)
        for name in ("_active", "_last_active", "_active_count", "_iteration"):
            old = getattr(self, name)
            new = np.zeros(capacity, dtype=old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def _is_to_share(self, capacity: int) -> bool:
        size = 8 * capacity * (1 + self.state_dimension)
        comm = self.comm
        return comm is not None and comm.size > 1 and comm.backend in SHARING and size >= SHARED_FROM_BYTES

    def _new_rows(self, capacity: int) -> Floats:
        """Collective among the ranks of ``comm`` where the rows are many."""
        shape = (capacity, 1 + self.state_dimension)
        count = shape[0] * shape[1]
        self._region = None
        if self.comm is not None and self._is_to_share(capacity):
            try:
                region = self.comm.create_shared_region(count)
            except AllocationFailed:  # on every rank; containers often have little shared memory
                self.comm = None
            else:
                self._region = region
                shared: Floats = region.as_mut_block(0, count).reshape(shape)
                return shared
        return np.zeros(shape)


def synchronize_cuts(
    comm: Communicator,
    pool: CutPool,
    mine: Floats,
    n_cuts: int,
    iteration: int,
    counts: Sequence[int] | None = None,
) -> None:
    """Collective: insert the ``n_cuts`` cuts of an iteration into every rank's ``pool``.

    ``mine`` holds this rank's rows (intercept, coefficients) of its contiguous block of trial points; ``counts`` has
    the sizes of the blocks if they are not those of `block_layout`. Every rank inserts the same bytes in the same
    slots.
    """
    width = 1 + pool.state_dimension
    counts = block_layout(n_cuts, comm.size)[0] if counts is None else counts
    displs = [sum(counts[:rank]) for rank in range(comm.size)]
    comm.allgatherv(
        np.ascontiguousarray(mine),
        pool.open_slots(n_cuts),
        [count * width for count in counts],
        [start * width for start in displs],
    )
    pool.insert(n_cuts, iteration)


def insert_cuts(pool: CutPool, rows: Floats, iteration: int) -> None:
    """Insert ``rows`` (intercept, coefficients) that every rank has."""
    pool.open_slots(len(rows))[:] = rows
    pool.insert(len(rows), iteration)
