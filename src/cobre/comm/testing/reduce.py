"""Checks of allreduce, down to the last bit."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.comm.protocol import ReduceOp
from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.exchanges import exchange_reduce
from cobre.comm.testing.expectations import expect_bytes
from cobre.comm.testing.folding import fold
from cobre.comm.testing.gather import unaligned
from cobre.comm.testing.samples import EXTREME_DTYPES, FLOATS, INTEGERS, REDUCIBLE_DTYPES


@check()
def sum_folds_in_rank_order(comm: Member, ctx: Context) -> None:
    """SUM adds rank 0, 1, 2, … in this order, whatever cancels on the way."""
    for step, dtype in enumerate(("f8", "f4", "c16", "c8")):
        exchange_reduce(comm, ctx, dtype, 257, "sum", step)


@check()
def sum_rounds_at_every_step(comm: Member, ctx: Context) -> None:
    """SUM of short floats rounds to their width after each addition, never once at the end."""
    for step, dtype in enumerate(("f2", "f4")):
        exchange_reduce(comm, ctx, dtype, 1009, "sum", step)


@check()
def sum_wraps_integers_and_ors_bools(comm: Member, ctx: Context) -> None:
    """SUM wraps around for integers and is "or" for bool."""
    for step, dtype in enumerate((np.dtype("?"), *INTEGERS)):
        exchange_reduce(comm, ctx, dtype, 131, "sum", step)


@check()
def sum_keeps_nan_and_signed_zero(comm: Member, ctx: Context) -> None:
    """SUM passes the first NaN on with its bits, and -0 + -0 stays -0."""
    for step, dtype in enumerate((*FLOATS, np.dtype("c8"), np.dtype("c16"))):
        _fold_specials(comm, ctx, dtype, "sum", step)


@check()
def extremes_keep_ties_and_first_nan(comm: Member, ctx: Context) -> None:
    """MIN and MAX keep the lower rank's operand on a tie (-0 equals +0), and the first NaN sticks."""
    for step, dtype in enumerate(FLOATS):
        for op in ("min", "max"):
            _fold_specials(comm, ctx, dtype, op, step)


@check()
def reduce_folds_every_dtype(comm: Member, ctx: Context) -> None:
    """Every reducible dtype folds with every operation that it has."""
    for step, dtype in enumerate(REDUCIBLE_DTYPES):
        exchange_reduce(comm, ctx, dtype, 13, "sum", step)
    for step, dtype in enumerate(EXTREME_DTYPES):
        exchange_reduce(comm, ctx, dtype, 13, "min", step)
        exchange_reduce(comm, ctx, dtype, 13, "max", step)


@check()
def reduce_takes_every_length(comm: Member, ctx: Context) -> None:
    """allreduce works for any length from 1 on."""
    for dtype, op in (("f8", "sum"), ("u1", "max"), ("c16", "sum")):
        for step, length in enumerate(ctx.lengths(np.dtype(dtype).itemsize, comm.size, smallest=1)):
            exchange_reduce(comm, ctx, dtype, length, op, step)


@check()
def reduce_works_in_place(comm: Member, ctx: Context) -> None:
    """send may be exactly recv."""
    for step, length in enumerate((1, 7, 1000, 70_001)):
        parts = [ctx.values("f8", length, rank, step) for rank in range(comm.size)]
        buf = parts[comm.rank].copy()
        comm.allreduce(buf, buf, "sum")
        expect_bytes(buf, fold(parts, "sum"), f"in-place allreduce of {length} float64")


@check()
def reduce_leaves_send_alone(comm: Member, ctx: Context) -> None:
    """allreduce never writes to send."""
    for step, length in enumerate((3, 10_007)):
        send, recv = ctx.values("i8", length, comm.rank, step), np.zeros(length, np.int64)
        comm.allreduce(send, recv, "sum")
        expect_bytes(send, ctx.values("i8", length, comm.rank, step), "send after allreduce")


@check()
def reduce_takes_ops_by_name(comm: Member, ctx: Context) -> None:
    """An operation may be a ReduceOp or its plain string."""
    for op in (*ReduceOp, "sum", "min", "max"):
        exchange_reduce(comm, ctx, "i4", 11, op)


@check()
def reduce_takes_any_buffer(comm: Member, ctx: Context) -> None:
    """Any contiguous buffer will do, aligned or not, of any shape; send may be read-only."""
    parts = [ctx.values("f8", 6, rank) for rank in range(comm.size)]
    mine, expected = parts[comm.rank], fold(parts, "sum")
    frozen = mine.copy()
    frozen.flags.writeable = False
    pairs: list[tuple[Any, Any]] = [
        (array.array("d", mine.tobytes()), array.array("d", bytes(48))),
        (mine.data, memoryview(bytearray(48)).cast("d")),
        (mine.reshape(3, 2), np.zeros((2, 3))),
        (frozen, unaligned(np.zeros(6))),
        (unaligned(mine), np.zeros(6)),
    ]
    for send, recv in pairs:
        comm.allreduce(send, recv, "sum")
        expect_bytes(recv, expected, f"allreduce from {type(send).__name__} to {type(recv).__name__}")
    total = bytearray(6)
    comm.allreduce(ctx.data("u1", 6, comm.rank).tobytes(), total, "min")
    smallest = fold([ctx.data("u1", 6, rank) for rank in range(comm.size)], "min")
    expect_bytes(total, smallest, "allreduce from bytes to bytearray")


def _fold_specials(comm: Member, ctx: Context, dtype: np.dtype[Any], op: str, step: int) -> None:
    parts = [_specials(ctx, dtype, rank, step) for rank in range(comm.size)]
    recv = ctx.data(dtype, parts[0].size, comm.size, step)
    comm.allreduce(parts[comm.rank], recv, op)
    expect_bytes(recv, fold(parts, op), f"allreduce {op} of NaN, zeros and infinities in {dtype}")


def _specials(ctx: Context, dtype: np.dtype[Any], rank: int, step: int) -> NDArray[Any]:
    """Zeros of both signs, ones, infinities, and quiet NaNs whose sign and payload identify the rank."""
    width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    real, bits = np.dtype(f"f{width}"), np.dtype(f"u{width}")
    nans = np.full(2, np.nan, real).view(bits) + bits.type(1 + rank)
    nans[1] |= bits.type(1) << bits.type(8 * width - 1)
    choices = np.concatenate([np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf], real), nans.view(real)])
    rng = ctx.rng(rank, step)
    plain = rng.choice(choices[:6], 200)
    mixed = rng.choice(choices, 200)
    zeros = rng.choice(choices[:2], 100)
    lonely = np.where(rng.random(100) < 1 / 4, choices[6:7], 2.0).astype(real)
    return np.concatenate([plain, mixed, zeros, lonely]).view(dtype)
