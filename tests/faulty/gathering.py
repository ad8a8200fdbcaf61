"""Broken groups, statistics and allgatherv."""

from __future__ import annotations

import numpy as np

from cobre.comm.arguments import as_flat_array
from faulty.base import CHUNK_BYTES, FaultyCommunicator, Refused
from faulty.threaded import ThreadedCommunicator, memory_of


class LacksASplit(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "protocols_are_implemented"
    split_local = None


class EveryRankIsRankZero(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "ranks_are_numbered_once_each"
    rank = 0


class CountsTwice(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "stats_count_calls_and_bytes"

    def _count(self, operation, n_bytes):
        super()._count(operation, n_bytes)
        super()._count(operation, 0)


class CountsNoBytes(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "stats_count_calls_and_bytes"

    def _count(self, operation, n_bytes):
        super()._count(operation, 0)


class AloneGatherDoesNothing(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "alone_gather_and_reduce_copy", 1

    def _place(self, parts, recv, counts, displs):
        pass


class AloneBroadcastClears(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "alone_broadcast_and_barrier_do_nothing", 1

    def broadcast(self, buf, root):
        memory_of(buf)[:] = 0


class GathersIntegersAsDoubles(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_carries_every_dtype"

    def _place(self, parts, recv, counts, displs):
        if as_flat_array(recv).dtype == np.int64:
            parts = [np.frombuffer(part, "i8").astype("f8").astype("i8").tobytes() for part in parts]
        super()._place(parts, recv, counts, displs)


class GatherLosesTheByteAfterAChunk(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_takes_every_length"

    def _place(self, parts, recv, counts, displs):
        super()._place(
            [part[: -(len(part) == CHUNK_BYTES + 1) or None] for part in parts], recv, counts, displs
        )


class GatherStopsAtAnEmptyPart(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_takes_zero_counts"

    def _place(self, parts, recv, counts, displs):
        end = counts.index(0) if 0 in counts else len(counts)
        super()._place(parts[:end], recv, counts[:end], displs[:end])


class GatherClearsGaps(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_leaves_gaps_untouched"

    def _place(self, parts, recv, counts, displs):
        memory_of(recv)[:] = 0
        super()._place(parts, recv, counts, displs)


class GatherPacks(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_obeys_displacements"

    def _place(self, parts, recv, counts, displs):
        super()._place(parts, recv, counts, [sum(counts[:rank]) for rank in range(len(counts))])


class GatherPlacesLikeRankZero(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_places_by_own_displacements"

    def _place(self, parts, recv, counts, displs):
        super()._place(parts, recv, counts, self._exchange("displs", (), displs)[0])


class GatherClearsBeforeItReads(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_works_in_place"

    def allgatherv(self, send, recv, counts, displs):
        as_flat_array(recv)[displs[0] : displs[0] + counts[0]] = 0
        super().allgatherv(send, recv, counts, displs)


class GatherWritesIntoSend(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_leaves_send_alone"

    def allgatherv(self, send, recv, counts, displs):
        super().allgatherv(send, recv, counts, displs)
        memory_of(send)[:] = 0


class GatherRefusesOtherBuffers(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_takes_any_buffer"
    raises = Refused

    def allgatherv(self, send, recv, counts, displs):
        if not isinstance(send, np.ndarray):
            raise Refused("send is no array")
        super().allgatherv(send, recv, counts, displs)


class GatherRefusesOtherCounts(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "gather_takes_any_integers"
    raises = Refused

    def allgatherv(self, send, recv, counts, displs):
        if not isinstance(counts, list):
            raise Refused("counts is no list")
        super().allgatherv(send, recv, counts, displs)
