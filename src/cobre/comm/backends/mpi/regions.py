"""Shared regions on MPI windows, and when their memory is freed.

Freeing a window is collective, and reading memory of a freed one is a segmentation fault. So a window is freed
only where all ranks of the node have come and agreed that none holds a view: in `MpiRegion.close`, in the
communicator's ``close``, or at the end of the process. The garbage collector frees nothing. What MPI_Finalize frees
without asking is ours (`Pages`), and that is where views point to.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.comm.backends.mpi.pages import Pages
from cobre.comm.protocol import SharedRegion, documented_by
from cobre.comm.regions import RegionBase, checked_block, closed_region

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cobre.arrays import Ints
    from cobre.comm.backends.mpi.communicator import MpiCommunicator

__all__ = ["MpiRegion", "Window", "WindowTable"]


class _Lease:
    """Kept alive by every view of a window, however derived: as long as it exists, the window must."""

    __slots__ = ("__array_interface__", "__weakref__", "_pages")

    def __init__(self, pages: Pages, n_bytes: int) -> None:
        self._pages = pages
        self.__array_interface__ = {
            "shape": (n_bytes,),
            "typestr": "|u1",
            "data": (pages.address, False),
            "version": 3,
        }


class Window:
    """One shared allocation. ``handle`` is ``None`` where nothing is shared, and once it is freed."""

    def __init__(self, handle: Any, pages: Pages, n_bytes: int) -> None:
        self.handle, self._pages, self._n_bytes = handle, pages, n_bytes
        self._lease: weakref.ref[_Lease] | None = None
        self.is_freed = False

    @property
    def is_viewed(self) -> bool:
        return self._lease is not None and self._lease() is not None

    def view(self) -> NDArray[np.uint8]:
        """All bytes, writable. Whatever is derived from it keeps the window."""
        lease = self._lease() if self._lease is not None else None
        if lease is None:
            lease = _Lease(self._pages, self._n_bytes)
            self._lease = weakref.ref(lease)
        return np.asarray(lease)

    def sync(self) -> None:
        if self.handle is not None:
            self.handle.Sync()

    def free(self) -> None:
        """Collective over the node."""
        self.is_freed = True
        if self.handle is not None:
            self.handle.Unlock_all()
            self.handle.Free()
            self.handle = None
        self._pages.release()


class WindowTable:
    """The windows of one node that are not freed yet: the same ones, in the same order, on each of its ranks."""

    RETIRE, SETTLE = 1, 2

    def __init__(self, node: Any, mpi: Any) -> None:
        self._node, self._long, self._byte, self._max = node, mpi.INT64_T, mpi.BYTE, mpi.MAX
        self._windows: dict[int, Window] = {}
        self._made = 0
        self.left_behind: list[Window] = []

    def add(self, window: Window) -> int:
        self._made += 1
        self._windows[self._made] = window
        return self._made

    def retire(self, number: int) -> None:
        """Collective over the node: free this window now if no view of it is left, else leave it for `settle`."""
        window = self._windows.get(number)
        if window is None:
            return
        rows = self._tell(self.RETIRE, number, window.is_viewed)
        if (rows == (self.RETIRE, number, 0)).all():
            del self._windows[number]
            window.free()

    def settle(self) -> None:
        """Collective over the node if any window is left: free those without views, and drop the others from the list.

        A rank that comes here while another still retires a single window waits for it to come, too.
        """
        if not self._windows:
            return
        while (self._tell(self.SETTLE, 0, 0)[:, 0] != self.SETTLE).any():
            pass
        viewed = np.array([window.is_viewed for window in self._windows.values()], np.int64)
        by_anybody = np.empty_like(viewed)
        self._node.Allreduce((viewed, self._long), (by_anybody, self._long), self._max)
        for window, is_viewed in zip(self._windows.values(), by_anybody, strict=True):
            if is_viewed:
                self.left_behind.append(window)
            else:
                window.free()
        self._windows.clear()

    def _tell(self, *what: int) -> Ints:
        row = np.array(what, np.int64)
        rows = np.empty((self._node.size, row.size), np.int64)
        self._node.Allgather((row, row.size, self._long), (rows, row.size, self._long))
        return rows


@documented_by(SharedRegion)
class MpiRegion(RegionBase):
    """Memory that the ranks of a node share. `close` and `fence` are collective over the node."""

    def __init__(self, comm: MpiCommunicator, number: int, window: Window, count: int, dtype: Any) -> None:
        self._comm, self._number, self._window = comm, number, window
        super().__init__(count, dtype)
        self._is_closed = False

    def as_slice(self) -> NDArray[Any]:
        whole = self._whole("as_slice")
        if not whole.nbytes:
            whole.flags.writeable = False
            return whole
        # Through a read-only memoryview: a flag alone could be switched back by whoever holds the view.
        return np.frombuffer(whole.view(np.uint8).data.toreadonly(), dtype=self._dtype)

    def as_mut_slice(self) -> NDArray[Any]:
        whole = self._whole("as_mut_slice")
        return whole if self._comm.is_leader else np.empty(0, self._dtype)

    def as_mut_block(self, start: int, count: int) -> NDArray[Any]:
        whole = self._whole("as_mut_block")
        return whole[checked_block(start, count, self._count)]

    def fence(self) -> None:
        self._require_open("fence")
        self._comm.fence_node(self._window)

    def close(self) -> None:
        """Collective over the node, unless the communicator is closed already."""
        if not self._is_closed:
            self._is_closed = True
            self._comm.retire_window(self._number)

    def _whole(self, operation: str) -> NDArray[Any]:
        self._require_open(operation)
        if self._count * self._dtype.itemsize == 0:
            return np.empty(self._count, self._dtype)
        return self._window.view().view(self._dtype)

    def _require_open(self, operation: str) -> None:
        self._comm.require_usable(operation)
        if self._is_closed or self._window.is_freed:
            raise closed_region()

    def __exit__(self, kind: object, error: BaseException | None, where: object, /) -> None:
        if error is None:
            self.close()
        self._is_closed = True  # by an exception: the other ranks may be elsewhere, so nothing collective now
