"""Broken shared regions."""

from __future__ import annotations

import time

import numpy as np

from cobre.errors import AllocationFailed
from faulty.base import FaultyCommunicator, Refused
from faulty.threaded import HeapCommunicator, HeapRegion, ThreadedCommunicator, ThreadedRegion


class FaultyRegions(FaultyCommunicator, ThreadedCommunicator):
    """Hands out regions of its own broken class."""

    Region = ThreadedRegion

    def _region(self, memory):
        return self.Region(self, memory)


class RegionsAreAlwaysDouble(FaultyRegions):
    caught_by = "regions_know_their_shape"

    def _allocate(self, count, dtype):
        return np.zeros(count)


class RegionsStartDirty(FaultyRegions):
    caught_by = "regions_start_zeroed"

    def _allocate(self, count, dtype):
        return np.frombuffer(bytearray(b"\1" * count * dtype.itemsize), dtype)


class RefusesEmptyRegions(FaultyRegions):
    caught_by = "empty_regions_are_legal"
    raises = Refused

    def _allocate(self, count, dtype):
        if count == 0:
            raise Refused("nothing to share")
        return super()._allocate(count, dtype)


class NegativeCountsAreEmpty(FaultyRegions):
    caught_by = "wrong_regions_are_refused"

    def create_shared_region(self, count, dtype="float64"):
        return super().create_shared_region(max(count, 0), dtype)


class BlocksLikeSlices(FaultyRegions):
    caught_by = "wrong_blocks_are_refused"

    class Region(ThreadedRegion):
        def as_mut_block(self, start, count):
            return self._open()[start : start + count]


class FenceDoesNothing(FaultyRegions):
    caught_by = "leader_populates_for_all"

    class Region(ThreadedRegion):
        def fence(self):
            self._open()


class BlocksAreCopies(FaultyRegions):
    caught_by = "ranks_populate_together"

    class Region(ThreadedRegion):
        def as_mut_block(self, start, count):
            return super().as_mut_block(start, count).copy()


class FollowersGetTheWhole(FaultyRegions):
    caught_by = "only_leaders_get_the_whole"

    class Region(ThreadedRegion):
        def as_mut_slice(self):
            return self._open()[:]


class SlicesAreWritable(FaultyRegions):
    caught_by = "slices_are_read_only"

    class Region(ThreadedRegion):
        def as_slice(self):
            return self._open()[:]


class SlicesAreCopies(FaultyRegions):
    caught_by = "slices_see_later_writes"

    class Region(ThreadedRegion):
        def as_slice(self):
            copy = self._open().copy()
            copy.flags.writeable = False
            return copy


class OnlyFencesPublish(FaultyRegions):
    caught_by = "writes_before_a_barrier_are_seen_after_it"

    class Region(ThreadedRegion):
        def __init__(self, comm, memory):
            super().__init__(comm, memory)
            self.snapshot = memory.copy()

        def as_slice(self):
            return self.snapshot

        def fence(self):
            super().fence()
            self.snapshot[:] = self._memory


class EqualRegionsShareMemory(FaultyRegions):
    caught_by = "regions_do_not_share_memory"

    def _allocate(self, count, dtype):
        self.memories = getattr(self, "memories", {})
        return self.memories.setdefault((count, str(dtype)), np.zeros(count, dtype))


class OneRankFillsTheRegion(FaultyRegions):
    caught_by = "gathers_into_regions"

    def _place(self, parts, recv, counts, displs):
        if isinstance(recv, np.ndarray) and recv.base is not None:
            if self._rank != 0:
                return
            time.sleep(0.002)
        super()._place(parts, recv, counts, displs)


class TrustsThatRegionsAreShared(FaultyRegions):
    caught_by = "broadcasts_into_regions"

    def broadcast(self, buf, root):
        if isinstance(buf, np.ndarray) and buf.base is not None:
            return
        super().broadcast(buf, root)


class ImpossibleRegionsComeEmpty(FaultyRegions):
    caught_by = "impossible_regions_fail_at_once"

    def create_shared_region(self, count, dtype="float64"):
        try:
            return super().create_shared_region(count, dtype)
        except AllocationFailed:
            return super().create_shared_region(0, dtype)


class HeapFenceWaits(FaultyCommunicator, HeapCommunicator):
    caught_by = "heap_fences_never_wait"

    def create_shared_region(self, count, dtype="float64"):
        region = HeapRegion(count, dtype)
        region.fence = self.barrier
        return region


class ClosedRegionsAnswer(FaultyRegions):
    caught_by = "closed_regions_refuse"

    class Region(ThreadedRegion):
        def close(self):
            pass


class ViewsEndWithTheRegion(FaultyRegions):
    caught_by = "views_outlive_their_region"

    class Region(ThreadedRegion):
        def close(self):
            super().close()
            self._memory[:] = np.zeros((), self.dtype)


class ViewsEndWithTheCommunicator(FaultyRegions):
    caught_by = "views_outlive_the_communicator"

    def _region(self, memory):
        self.last = memory
        return super()._region(memory)

    def close(self):
        super().close()
        self.last[:] = 0
