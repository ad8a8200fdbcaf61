"""Broken answers to wrong arguments."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from cobre.errors import CobreError, InvalidBufferSize, InvalidRoot
from faulty.base import FaultyCommunicator
from faulty.threaded import ThreadedCommunicator


@contextmanager
def refusals_through(kind, change):
    """Refusals of this kind are raised as ``change`` leaves them, but for those of which it returns True."""
    try:
        yield
    except kind as error:
        if not change(error):
            raise


class MissesOverlappingParts(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "wrong_sizes_are_refused"

    def allgatherv(self, send, recv, counts, displs):
        with refusals_through(InvalidBufferSize, lambda error: "overlap" in str(error)):
            super().allgatherv(send, recv, counts, displs)


class RootsAreValueErrors(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "wrong_roots_are_refused"

    def broadcast(self, buf, root):
        try:
            super().broadcast(buf, root)
        except InvalidRoot as error:
            raise ValueError(str(error)) from error


class CopiesScatteredBuffers(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "wrong_types_are_refused"

    def allreduce(self, send, recv, op):
        super().allreduce(np.ascontiguousarray(send), recv, op)


class CopiesOverlappingBuffers(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "wrong_ops_and_overlaps_are_refused"

    def allreduce(self, send, recv, op):
        super().allreduce(send.copy(), recv, op)


class SuggestsNothing(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "refusals_name_a_fix"

    def allgatherv(self, send, recv, counts, displs):
        with refusals_through(CobreError, lambda error: setattr(error, "suggestion", "")):
            super().allgatherv(send, recv, counts, displs)


class ClearsThenChecks(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "refusals_move_nothing"

    def allgatherv(self, send, recv, counts, displs):
        if isinstance(recv, np.ndarray) and recv.flags.writeable:
            recv[...] = 0
        super().allgatherv(send, recv, counts, displs)


class BreaksOnRefusal(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "refusals_leave_the_communicator_usable"
    raises = InvalidRoot

    def broadcast(self, buf, root):
        with refusals_through(InvalidRoot, lambda error: setattr(self, "_failure", error)):
            super().broadcast(buf, root)
