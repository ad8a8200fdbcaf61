"""Broken broadcast, barrier and waiting."""

from __future__ import annotations

import ctypes
import time

from cobre.comm.arguments import as_flat_array
from faulty.base import CHUNK_BYTES, FaultyCommunicator, Refused
from faulty.threaded import ThreadedCommunicator, memory_of


class BroadcastsFromRankZero(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "broadcast_reaches_all_from_every_root"

    def broadcast(self, buf, root):
        super().broadcast(buf, 0)


class BroadcastReversesBytes(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "broadcast_carries_every_dtype"

    def _take(self, payload, buf):
        super()._take(payload, buf)
        array = as_flat_array(buf)
        if not array.dtype.isnative and array.dtype.names is None:
            array.byteswap(inplace=True)


class BroadcastLosesTheByteAfterAChunk(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "broadcast_takes_every_length"

    def _take(self, payload, buf):
        size = len(payload) - (len(payload) == CHUNK_BYTES + 1)
        super()._take(payload[:size], memory_of(buf)[:size])


class BroadcastRefusesAReadOnlyRoot(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "broadcast_takes_any_buffer"
    raises = Refused

    def broadcast(self, buf, root):
        if not as_flat_array(buf).flags.writeable:
            raise Refused("buf is read-only")
        super().broadcast(buf, root)


class AssemblesAsTheyArrive(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "arrival_order_changes_nothing", 3

    def _exchange(self, operation, agreed, payload):
        stamped = super()._exchange(operation, agreed, (time.monotonic(), payload))
        if operation == "allreduce":
            stamped.sort()
        return [payload for _, payload in stamped]


class BroadcastReadsLate(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "slow_ranks_lose_nothing"

    def broadcast(self, buf, root):
        parts = self._exchange("broadcast", (), memory_of(buf))
        if self._rank != root:
            time.sleep(0.002)
            self._take(parts[root], buf)


class GatherReadsLate(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "slow_ranks_lose_nothing"

    def allgatherv(self, send, recv, counts, displs):
        parts = self._exchange("allgatherv", (), memory_of(send))
        time.sleep(0.001 * self._rank)
        self._place(parts, recv, counts, displs)


class BarrierReturnsAtOnce(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "barrier_holds_everyone_back"

    def barrier(self):
        pass


class BarrierLeaksOnce(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "barrier_holds_every_time"
    uses = 0

    def barrier(self):
        self.uses += 1
        if self.uses != 50:
            super().barrier()
        if self.uses == 49:
            time.sleep(0.003 * self._rank)


class GatherOfNothingReturnsAtOnce(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_waits_for_every_contribution"

    def allgatherv(self, send, recv, counts, displs):
        if any(counts):
            super().allgatherv(send, recv, counts, displs)


class HoldsTheGil(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "blocked_ranks_let_threads_run"
    uses = 0

    def barrier(self):
        self.uses += 1
        if self._rank != 0 and self.uses == 2:
            ctypes.PyDLL(None).usleep(450_000)  # unlike CDLL, it keeps the lock of the interpreter
        super().barrier()
        if self._rank != 0 and self.uses == 1:
            time.sleep(0.02)  # rank 0 is a thread, too: it must have left before this one takes the lock
