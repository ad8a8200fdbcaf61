"""Communicators that break one promise each, and the check that must notice.

A class says which check that is (``caught_by``) and, where it matters, how many ranks it takes (``ranks``).
"""

from __future__ import annotations

import ctypes
import time

import numpy as np

from cobre.comm.arguments import as_flat_array, fold_in_rank_order
from cobre.comm.protocol import ReduceOp
from cobre.errors import AllocationFailed, CobreError, CollectiveFailed, InvalidBufferSize, InvalidRoot
from comm.threaded import Group, HeapCommunicator, HeapRegion, ThreadedCommunicator, ThreadedRegion, memory_of

CHUNK_BYTES = 20_000
"""The internal size that the tests announce, and that some of these trip over."""


class Sabotage:
    """Base of all, beside the communicator that they break."""

    caught_by = ""
    ranks = 2


class LacksASplit(Sabotage, ThreadedCommunicator):
    caught_by = "protocols_are_implemented"
    split_local = None


class EverybodyIsRankZero(Sabotage, ThreadedCommunicator):
    caught_by = "ranks_are_numbered_once_each"
    rank = 0


class CountsTwice(Sabotage, ThreadedCommunicator):
    caught_by = "stats_count_calls_and_bytes"

    def _count(self, operation, n_bytes):
        super()._count(operation, n_bytes)
        super()._count(operation, 0)


class CountsNoBytes(Sabotage, ThreadedCommunicator):
    caught_by = "stats_count_calls_and_bytes"

    def _count(self, operation, n_bytes):
        super()._count(operation, 0)


