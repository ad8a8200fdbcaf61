"""Checks of allgatherv."""

from __future__ import annotations

import array
from typing import Any

import numpy as np

from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.exchanges import exchange_gather, gathered, packed
from cobre.comm.testing.expectations import as_bytes, expect_bytes
from cobre.comm.testing.samples import MOVABLE_DTYPES, layouts


@check()
def gather_carries_every_dtype(comm: Member, ctx: Context) -> None:
    """allgatherv delivers the exact bytes of every dtype, structured ones included."""
    for step, dtype in enumerate(MOVABLE_DTYPES):
        exchange_gather(comm, ctx, dtype, [5 + rank % 2 for rank in range(comm.size)], step=step)


@check()
def gather_takes_every_length(comm: Member, ctx: Context) -> None:
    """allgatherv works for any length, equal on all ranks or long on one of them."""
    for step, length in enumerate(ctx.lengths(1, comm.size)):
        exchange_gather(comm, ctx, "u1", [length] * comm.size, step=step)
        uneven = [length if rank == step % comm.size else rank % 3 for rank in range(comm.size)]
        exchange_gather(comm, ctx, "u1", uneven, step=step)


@check()
def gather_takes_zero_counts(comm: Member, ctx: Context) -> None:
    """Any rank, or all of them, may contribute nothing."""
    size = comm.size
    exchange_gather(comm, ctx, "f8", [0] * size)
    for silent in range(size):
        counts = [0 if rank == silent else 3 for rank in range(size)]
        exchange_gather(comm, ctx, "f8", counts, step=silent)
        exchange_gather(comm, ctx, "i4", [4 if rank == silent else 0 for rank in range(size)], step=silent)
        # An empty part overlaps nothing, wherever it is.
        inside = [1 if rank == silent else start for rank, start in enumerate(packed(counts))]
        exchange_gather(comm, ctx, "f4", counts, inside, step=silent)


@check()
def gather_leaves_gaps_untouched(comm: Member, ctx: Context) -> None:
    """What is in recv between and around the parts keeps its value."""
    for gap in (1, 5, 4096):
        displs = [gap + rank * (3 + gap) for rank in range(comm.size)]
        exchange_gather(comm, ctx, "f8", [3] * comm.size, displs, step=gap)


@check()
def gather_obeys_displacements(comm: Member, ctx: Context) -> None:
    """Parts land where the displacements say: packed, spread, reversed or shuffled."""
    for step in range(6):
        for counts, displs in layouts(ctx.rng(step=step), comm.size):
            exchange_gather(comm, ctx, "i8", counts, displs, step)


@check(min_size=2)
def gather_places_by_own_displacements(comm: Member, ctx: Context) -> None:
    """Displacements are each rank's own: ranks may lay out recv differently."""
    size = comm.size
    for step in range(size):
        displs = [4 * ((rank + comm.rank + step) % size) for rank in range(size)]
        exchange_gather(comm, ctx, "f8", [4] * size, displs, step)


@check()
def gather_works_in_place(comm: Member, ctx: Context) -> None:
    """send may be exactly this rank's part of recv."""
    for step, length in enumerate((1, 7, 1000, 70_001)):
        counts = [length + rank for rank in range(comm.size)]
        for displs in (packed(counts), [start + 3 * (rank + 1) for rank, start in enumerate(packed(counts))]):
            recv, expected = gathered(ctx, "f8", counts, displs, step)
            send = recv[displs[comm.rank] : displs[comm.rank] + counts[comm.rank]]
            send[:] = ctx.data("f8", counts[comm.rank], comm.rank, step)
            comm.allgatherv(send, recv, counts, displs)
            expect_bytes(recv, expected, f"in-place allgatherv, counts {counts}, displs {displs}")


@check()
def gather_leaves_send_alone(comm: Member, ctx: Context) -> None:
    """allgatherv never writes to send."""
    counts = [9] * comm.size
    send, recv = ctx.data("i8", 9, comm.rank), np.zeros(9 * comm.size, np.int64)
    comm.allgatherv(send, recv, counts, packed(counts))
    expect_bytes(send, ctx.data("i8", 9, comm.rank), "send after allgatherv")


@check()
def gather_takes_any_buffer(comm: Member, ctx: Context) -> None:
    """Any contiguous buffer will do, aligned or not, of any shape; send may be read-only."""
    counts, displs = [6] * comm.size, [6 * rank for rank in range(comm.size)]
    mine = ctx.data("u1", 6, comm.rank)
    wide = ctx.data("f8", 6, comm.rank)
    frozen = wide.copy()
    frozen.flags.writeable = False
    total = 6 * comm.size
    pairs: list[tuple[Any, Any]] = [
        (mine.tobytes(), bytearray(total)),
        (bytearray(mine), memoryview(bytearray(total))),
        (mine.data, np.zeros(total, np.uint8)),
        (array.array("d", wide.tobytes()), array.array("d", bytes(8 * total))),
        (wide.reshape(2, 3), np.zeros((comm.size, 3, 2))),
        (frozen, unaligned(np.zeros(total))),
        (unaligned(wide), memoryview(bytearray(8 * total)).cast("d")),
    ]
    for send, recv in pairs:
        dtype = "f8" if as_bytes(send).size == 48 else "u1"
        expected = np.concatenate([ctx.data(dtype, 6, rank) for rank in range(comm.size)])
        comm.allgatherv(send, recv, counts, displs)
        expect_bytes(recv, expected, f"allgatherv from {type(send).__name__} to {type(recv).__name__}")


@check()
def gather_takes_any_integers(comm: Member, ctx: Context) -> None:
    """Counts and displacements may be any sequence or integer array."""
    size = comm.size
    counts, displs = [2] * size, range(1, 1 + 2 * size, 2)
    forms: list[tuple[Any, Any]] = [
        (tuple(counts), displs),
        (np.array(counts), np.array(displs)),
        (np.array(counts, np.uint8), np.array(displs, np.int32)),
        ([np.int16(2)] * size, [np.uint64(start) for start in displs]),
        (np.full(2 * size, 2)[::2], np.repeat(displs, 2)[::2]),
    ]
    for form_of_counts, form_of_displs in forms:
        recv, expected = gathered(ctx, "f8", counts, displs)
        comm.allgatherv(ctx.data("f8", 2, comm.rank), recv, form_of_counts, form_of_displs)
        expect_bytes(recv, expected, f"allgatherv with counts {form_of_counts!r}")


def unaligned(values: Any) -> Any:
    """A copy of ``values`` that starts at an odd address."""
    memory = bytearray(1 + values.nbytes)
    memory[1:] = values.tobytes()
    return np.frombuffer(memory, values.dtype, offset=1)
