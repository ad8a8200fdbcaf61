"""Broken threads, forks, splits and closing."""

from __future__ import annotations

import contextlib
import time

import numpy as np

from cobre.errors import CollectiveFailed, InvalidCommunicator
from faulty.base import FaultyCommunicator, Refused
from faulty.threaded import Group, ThreadedCommunicator, memory_of


class ThreadsMix(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "threads_take_turns"
    staging = None

    def allgatherv(self, send, recv, counts, displs):
        self.staging = np.array(send)
        time.sleep(0.001)
        super().allgatherv(self.staging, recv, counts, displs)


class ChildrenGoOn(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "forked_children_are_refused", 1

    def _require_usable(self):
        if not self._is_closed:
            return
        super()._require_usable()


class StatsAnswerInChildren(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "forked_children_are_refused", 1

    def stats(self):
        return {}


class SplitReversesRanks(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "split_groups_the_node"

    def split_local(self):
        group = Group(self._size) if self.is_leader else None
        return ThreadedCommunicator(self._exchange("split", (), group)[0], self._size - 1 - self._rank)


class SplitClosesItsParent(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "closing_a_split_leaves_the_parent_open"
    raises = InvalidCommunicator

    def split_local(self):
        local, close = super().split_local(), self.close
        local.close = close
        return local


class CloseIsABarrier(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "closing_waits_for_nobody"

    def close(self):
        if not self._is_closed and self._failure is None:
            with contextlib.suppress(CollectiveFailed):
                self._exchange("close", (), None)
        super().close()


class LeavesWithBlocksOpen(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "with_blocks_close"

    def __exit__(self, *exc_info):
        pass


class LeavingFailsTheRest(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "leaving_early_harms_nobody"
    raises = Refused

    def _take(self, payload, buf):
        time.sleep(0.01)
        if any(self._group.left):
            raise Refused("a rank left")
        super()._take(payload, buf)


class ClosesOnlyOnce(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "closing_twice_is_harmless"
    raises = InvalidCommunicator

    def close(self):
        self._require_usable()
        super().close()


class WorksAfterClose(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "closed_communicators_refuse", 1

    def close(self):
        pass


class ForgetsWhenClosed(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "closed_communicators_still_answer"

    def stats(self):
        stats = super().stats()
        return {op: dict.fromkeys(counts, 0) for op, counts in stats.items()} if self._is_closed else stats


class FailsAfterFortyCalls(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "mixed_sequences_agree"
    calls = 0

    def _exchange(self, operation, agreed, payload):
        parts = super()._exchange(operation, agreed, payload)
        self.calls += 1
        return parts if self.calls < 40 or operation != "allreduce" else [parts[0]] * len(parts)


class LengthsHaveSixteenBits(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "payloads_pass_4_gib"

    def _take(self, payload, buf):
        size = len(payload) % 2**16
        super()._take(payload[:size], memory_of(buf)[:size])