class AloneGatherDoesNothing(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "alone_gather_and_reduce_copy", 1

    def _place(self, parts, recv, counts, displs):
        pass


class AloneBroadcastClears(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "alone_broadcast_and_barrier_do_nothing", 1

    def broadcast(self, buf, root):
        memory_of(buf)[:] = 0


class GathersIntegersAsDoubles(Sabotage, ThreadedCommunicator):
    caught_by = "gather_carries_every_dtype"

    def _place(self, parts, recv, counts, displs):
        if as_flat_array(recv).dtype == np.int64:
            parts = [np.frombuffer(part, "i8").astype("f8").astype("i8").tobytes() for part in parts]
        super()._place(parts, recv, counts, displs)


class GatherLosesTheByteAfterAChunk(Sabotage, ThreadedCommunicator):
    caught_by = "gather_takes_every_length"

    def _place(self, parts, recv, counts, displs):
        super()._place(
            [part[: -(len(part) == CHUNK_BYTES + 1) or None] for part in parts], recv, counts, displs
        )


class GatherStopsAtAnEmptyPart(Sabotage, ThreadedCommunicator):
    caught_by = "gather_takes_zero_counts"

    def _place(self, parts, recv, counts, displs):
        end = counts.index(0) if 0 in counts else len(counts)
        super()._place(parts[:end], recv, counts[:end], displs[:end])


class GatherClearsGaps(Sabotage, ThreadedCommunicator):
    caught_by = "gather_leaves_gaps_untouched"

    def _place(self, parts, recv, counts, displs):
        memory_of(recv)[:] = 0
        super()._place(parts, recv, counts, displs)


class GatherPacks(Sabotage, ThreadedCommunicator):
    caught_by = "gather_obeys_displacements"

    def _place(self, parts, recv, counts, displs):
        super()._place(parts, recv, counts, [sum(counts[:rank]) for rank in range(len(counts))])


class GatherPlacesLikeRankZero(Sabotage, ThreadedCommunicator):
    caught_by = "gather_places_by_own_displacements"

    def _place(self, parts, recv, counts, displs):
        super()._place(parts, recv, counts, self._exchange("displs", (), displs)[0])


class GatherClearsBeforeItReads(Sabotage, ThreadedCommunicator):
    caught_by = "gather_works_in_place"

    def allgatherv(self, send, recv, counts, displs):
        as_flat_array(recv)[displs[0] : displs[0] + counts[0]] = 0
        super().allgatherv(send, recv, counts, displs)


class GatherScribblesOnSend(Sabotage, ThreadedCommunicator):
    caught_by = "gather_leaves_send_alone"

    def allgatherv(self, send, recv, counts, displs):
        super().allgatherv(send, recv, counts, displs)
        memory_of(send)[:] = 0


class GatherWantsArrays(Sabotage, ThreadedCommunicator):
    caught_by = "gather_takes_any_buffer"

    def allgatherv(self, send, recv, counts, displs):
        if not isinstance(send, np.ndarray):
            raise TypeError("send is no array")
        super().allgatherv(send, recv, counts, displs)


class GatherWantsLists(Sabotage, ThreadedCommunicator):
    caught_by = "gather_takes_any_integers"

    def allgatherv(self, send, recv, counts, displs):
        if not isinstance(counts, list):
            raise TypeError("counts is no list")
        super().allgatherv(send, recv, counts, displs)


class FoldsFromTheLastRank(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "sum_folds_in_rank_order", 3

    def _fold(self, parts, recv, op):
        super()._fold(parts[::-1], recv, op)


class FoldsPairwise(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "sum_folds_in_rank_order", 4

    def _fold(self, parts, recv, op):
        while len(parts) > 1:
            pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
            parts = [folded(pair, op) for pair in pairs]
        recv[:] = parts[0]


class StartsAtOwnRank(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "sum_folds_in_rank_order", 3

    def _fold(self, parts, recv, op):
        super()._fold(parts[self._rank :] + parts[: self._rank], recv, op)


class SumsShortFloatsInDouble(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "sum_rounds_at_every_step", 3

    def _fold(self, parts, recv, op):
        recv[:] = folded([part.astype("f8") for part in parts], op)


class SumSaturates(Sabotage, ThreadedCommunicator):
    caught_by = "sum_wraps_integers_and_ors_bools"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        if recv.dtype == np.uint8:
            recv[:] = np.minimum(sum(part.astype(int) for part in parts), 255)


class SumOfBoolsIsXor(Sabotage, ThreadedCommunicator):
    caught_by = "sum_wraps_integers_and_ors_bools"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        if recv.dtype == np.bool_:
            recv[:] = np.logical_xor.reduce(parts)


class SumStartsFromZero(Sabotage, ThreadedCommunicator):
    caught_by = "sum_keeps_nan_and_signed_zero"

    def _fold(self, parts, recv, op):
        super()._fold([np.zeros_like(parts[0]), *parts], recv, op)


class SumForgetsTheNan(Sabotage, ThreadedCommunicator):
    caught_by = "sum_keeps_nan_and_signed_zero"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        recv[np.isnan(recv)] = np.nan


class ExtremesDropNans(Sabotage, ThreadedCommunicator):
    caught_by = "extremes_keep_ties_and_first_nan"

    def _fold(self, parts, recv, op):
        recv[:] = np.fmin.reduce(parts) if op == "min" else np.fmax.reduce(parts)


class TiesGoToTheHigherRank(Sabotage, ThreadedCommunicator):
    caught_by = "extremes_keep_ties_and_first_nan"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        for part in parts:
            tied = part == recv
            recv[tied] = part[tied]


class ComparesUnsignedAsSigned(Sabotage, ThreadedCommunicator):
    caught_by = "reduce_folds_every_dtype"

    def _fold(self, parts, recv, op):
        signed = recv.dtype.str.replace("u", "i")
        super()._fold([part.view(signed) for part in parts], recv.view(signed), op)


class ReduceLosesTheByteAfterAChunk(Sabotage, ThreadedCommunicator):
    caught_by = "reduce_takes_every_length"

    def _fold(self, parts, recv, op):
        size = recv.size - (CHUNK_BYTES < recv.nbytes <= CHUNK_BYTES + 8)
        super()._fold([part[:size] for part in parts], recv[:size], op)


class ReduceClearsBeforeItReads(Sabotage, ThreadedCommunicator):
    caught_by = "reduce_works_in_place"

    def allreduce(self, send, recv, op):
        as_flat_array(recv)[:] = 0
        super().allreduce(send, recv, op)


class ReduceAccumulatesInSend(Sabotage, ThreadedCommunicator):
    caught_by = "reduce_leaves_send_alone"

    def allreduce(self, send, recv, op):
        super().allreduce(send, recv, op)
        as_flat_array(send)[:] = as_flat_array(recv)


class ReduceWantsMembers(Sabotage, ThreadedCommunicator):
    caught_by = "reduce_takes_ops_by_name"

    def allreduce(self, send, recv, op):
        if not isinstance(op, ReduceOp):
            raise ValueError(f"{op} is no ReduceOp")
        super().allreduce(send, recv, op)


class ReduceWantsAlignment(Sabotage, ThreadedCommunicator):
    caught_by = "reduce_takes_any_buffer"

    def allreduce(self, send, recv, op):
        if not as_flat_array(send).flags.aligned:
            raise TypeError("send is not aligned")
        super().allreduce(send, recv, op)


class BroadcastsFromRankZero(Sabotage, ThreadedCommunicator):
    caught_by = "broadcast_reaches_all_from_every_root"

    def broadcast(self, buf, root):
        super().broadcast(buf, 0)


class BroadcastTurnsBytesAround(Sabotage, ThreadedCommunicator):
    caught_by = "broadcast_carries_every_dtype"

    def _take(self, payload, buf):
        super()._take(payload, buf)
        array = as_flat_array(buf)
        if not array.dtype.isnative and array.dtype.names is None:
            array.byteswap(inplace=True)


class BroadcastLosesTheByteAfterAChunk(Sabotage, ThreadedCommunicator):
    caught_by = "broadcast_takes_every_length"

    def _take(self, payload, buf):
        size = len(payload) - (len(payload) == CHUNK_BYTES + 1)
        super()._take(payload[:size], memory_of(buf)[:size])


class BroadcastWantsAWritableRoot(Sabotage, ThreadedCommunicator):
    caught_by = "broadcast_takes_any_buffer"

    def broadcast(self, buf, root):
        if not as_flat_array(buf).flags.writeable:
            raise TypeError("buf is read-only")
        super().broadcast(buf, root)


class AssemblesAsTheyArrive(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "arrival_order_changes_nothing", 3

    def _exchange(self, operation, agreed, payload):
        stamped = super()._exchange(operation, agreed, (time.monotonic(), payload))
        if operation == "allreduce":
            stamped.sort()
        return [payload for _, payload in stamped]


class BroadcastReadsLate(Sabotage, ThreadedCommunicator):
    caught_by = "slow_ranks_lose_nothing"

    def broadcast(self, buf, root):
        parts = self._exchange("broadcast", (), memory_of(buf))
        if self._rank != root:
            time.sleep(0.002)
            self._take(parts[root], buf)


class GatherReadsLate(Sabotage, ThreadedCommunicator):
    caught_by = "slow_ranks_lose_nothing"

    def allgatherv(self, send, recv, counts, displs):
        parts = self._exchange("allgatherv", (), memory_of(send))
        time.sleep(0.001 * self._rank)
        self._place(parts, recv, counts, displs)


class BarrierReturnsAtOnce(Sabotage, ThreadedCommunicator):
    caught_by = "barrier_holds_everyone_back"

    def barrier(self):
        pass


class BarrierLeaksOnce(Sabotage, ThreadedCommunicator):
    caught_by = "barrier_holds_every_time"
    uses = 0

    def barrier(self):
        self.uses += 1
        if self.uses != 50:
            super().barrier()
        if self.uses == 49:
            time.sleep(0.003 * self._rank)


class GatherOfNothingReturnsAtOnce(Sabotage, ThreadedCommunicator):
    caught_by = "gather_waits_for_every_contribution"

    def allgatherv(self, send, recv, counts, displs):
        if any(counts):
            super().allgatherv(send, recv, counts, displs)


class HoldsTheInterpreter(Sabotage, ThreadedCommunicator):
    caught_by = "blocked_ranks_let_threads_run"
    uses = 0

    def barrier(self):
        self.uses += 1
        if self._rank != 0 and self.uses == 2:
            ctypes.PyDLL(None).usleep(150_000)  # unlike CDLL, it keeps the lock of the interpreter
        super().barrier()
        if self._rank != 0 and self.uses == 1:
            time.sleep(0.02)  # rank 0 is a thread, too: it must have left before this one takes the lock


class MissesOverlappingParts(Sabotage, ThreadedCommunicator):
    caught_by = "wrong_sizes_are_refused"

    def allgatherv(self, send, recv, counts, displs):
        try:
            super().allgatherv(send, recv, counts, displs)
        except InvalidBufferSize as error:
            if "overlap" not in str(error):
                raise


class RootsAreValueErrors(Sabotage, ThreadedCommunicator):
    caught_by = "wrong_roots_are_refused"

    def broadcast(self, buf, root):
        try:
            super().broadcast(buf, root)
        except InvalidRoot as error:
            raise ValueError(str(error)) from error


class CopiesScatteredBuffers(Sabotage, ThreadedCommunicator):
    caught_by = "wrong_types_are_refused"

    def allreduce(self, send, recv, op):
        super().allreduce(np.ascontiguousarray(send), recv, op)


class CopiesOverlappingBuffers(Sabotage, ThreadedCommunicator):
    caught_by = "wrong_ops_and_overlaps_are_refused"

    def allreduce(self, send, recv, op):
        super().allreduce(send.copy(), recv, op)


class SuggestsNothing(Sabotage, ThreadedCommunicator):
    caught_by = "refusals_name_a_fix"

    def allgatherv(self, send, recv, counts, displs):
        try:
            super().allgatherv(send, recv, counts, displs)
        except CobreError as error:
            error.suggestion = ""
            raise


class ClearsThenChecks(Sabotage, ThreadedCommunicator):
    caught_by = "refusals_move_nothing"

    def allgatherv(self, send, recv, counts, displs):
        if isinstance(recv, np.ndarray) and recv.flags.writeable:
            recv[...] = 0
        super().allgatherv(send, recv, counts, displs)


class BreaksOnRefusal(Sabotage, ThreadedCommunicator):
    caught_by = "refusals_leave_the_communicator_usable"

    def broadcast(self, buf, root):
        try:
            super().broadcast(buf, root)
        except InvalidRoot as error:
            self._failure = error
            raise


class RegionSabotage(Sabotage, ThreadedCommunicator):
    """Hands out regions of its own broken class."""

    Region = ThreadedRegion

    def _region(self, memory):
        return self.Region(self, memory)


class RegionsAreAlwaysDouble(RegionSabotage):
    caught_by = "regions_know_their_shape"

    def _allocate(self, count, dtype):
        return np.zeros(count)


class RegionsStartDirty(RegionSabotage):
    caught_by = "regions_start_zeroed"

    def _allocate(self, count, dtype):
        return np.frombuffer(bytearray(b"\1" * count * dtype.itemsize), dtype)


class RefusesEmptyRegions(RegionSabotage):
    caught_by = "empty_regions_are_legal"

    def _allocate(self, count, dtype):
        return np.zeros((count,) if count else None, dtype)


class NegativeCountsAreEmpty(RegionSabotage):
    caught_by = "wrong_regions_are_refused"

    def create_shared_region(self, count, dtype="float64"):
        return super().create_shared_region(max(count, 0), dtype)


class BlocksLikeSlices(RegionSabotage):
    caught_by = "wrong_blocks_are_refused"

    class Region(ThreadedRegion):
        def as_mut_block(self, start, count):
            return self._open()[start : start + count]


class FenceDoesNothing(RegionSabotage):
    caught_by = "leader_populates_for_all"

    class Region(ThreadedRegion):
        def fence(self):
            self._open()


class BlocksAreCopies(RegionSabotage):
    caught_by = "ranks_populate_together"

    class Region(ThreadedRegion):
        def as_mut_block(self, start, count):
            return super().as_mut_block(start, count).copy()


class FollowersGetTheWhole(RegionSabotage):
    caught_by = "only_leaders_get_the_whole"

    class Region(ThreadedRegion):
        def as_mut_slice(self):
            return self._open()[:]


class SlicesAreWritable(RegionSabotage):
    caught_by = "slices_are_read_only"

    class Region(ThreadedRegion):
        def as_slice(self):
            return self._open()[:]


class SlicesAreCopies(RegionSabotage):
    caught_by = "slices_see_later_writes"

    class Region(ThreadedRegion):
        def as_slice(self):
            copy = self._open().copy()
            copy.flags.writeable = False
            return copy


class OnlyFencesPublish(RegionSabotage):
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


class EqualRegionsShareMemory(RegionSabotage):
    caught_by = "regions_do_not_share_memory"

    def _allocate(self, count, dtype):
        self.memories = getattr(self, "memories", {})
        return self.memories.setdefault((count, str(dtype)), np.zeros(count, dtype))


class OneRankFillsTheRegion(RegionSabotage):
    caught_by = "gathers_into_regions"

    def _place(self, parts, recv, counts, displs):
        if isinstance(recv, np.ndarray) and recv.base is not None:
            if self._rank != 0:
                return
            time.sleep(0.002)
        super()._place(parts, recv, counts, displs)


class TrustsThatRegionsAreShared(RegionSabotage):
    caught_by = "broadcasts_into_regions"

    def broadcast(self, buf, root):
        if isinstance(buf, np.ndarray) and buf.base is not None:
            return
        super().broadcast(buf, root)


class ImpossibleRegionsComeEmpty(RegionSabotage):
    caught_by = "impossible_regions_fail_at_once"

    def create_shared_region(self, count, dtype="float64"):
        try:
            return super().create_shared_region(count, dtype)
        except AllocationFailed:
            return super().create_shared_region(0, dtype)


class HeapFenceWaits(Sabotage, HeapCommunicator):
    caught_by = "heap_fences_never_wait"

    def create_shared_region(self, count, dtype="float64"):
        region = HeapRegion(count, dtype)
        region.fence = self.barrier
        return region


class ThreadsMix(Sabotage, ThreadedCommunicator):
    caught_by = "threads_take_turns"
    staging = None

    def allgatherv(self, send, recv, counts, displs):
        self.staging = np.array(send)
        time.sleep(0.001)
        super().allgatherv(self.staging, recv, counts, displs)


class ChildrenGoOn(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "forked_children_are_refused", 1

    def _require_usable(self):
        if not self._is_closed:
            return
        super()._require_usable()


class SplitTurnsRanksAround(Sabotage, ThreadedCommunicator):
    caught_by = "split_groups_the_node"

    def split_local(self):
        group = Group(self._size) if self.is_leader else None
        return ThreadedCommunicator(self._exchange("split", (), group)[0], self._size - 1 - self._rank)


class SplitClosesItsParent(Sabotage, ThreadedCommunicator):
    caught_by = "closing_a_split_leaves_the_parent_open"

    def split_local(self):
        local, close = super().split_local(), self.close
        local.close = close
        return local


class LeavesWithBlocksOpen(Sabotage, ThreadedCommunicator):
    caught_by = "with_blocks_close"

    def __exit__(self, *exc_info):
        pass


class ClosedRegionsAnswer(RegionSabotage):
    caught_by = "closed_regions_refuse"

    class Region(ThreadedRegion):
        def close(self):
            pass


class ViewsDieWithTheRegion(RegionSabotage):
    caught_by = "views_outlive_their_region"

    class Region(ThreadedRegion):
        def close(self):
            super().close()
            self._memory[:] = np.zeros((), self.dtype)


class ViewsDieWithTheCommunicator(RegionSabotage):
    caught_by = "views_outlive_the_communicator"

    def _region(self, memory):
        self.last = memory
        return super()._region(memory)

    def close(self):
        super().close()
        self.last[:] = 0


class LeavingFailsTheRest(Sabotage, ThreadedCommunicator):
    caught_by = "leaving_early_harms_nobody"

    def _take(self, payload, buf):
        time.sleep(0.01)
        if any(self._group.left):
            raise CollectiveFailed("broadcast", 0, "somebody left")
        super()._take(payload, buf)


class ClosesOnlyOnce(Sabotage, ThreadedCommunicator):
    caught_by = "closing_twice_is_harmless"

    def close(self):
        self._require_usable()
        super().close()


class WorksAfterClose(Sabotage, ThreadedCommunicator):
    caught_by, ranks = "closed_communicators_refuse", 1

    def close(self):
        pass


class ForgetsWhenClosed(Sabotage, ThreadedCommunicator):
    caught_by = "closed_communicators_still_answer"

    def stats(self):
        return {} if self._is_closed else super().stats()


class TiresAfterFortyCalls(Sabotage, ThreadedCommunicator):
    caught_by = "mixed_sequences_agree"
    calls = 0

    def _exchange(self, operation, agreed, payload):
        parts = super()._exchange(operation, agreed, payload)
        self.calls += 1
        return parts if self.calls < 40 or operation != "allreduce" else [parts[0]] * len(parts)


class LengthsHaveSixteenBits(Sabotage, ThreadedCommunicator):
    caught_by = "payloads_pass_4_gib"

    def _take(self, payload, buf):
        size = len(payload) % 2**16
        super()._take(payload[:size], memory_of(buf)[:size])


def folded(parts, op):
    out = parts[0].copy()
    fold_in_rank_order(parts, out, op)
    return out


def all_sabotages(base=Sabotage):
    """Every class here that names the check meant for it."""
    for cls in base.__subclasses__():
        if cls.caught_by:
            yield cls
        yield from all_sabotages(cls)
