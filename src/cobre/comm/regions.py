"""`HeapRegion`: the shared region of backends without true sharing, one copy per process."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre._native.comm import require_carried
from cobre.comm.closing import ClosesAfterUse
from cobre.comm.memory import available_memory
from cobre.comm.protocol import GroupMember, SharedRegion, documented_by
from cobre.errors import AllocationFailed, InvalidCommunicator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = [
    "AlwaysLeader",
    "HeapRegion",
    "checked_block",
    "checked_request",
    "closed_region",
    "region_of_each",
    "require_memory",
]

UNCHECKED_BYTES = 1 << 20
"""Up to here a region is not worth reading what memory the system has left, which takes a millisecond."""


def checked_request(count: int, dtype: DTypeLike) -> tuple[int, np.dtype[Any], int]:
    """``(count, dtype, bytes)`` of a requested region, arguments checked.

    Every backend calls this, so that a wrong request gets the same message everywhere.
    """
    try:
        number = index(count)
    except TypeError as error:
        raise TypeError(
            f"count is {count!r}, not a whole number\n  fix: pass an int, e.g. int(count)"
        ) from error
    resolved: np.dtype[Any] = np.dtype(dtype)
    if resolved.subdtype is not None:
        raise TypeError(
            f"a region of {resolved} would have more elements than its count\n"
            f"  fix: ask for count * {np.prod(resolved.shape)} elements of {resolved.base} and reshape the views"
        )
    require_carried(resolved)
    if number < 0:
        raise ValueError(f"a region cannot have {number} elements\n  fix: pass 0 or more")
    return number, resolved, number * resolved.itemsize


def require_memory(requested_bytes: int) -> None:
    """Refuse what this process's machine or control group cannot hold."""
    if requested_bytes <= UNCHECKED_BYTES:
        return
    available, source = available_memory()
    if requested_bytes > available:
        raise AllocationFailed(
            requested_bytes,
            f"a region of {requested_bytes:,} bytes does not fit: {available:,} are available ({source})",
            suggestion="use fewer elements or a smaller dtype, free memory, or raise the limit named above",
        )


def checked_block(start: int, count: int, region_count: int) -> slice:
    """Where `SharedRegion.as_mut_block` points, arguments checked."""
    start, count = index(start), index(count)
    if start < 0 or count < 0 or start + count > region_count:
        raise IndexError(
            f"elements {start} to {start + count} are not inside a region of {region_count}\n"
            "  fix: pass 0 <= start and start + count <= region.count; contiguous_block() gives such blocks"
        )
    return slice(start, start + count)


def closed_region() -> InvalidCommunicator:
    """What a region raises after `close`."""
    return InvalidCommunicator(
        "the region is closed", suggestion="take views and call fence() before close()"
    )


@documented_by(GroupMember)
class AlwaysLeader:
    """Where nothing is shared between processes, each is the leader of its own copy."""

    @property
    def is_leader(self) -> bool:
        return True


@documented_by(SharedRegion)
class RegionBase(ClosesAfterUse):
    """A region's number of elements and their type."""

    def __init__(self, count: int, dtype: np.dtype[Any]) -> None:
        self._count, self._dtype = count, dtype

    @property
    def count(self) -> int:
        return self._count

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype


@documented_by(SharedRegion)
class HeapRegion(RegionBase):
    """A region in this process's own memory. Every rank is leader, and `fence` never waits."""

    def __init__(self, count: int, dtype: DTypeLike = "float64") -> None:
        number, resolved, requested = checked_request(count, dtype)
        super().__init__(number, resolved)
        require_memory(requested)
        try:
            self._array: NDArray[Any] | None = np.empty(self._count, dtype=self._dtype)
        except (MemoryError, ValueError) as error:
            raise AllocationFailed(
                requested,
                f"a region of {requested:,} bytes could not be allocated: {error}",
                suggestion="use fewer elements or a smaller dtype, or raise the process's memory limit",
            ) from error
        # Writing the zeros claims the pages now; untouched ones could still be refused in mid-computation.
        if requested:
            self._array.view(np.uint8).fill(0)

    def as_slice(self) -> NDArray[Any]:
        array = self._open()
        # Through a read-only memoryview: a flag alone could be switched back by whoever holds the view.
        memory = array.view(np.uint8).data.toreadonly() if array.nbytes else b""
        return np.frombuffer(memory, dtype=array.dtype)

    def as_mut_slice(self) -> NDArray[Any]:
        return self._open()[:]

    def as_mut_block(self, start: int, count: int) -> NDArray[Any]:
        array = self._open()
        return array[checked_block(start, count, self._count)]

    def fence(self) -> None:
        self._open()

    def close(self) -> None:
        self._array = None

    def _open(self) -> NDArray[Any]:
        if self._array is None:
            raise closed_region()
        return self._array


def region_of_each(
    count: int, dtype: DTypeLike, agree: Callable[[int, np.dtype[Any], bool], Sequence[int]]
) -> HeapRegion:
    """A region in the memory of each rank; if one rank cannot allocate it, all raise.

    ``agree(count, dtype, is_allocated)`` tells the others whether this rank could, and gives the ranks that could not.
    """
    number, resolved, requested = checked_request(count, dtype)
    region, refusal = None, None
    try:
        region = HeapRegion(number, resolved)
    except AllocationFailed as error:
        refusal = error
    refusing = agree(number, resolved, region is not None)
    if region is not None and not refusing:
        return region
    if refusal is not None:
        raise refusal
    raise AllocationFailed(
        requested,
        f"{', '.join(f'rank {rank}' for rank in refusing)} cannot hold a region of {requested:,} bytes",
        suggestion="use fewer elements or a smaller dtype, or free memory on the machine of that rank",
    )
