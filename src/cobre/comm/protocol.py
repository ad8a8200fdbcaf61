"""The contract between an algorithm and a communicator, on one page.

An algorithm takes a `Communicator` (and, for data that every rank of a node reads, a
`SharedMemoryProvider`) and never learns which backend it got. `cobre.comm.testing` checks these promises
on every backend; what holds when ranks die or disagree has tests of its own, because it ends the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Buffer

__all__ = [
    "CommData",
    "Communicator",
    "GroupMember",
    "ReduceOp",
    "SharedMemoryProvider",
    "SharedRegion",
    "documented_by",
]

C = TypeVar("C", bound=type)

# What collectives carry: see `Communicator`. At run time Python 3.11 has no name for "any buffer".
if TYPE_CHECKING:
    CommData: TypeAlias = Buffer | NDArray[Any]
else:
    CommData = Any


class ReduceOp(StrEnum):
    """How `allreduce` folds two values. The plain strings are accepted wherever a member is.

    SUM wraps for integers and is "or" for bool. MIN and MAX keep the lower rank's operand when
    two compare equal (so ``-0.0`` and ``+0.0`` keep their order), and the first NaN sticks.
    """

    SUM = "sum"
    MIN = "min"
    MAX = "max"


@runtime_checkable
class _ContextManager(Protocol):
    """Closed at the end of a ``with`` block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, /
    ) -> None: ...


@runtime_checkable
class Communicator(_ContextManager, Protocol):
    """A group of ranks ``0..size-1`` that call the same collectives in the same order.

    A buffer is anything C-contiguous with a fixed-size dtype (bool, ints, floats, complex, or a
    structured dtype of these): NumPy arrays, memoryviews, ``array.array``, ``bytearray``; only what is
    written to must be writable. N-dimensional arrays count as flat. Nothing is copied on the way in.

    A wrong argument raises before any byte moves and leaves the communicator usable. A failed
    collective raises `CollectiveFailed` on every rank; later calls repeat it at once. Calls
    from several threads are serialised.

    One exception: a broadcast needs nothing but root's data, so root, and ranks that have got the data, may
    return although another rank calls something else or ends. They raise in a later collective, at the
    latest in the first one that needs all ranks. No rank returns with other data than root's.
    """

    @property
    def rank(self) -> int:
        """This process's number, from 0."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    @property
    def backend(self) -> str:
        """Name of the backend, for people to read: an algorithm asks ``size``, never this."""

    def allgatherv(
        self,
        send: CommData,
        recv: CommData,
        counts: Sequence[int] | NDArray[np.integer[Any]],
        displs: Sequence[int] | NDArray[np.integer[Any]],
    ) -> None:
        """Put rank r's ``send`` into ``recv[displs[r] : displs[r] + counts[r]]`` on every rank.

        Counts and displacements are in elements. ``counts`` agree on all ranks, ``displs`` are this
        rank's own. Gaps stay untouched. ``send`` may be exactly this rank's part of ``recv``.
        """

    def allreduce(self, send: CommData, recv: CommData, op: ReduceOp | str) -> None:
        """Put ``op(send_0, …, send_{size-1})`` into ``recv``, folded in rank order on every backend.

        The same bits on every rank and every backend. ``send`` may be exactly ``recv``.
        """

    def broadcast(self, buf: CommData, root: int) -> None:
        """Make every rank's ``buf`` equal to root's. Only root's may be read-only."""

    def barrier(self) -> None:
        """Return once every rank has entered."""

    def stats(self) -> Mapping[str, Mapping[str, float]]:
        """Per operation: ``calls``, ``bytes``, ``wait_s`` and ``move_s`` so far. Answers after `close`, too."""

    def close(self) -> None:
        """Leave the group. Local, idempotent, never waits."""


@runtime_checkable
class SharedRegion(_ContextManager, Protocol):
    """``count`` zero-filled elements that the ranks of one node share (or each hold a copy of).

    Population that works on every backend: the leader writes `as_mut_slice`, or every rank of
    ``split_local()`` writes its `contiguous_block` through `as_mut_block`; all ranks call `fence`;
    all ranks read `as_slice`. A view stays valid as long as it is referenced, even after `close`.
    """

    @property
    def count(self) -> int:
        """Number of elements."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Their type."""

    def as_slice(self) -> NDArray[Any]:
        """The whole region, read-only, zero-copy."""

    def as_mut_slice(self) -> NDArray[Any]:
        """The whole region, writable, on the leader; an array of length 0 on a follower."""

    def as_mut_block(self, start: int, count: int) -> NDArray[Any]:
        """Elements ``start .. start + count``, writable, on any rank. Out of range: `IndexError`."""

    def fence(self) -> None:
        """Make all writes visible to all readers. Collective where memory is truly shared."""

    def close(self) -> None:
        """End new views and fences; the memory goes with the last view."""


@runtime_checkable
class SharedMemoryProvider(Protocol):
    """Hands out regions. Every communicator is one; without true sharing each process gets a copy."""

    @property
    def is_leader(self) -> bool:
        """Whether this rank populates regions for its node. Always true without true sharing."""

    def create_shared_region(self, count: int, dtype: DTypeLike = "float64") -> SharedRegion:
        """Collective, and slower than a message: make few. Memory that is not there: `AllocationFailed`, now."""

    def split_local(self) -> Communicator:
        """Collective. The communicator of this node's ranks; closing it leaves this one open."""


@runtime_checkable
class GroupMember(Communicator, SharedMemoryProvider, Protocol):
    """What every backend hands out: a communicator that provides regions as well."""


def documented_by(contract: type) -> Callable[[C], C]:
    """Class decorator: members without a docstring get that of the contract, so that ``help()`` shows it.

    >>> @documented_by(Communicator)
    ... class Mine:
    ...     def barrier(self) -> None:
    ...         pass
    >>> Mine.barrier.__doc__
    'Return once every rank has entered.'
    """

    def decorate(cls: C) -> C:
        for name, member in vars(cls).items():
            promise = getattr(contract, name, None)
            if promise is not None and not name.startswith("_") and not member.__doc__:
                member.__doc__ = promise.__doc__
        return cls

    return decorate
