"""`MpiCommunicator`: the contract's collectives over mpi4py."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cobre._native import comm as _core
from cobre.comm.backends.mpi import LIMITS, is_check_wanted
from cobre.comm.backends.mpi.allocation import allocate
from cobre.comm.backends.mpi.faults import as_comm_error
from cobre.comm.backends.mpi.folding import BlockwiseFold
from cobre.comm.backends.mpi.leaving import Membership, join, leave
from cobre.comm.backends.mpi.leftovers import own_segments
from cobre.comm.backends.mpi.messages import ElementTypes, LongMessages, largest_message
from cobre.comm.backends.mpi.mismatch import MismatchReport
from cobre.comm.backends.mpi.regions import MpiRegion, Window, WindowTable
from cobre.comm.backends.mpi.runtime import find_group, only_thread
from cobre.comm.closing import ClosesAfterUse
from cobre.comm.protocol import GroupMember, documented_by
from cobre.comm.regions import checked_request
from cobre.comm.report import report_leaves
from cobre.errors import CobreError, CollectiveFailed, InitializationFailed

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["MpiCommunicator"]

LAST_CALL_S = 5.0


@documented_by(GroupMember)
class MpiCommunicator(_core.ForeignTransport, ClosesAfterUse):
    """Ranks started by ``mpiexec`` or ``srun``. Making one is collective over ``comm``.

    It works on a duplicate of ``comm`` (``MPI.COMM_WORLD`` if not given), so that the program's own messages cannot mix
    with its messages. ``node`` are the ranks that share memory; MPI finds them unless they are given. With ``check``,
    by default what ``COBRE_COMM_CHECK`` says, ranks that do not make the same call get an error that lists all calls.

    In `stats`, ``wait_s`` is the time inside MPI, which includes both waiting and moving, and ``move_s`` that
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
        try:
            self._comm = _quiet(mpi, given.Dup())
            self._node = _quiet(
                mpi, node.Dup() if node is not None else given.Split_type(mpi.COMM_TYPE_SHARED, given.rank)
            )
            self._report = MismatchReport(_quiet(mpi, given.Dup()), mpi) if self._check else None
        except mpi.Exception as error:
            raise InitializationFailed(
                "mpi",
                error,
                f"MPI cannot make a communicator on rank {given.rank} of {given.size}: {error.Get_error_string()}",
                suggestion="close communicators that are no longer needed: a library has room for some thousand",
            ) from error
        self._is_leader = bool(self._node.rank == 0)
        self._windows = WindowTable(self._node, mpi)
        # What stands before each collective: nothing, the exchange of calls, or the failure to repeat.
        self._before: Callable[..., None] | None = self._agree if self._check else None
        self.attach(
            self._calls(),
            largest_bytes=largest_message(mpi, limits["message_bytes"], LIMITS["message_bytes"]),
            slab_bytes=limits["slab_bytes"],
            only_thread=only_thread(mpi),
            is_serialised=mpi.Query_thread() == mpi.THREAD_SERIALIZED,
        )
        self._member = Membership(self._comm, given.rank, given.size, self._settle, self.detach)
        join(self._member, mpi)
        report_leaves(own_segments)

    def _calls(self) -> dict[str, Any]:
        """What the core calls: MPI for the common case, and this class for everything else."""
        # No persistent collectives: they serve only buffers that stay the same on all ranks, and gain little even
        # there (benchmarks/mpi_persistent.py).
        mpi, comm, limits = self._mpi, self._comm, self._limits
        long_messages = LongMessages(comm, mpi, limits["message_bytes"])
        return {
            "allgatherv": comm.Allgatherv,
            "allgather": comm.Allgather,
            "bcast": comm.Bcast,
            "barrier": comm.Barrier,
            "in_place": mpi.IN_PLACE,
            "types": ElementTypes(mpi),
            "error": mpi.Exception,
            "slab": np.empty(limits["slab_bytes"], np.uint8),
            "before": self._before,
            "on_error": self._fail,
            "on_interrupt": self._interrupt,
            "long_allgatherv": long_messages.gather,
            "long_broadcast": long_messages.broadcast,
            "long_allreduce": BlockwiseFold(comm, mpi, limits["block_bytes"]),
        }

    @property
    def backend(self) -> str:
        return "mpi"

    @property
    def is_leader(self) -> bool:
        return self._is_leader

    def create_shared_region(self, count: int, dtype: DTypeLike = "float64") -> MpiRegion:
        self.require_usable("create_shared_region")
        count, resolved, n_bytes = checked_request(count, dtype)
        with self._turn(
            "create_shared_region", f"create_shared_region({count} x {resolved})", resolved, count
        ):
            window = allocate(self._comm, self._node, self._mpi, n_bytes)
            report_leaves(own_segments)
            return MpiRegion(self, self._windows.add(window), window, count, resolved)

    def split_local(self) -> MpiCommunicator:
        with self._turn("split_local"):
            return MpiCommunicator(self._node, node=self._node, check=self._check, limits=self._limits)

    def fence_node(self, window: Window) -> None:
        """Collective over the node: what its ranks wrote into ``window`` before, all of them see after."""
        with self._turn("fence"):
            window.sync()
            self._node.Barrier()
            window.sync()

    def retire_window(self, number: int) -> None:
        """Collective over the node: free a window, or keep it until `close` while a view of it exists."""
        if self.is_open and self._before in (None, self._agree):  # a broken group settles at the end
            with self._turn("region.close"):
                self._windows.retire(number)

    @contextmanager
    def _turn(
        self, operation: str, call: str = "", dtype: np.dtype[Any] | None = None, count: int = 0
    ) -> Iterator[None]:
        """One collective at a time, agreed on if that is wanted, with MPI's errors as the contract's."""
        self.require_usable(operation)
        self.begin_call(operation)
        try:
            if dtype is not None and count < 1 << 63:
                self.check_before_region(count, dtype)
            elif self._before is not None:
                self._before(operation, call or f"{operation}()")
            yield
        except self._mpi.Exception as error:
            self._fail(operation, error)
        except BaseException as error:
            self._interrupt(operation, error)
            raise
        finally:
            self.end_call()

    def close(self) -> None:
        """Leave the group. Local, unless regions are left: their windows are freed together with the node.

        While an exception is on its way this rank cannot leave in good order, and aborts the job when its program ends.
        After the exception was caught, `close` again makes good for it.
        """
        self._leave(sys.exception())

    def _leave(self, error: BaseException | None) -> None:
        self._member.note_leaving(error)
        if not self.is_open:
            return
        self.mark_closed()
        if self._report is not None and self._before == self._agree:
            reason = "" if error is None else f" after {type(error).__name__}"
            self._report.leave(f"close(){reason}")
        if error is not None or self._member.interruption:
            return  # the other ranks may be elsewhere: nothing collective before the process ends
        # Another thread may be inside a collective: then the handles stay as they are until the process ends.
        if self.try_begin_call():
            if self._report is None:
                leave(self._member)
            try:
                self._windows.settle()
                self._comm.Free()
                self._node.Free()
                self.detach()
            finally:
                self.end_call()

    def _settle(self) -> None:
        """At the end of the process: what `close` would have done, and what it had to put off."""
        is_left = not self.is_open
        self.mark_closed()
        is_mine = self._await_turn()
        if self._report is not None and not is_left and self._before == self._agree:
            self._report.leave("close()")  # before waiting for ranks, which may be in another call
        self._windows.settle()
        if self._report is not None:
            self._report.settle()
        if is_mine:
            self.detach()
            self.end_call()

    def _await_turn(self) -> bool:
        """Whether no daemon thread is inside a call any more, which would then need what it calls.

        MPI must not be finalised under it, so one that is about to end, because the others have come, is waited for.
        """
        deadline = monotonic() + LAST_CALL_S
        while not (is_mine := self.try_begin_call()) and monotonic() < deadline:
            sleep(0.001)
        return is_mine

    def _agree(self, operation: str, call: str, signature: int | None = None) -> None:
        if self._report is None:
            return
        try:
            self._report.agree(operation, call, signature)
        except CollectiveFailed as failure:
            self._break(failure)
            raise

    def _fail(self, operation: str, error: Any) -> NoReturn:
        self.require_usable(operation)  # another thread closed the communicator under this call
        failure = as_comm_error(self._mpi, error, operation, self.rank, self.size)
        if isinstance(failure, CollectiveFailed):
            self._break(failure)
        raise failure from error

    def _interrupt(self, operation: str, error: BaseException) -> None:
        """After an exception that is neither ours nor MPI's, of a signal handler say, in the middle of a call.

        The others wait for what this rank has left undone, so it may neither call anything else nor just go.
        """
        if isinstance(error, CobreError) or self.size == 1:
            return
        what = f"was interrupted in {operation} by {type(error).__name__}"
        self._member.interruption = what
        self._break(
            CollectiveFailed(
                operation,
                message=f"rank {self.rank} of {self.size} {what}, and the other ranks cannot finish it",
                suggestion="let signal handlers set a flag, and look at it between the calls",
            )
        )

    def _break(self, failure: CollectiveFailed) -> None:
        def repeat(*call: object) -> NoReturn:
            raise CollectiveFailed(
                failure.operation, failure.mpi_error_code, failure.message, suggestion=failure.suggestion
            )

        self._before = repeat
        self.set_before(repeat)

    def __exit__(self, kind: object, error: BaseException | None, where: object, /) -> None:
        self._leave(error)

    def __repr__(self) -> str:
        return f"MpiCommunicator(rank={self.rank}, size={self.size})"


def _quiet(mpi: Any, comm: Any) -> Any:
    """``comm`` with errors returned as exceptions instead of ending the job."""
    comm.Set_errhandler(mpi.ERRORS_RETURN)
    return comm
