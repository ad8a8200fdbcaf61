"""Broken allreduce."""

from __future__ import annotations

import numpy as np

from cobre.comm.arguments import as_flat_array
from cobre.comm.protocol import ReduceOp
from faulty.base import CHUNK_BYTES, FaultyCommunicator, Refused, folded
from faulty.threaded import ThreadedCommunicator


class FoldsFromTheLastRank(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "sum_folds_in_rank_order", 3

    def _fold(self, parts, recv, op):
        super()._fold(parts[::-1], recv, op)


class FoldsPairwise(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "sum_folds_in_rank_order", 4

    def _fold(self, parts, recv, op):
        while len(parts) > 1:
            pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
            parts = [folded(pair, op) for pair in pairs]
        recv[:] = parts[0]


class StartsAtOwnRank(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "sum_folds_in_rank_order", 3

    def _fold(self, parts, recv, op):
        super()._fold(parts[self._rank :] + parts[: self._rank], recv, op)


class SumsShortFloatsInDouble(FaultyCommunicator, ThreadedCommunicator):
    caught_by, ranks = "sum_rounds_at_every_step", 3

    def _fold(self, parts, recv, op):
        recv[:] = folded([part.astype("f8") for part in parts], op)


class SumSaturates(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "sum_wraps_integers_and_ors_bools"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        if recv.dtype == np.uint8:
            recv[:] = np.minimum(sum(part.astype(int) for part in parts), 255)


class SumOfBoolsIsXor(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "sum_wraps_integers_and_ors_bools"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        if recv.dtype == np.bool_:
            recv[:] = np.logical_xor.reduce(parts)


class SumStartsFromZero(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "sum_keeps_nan_and_signed_zero"

    def _fold(self, parts, recv, op):
        super()._fold([np.zeros_like(parts[0]), *parts], recv, op)


class SumForgetsTheNan(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "sum_keeps_nan_and_signed_zero"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        recv[np.isnan(recv)] = np.nan


class ExtremesDropNans(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "extremes_keep_ties_and_first_nan"

    def _fold(self, parts, recv, op):
        recv[:] = np.fmin.reduce(parts) if op == "min" else np.fmax.reduce(parts)


class TiesGoToTheHigherRank(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "extremes_keep_ties_and_first_nan"

    def _fold(self, parts, recv, op):
        super()._fold(parts, recv, op)
        for part in parts:
            tied = part == recv
            recv[tied] = part[tied]


class ComparesUnsignedAsSigned(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "reduce_folds_every_dtype"

    def _fold(self, parts, recv, op):
        signed = recv.dtype.str.replace("u", "i")
        super()._fold([part.view(signed) for part in parts], recv.view(signed), op)


class ReduceLosesTheByteAfterAChunk(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "reduce_takes_every_length"

    def _fold(self, parts, recv, op):
        size = recv.size - (CHUNK_BYTES < recv.nbytes <= CHUNK_BYTES + 8)
        super()._fold([part[:size] for part in parts], recv[:size], op)


class ReduceClearsBeforeItReads(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "reduce_works_in_place"

    def allreduce(self, send, recv, op):
        as_flat_array(recv)[:] = 0
        super().allreduce(send, recv, op)


class ReduceAccumulatesInSend(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "reduce_leaves_send_alone"

    def allreduce(self, send, recv, op):
        super().allreduce(send, recv, op)
        as_flat_array(send)[:] = as_flat_array(recv)


class ReduceRefusesNames(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "reduce_takes_ops_by_name"
    raises = Refused

    def allreduce(self, send, recv, op):
        if not isinstance(op, ReduceOp):
            raise Refused(f"{op} is no ReduceOp")
        super().allreduce(send, recv, op)


class ReduceRefusesUnaligned(FaultyCommunicator, ThreadedCommunicator):
    caught_by = "reduce_takes_any_buffer"
    raises = Refused

    def allreduce(self, send, recv, op):
        if not as_flat_array(send).flags.aligned:
            raise Refused("send is not aligned")
        super().allreduce(send, recv, op)
