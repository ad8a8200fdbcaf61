"""`MpiCommunicator`: the contract's collectives over mpi4py."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from cobre._native import comm as _core
from cobre.comm.backends.mpi import LIMITS, is_check_wanted
from cobre.comm.backends.mpi.allocation import allocate
from cobre.comm.backends.mpi.faults import as_comm_error
from cobre.comm.backends.mpi.folding import OrderedFold
from cobre.comm.backends.mpi.leaving import Membership, join, leave
from cobre.comm.backends.mpi.messages import ElementTypes, LongMessages, largest_message
from cobre.comm.backends.mpi.mismatch import MismatchReport, describe
from cobre.comm.backends.mpi.regions import MpiRegion, Shelf, Window
from cobre.comm.backends.mpi.runtime import call_lock, find_group
from cobre.comm.regions import checked_request
from cobre.errors import CollectiveFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from cobre.comm.protocol import CommData, ReduceOp

__all__ = ["MpiCommunicator"]

ALLGATHERV, ALLREDUCE, BROADCAST, BARRIER = range(4)


class MpiCommunicator(_core.CheckedGroup):
    """Ranks started by ``mpiexec`` or ``srun``. Making one is collective over ``comm``.

    It works on a duplicate of ``comm`` (``MPI.COMM_WORLD`` if not given), so that nobody's own messages can mix
    with its messages. ``node`` are the ranks that share memory; MPI finds them unless they are given. With ``check``,
    by default what ``COBRE_COMM_CHECK`` says, ranks that do not make the same call learn who called what.

    In `stats`, ``wait_s`` is the time inside MPI, which does not tell waiting from moving, and ``move_s`` that
    spent folding.
    """

    def __init__(
        self,
        comm: Any = None,
        *,
        node: Any = None,
        check: bool | None = None,
        limits: Mapping[str, int] = LIMITS,
    ) -> None:
        mpi, given = find_group(comm)
        super().__init__(given.rank, given.size)
        self._mpi, self._limits = mpi, dict(limits)
        self._check = is_check_wanted(os.environ) if check is None else check
        self._calls = call_lock(mpi)
        self._comm = _quiet(mpi, given.Dup())
        self._node = _quiet(
            mpi, node.Dup() if node is not None else given.Split_type(mpi.COMM_TYPE_SHARED, given.rank)
        )
        self._is_leader = self._node.rank == 0
        self._shelf = Shelf(self._node, mpi)
        self._report = MismatchReport(_quiet(mpi, given.Dup()), mpi) if self._check else None
        # What stands before each collective: nothing, the exchange of calls, or the failure to repeat.
        self._before: Callable[..., None] | None = self._agree if self._report is not None else None
        self._member = Membership(self._comm, given.rank, given.size, self._settle)
        # Looked up once, not in every call.
        self._types = ElementTypes(mpi)
        self._largest_bytes = largest_message(mpi, self._limits["message_bytes"], LIMITS["message_bytes"])
        self._long = LongMessages(self._comm, mpi, self._limits["message_bytes"])
        self._fold = OrderedFold(self._comm, mpi, self._limits["slab_bytes"], self._limits["block_bytes"])
        self._mpi_allgatherv, self._mpi_bcast = self._comm.Allgatherv, self._comm.Bcast
        self._mpi_barrier, self._in_place, self._mpi_error = self._comm.Barrier, mpi.IN_PLACE, mpi.Exception
        self._own_rank = given.rank
        join(self._member)

    @property
    def backend(self) -> str:
        return "mpi"

    @property
    def is_leader(self) -> bool:
        return self._is_leader

    def allgatherv(
        self,
        send: CommData,
        recv: CommData,
        counts: Sequence[int] | NDArray[np.integer[Any]],
        displs: Sequence[int] | NDArray[np.integer[Any]],
    ) -> None:
        counts, displs, itemsize, total, end, is_in_place, has_empty = self.plan_allgatherv(
            send, recv, counts, displs
        )
        with self._calls:
            if self._before is not None:
                self._before("allgatherv", send, counts=counts)
            started = perf_counter()
            try:
                kind = self._types[itemsize]
                if end * itemsize <= self._largest_bytes:
                    mine = self._in_place if is_in_place else (send, counts[self._own_rank], kind)
                    self._mpi_allgatherv(mine, (recv, counts, displs, kind))
                else:
                    self._long.gather(send, recv, counts, displs, itemsize, kind)
                if has_empty:
                    self._mpi_barrier()  # a rank that gives nothing is waited for as well
            except self._mpi_error as error:
                self._fail("allgatherv", error)
            self.record(ALLGATHERV, total * itemsize, perf_counter() - started, 0.0)

    def allreduce(self, send: CommData, recv: CommData, op: ReduceOp | str) -> None:
        name, itemsize, count = self.plan_allreduce(send, recv, op)
        with self._calls:
            if self._before is not None:
                self._before("allreduce", send, count=count, op=name)
            started = perf_counter()
            try:
                move_s = self._fold(send, recv, name, itemsize, count, self._types[itemsize])
            except self._mpi_error as error:
                self._fail("allreduce", error)
            self.record(ALLREDUCE, count * itemsize, perf_counter() - started - move_s, move_s)

    def broadcast(self, buf: CommData, root: int) -> None:
        root, itemsize, count = self.plan_broadcast(buf, root)
        with self._calls:
            if self._before is not None:
                self._before("broadcast", buf, count=count, root=root)
            started = perf_counter()
            try:
                if count * itemsize <= self._largest_bytes:
                    self._mpi_bcast((buf, count, self._types[itemsize]), root)
                else:
                    self._long.broadcast(buf, root)
            except self._mpi_error as error:
                self._fail("broadcast", error)
            self.record(BROADCAST, count * itemsize, perf_counter() - started, 0.0)

    def barrier(self) -> None:
        self.require_usable("barrier")
        with self._calls:
            if self._before is not None:
                self._before("barrier")
            started = perf_counter()
            try:
                self._mpi_barrier()
            except self._mpi_error as error:
                self._fail("barrier", error)
            self.record(BARRIER, 0, perf_counter() - started, 0.0)

    def create_shared_region(self, count: int, dtype: DTypeLike = "float64") -> MpiRegion:
        self.require_usable("create_shared_region")
        count, resolved, n_bytes = checked_request(count, dtype)
        with self._calls:
            if self._before is not None:
                self._before("create_shared_region", count=count, dtype=resolved.str)
            try:
                window = allocate(self._comm, self._node, self._mpi, n_bytes)
            except self._mpi_error as error:
                self._fail("create_shared_region", error)
            return MpiRegion(self, self._shelf.add(window), window, count, resolved)

    def split_local(self) -> MpiCommunicator:
        self.require_usable("split_local")
        with self._calls:
            if self._before is not None:
                self._before("split_local")
            try:
                return MpiCommunicator(self._node, node=self._node, check=self._check, limits=self._limits)
            except self._mpi_error as error:
                self._fail("split_local", error)

    def fence_node(self, window: Window) -> None:
        """Collective over the node: what its ranks wrote into ``window`` before, all of them see after."""
        with self._calls:
            try:
                window.sync()
                self._node.Barrier()
                window.sync()
            except self._mpi_error as error:
                self._fail("fence", error)

    def retire_window(self, number: int) -> None:
        """Collective over the node: free a window, or keep it until `close` while anybody views it."""
        if self.is_open:
            with self._calls:
                try:
                    self._shelf.retire(number)
                except self._mpi_error as error:
                    self._fail("close", error)

    def close(self) -> None:
        """Leave the group. Local, unless regions are left: their windows are freed together with the node."""
        self._leave(sys.exception())

    def _leave(self, error: BaseException | None) -> None:
        if not self.is_open:
            return
        self.mark_closed()
        if self._report is not None and self._before == self._agree:
            reason = "" if error is None else f" after {type(error).__name__}"
            self._report.leave(f"close(){reason}")
        if error is not None:  # the other ranks may be elsewhere: nothing collective before the process ends
            self._member.exit_status = error.code if isinstance(error, SystemExit) else None
            return
        if self._report is None:
            leave(self._member)
        # Another thread may be inside a collective: then the handles stay as they are until the process ends.
        if self._calls.acquire(blocking=False):
            try:
                self._shelf.settle()
                self._comm.Free()
                self._node.Free()
            finally:
                self._calls.release()

    def _settle(self) -> None:
        """At the end of the process: what `close` would have done, and what it had to put off."""
        self.mark_closed()
        self._shelf.settle()
        if self._report is not None:
            if self._before == self._agree:
                self._report.leave("close()")
            self._report.settle()

    def _agree(self, operation: str, buffer: object = None, **details: object) -> None:
        assert self._report is not None
        try:
            self._report.agree(operation, describe(operation, buffer, **details))
        except CollectiveFailed as failure:
            self._break(failure)
            raise
        except self._mpi_error as error:
            self._fail(operation, error)

    def _fail(self, operation: str, error: Any) -> NoReturn:
        self.require_usable(operation)  # another thread closed the communicator under this call
        failure = as_comm_error(self._mpi, error, operation, self.rank, self.size)
        if isinstance(failure, CollectiveFailed):
            self._break(failure)
        raise failure from error

    def _break(self, failure: CollectiveFailed) -> None:
        def repeat(*call: object, **details: object) -> NoReturn:
            raise CollectiveFailed(
                failure.operation, failure.mpi_error_code, failure.message, suggestion=failure.suggestion
            )

        self._before = repeat

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self._leave(exc)

    def __repr__(self) -> str:
        return f"MpiCommunicator(rank={self.rank}, size={self.size})"


def _quiet(mpi: Any, comm: Any) -> Any:
    """``comm`` with errors returned as exceptions instead of ending the job."""
    comm.Set_errhandler(mpi.ERRORS_RETURN)
    return comm
