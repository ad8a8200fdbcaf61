"""Checks of shared regions: their memory, their population, their views."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from cobre.comm.partition import contiguous_block
from cobre.comm.protocol import SharedRegion
from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.exchanges import exchange_broadcast, gathered, packed
from cobre.comm.testing.expectations import as_bytes, expect, expect_bytes, expect_raises
from cobre.comm.testing.ordering import PAUSE_S
from cobre.comm.testing.samples import STRUCTURED
from cobre.comm.testing.whiteboard import whiteboard
from cobre.errors import AllocationFailed

IMPOSSIBLE = ((2**62, "u1"), (2**60, "f8"), (2**62, "f8"), (2**70, "f8"))


@check()
def regions_know_their_shape(comm: Member, ctx: Context) -> None:
    """A region is a SharedRegion with the count and dtype asked for; float64 by default."""
    with comm.create_shared_region(5) as region:
        expect(isinstance(region, SharedRegion), f"{type(region).__name__} lacks a part of SharedRegion")
        expect(region.dtype == np.float64, f"dtype {region.dtype} by default")
    for dtype in (np.dtype("?"), np.dtype("i2"), np.dtype("c16"), *STRUCTURED):
        with comm.create_shared_region(7, dtype) as region:
            view = region.as_slice()
            expect((region.count, view.shape) == (7, (7,)), f"count {region.count}, shape {view.shape}")
            expect(region.dtype == view.dtype == dtype, f"{dtype} became {region.dtype}, {view.dtype}")


@check()
def regions_start_zeroed(comm: Member, ctx: Context) -> None:
    """A new region is full of zeros, also where an old one left its data."""
    for count in (1, 511, 512, 513, 40_009):
        with comm.create_shared_region(count, "f8") as region:
            expect(not as_bytes(region.as_slice()).any(), f"a new region of {count} holds something")
            region.fence()
            region.as_mut_slice()[:] = 7.0
            region.fence()


@check()
def empty_regions_are_legal(comm: Member, ctx: Context) -> None:
    """A region of 0 elements works like any other."""
    with comm.create_shared_region(0, "i4") as region:
        views = (region.as_slice(), region.as_mut_slice(), region.as_mut_block(0, 0))
        expect(all(view.size == 0 and view.dtype == "i4" for view in views), "views of an empty region")
        region.fence()


@check()
def wrong_regions_are_refused(comm: Member, ctx: Context) -> None:
    """A negative count raises ValueError; the next region works."""
    for count in (-1, -(2**63), -(10**30)):
        expect_raises(ValueError, partial(comm.create_shared_region, count), f"region of {count}")
    _populate_and_read(comm, ctx, 3)


@check()
def wrong_blocks_are_refused(comm: Member, ctx: Context) -> None:
    """A block that is not inside the region raises IndexError; one that just fits does not."""
    with comm.create_shared_region(10) as region:
        for start, count in ((-1, 1), (0, 11), (10, 1), (11, 0), (0, -1), (5, 6), (2**63, 1), (0, 10**30)):
            block = partial(region.as_mut_block, start, count)
            expect_raises(IndexError, block, f"block of {count} at {start}, of 10")
        expect(region.as_mut_block(10, 0).size == 0, "an empty block at the end")
        expect(region.as_mut_block(0, 10).size == 10, "the whole as a block")


@check()
def leader_populates_for_all(comm: Member, ctx: Context) -> None:
    """All ranks read after fence() what the leader wrote before it."""
    for step, count in enumerate((1, 127, 40_009)):
        _populate_and_read(comm, ctx, count, step)


@check()
def ranks_populate_together(comm: Member, ctx: Context) -> None:
    """All ranks of a node read after fence() what each wrote into its block before it."""
    for step, count in enumerate((1, 10, 4099)):
        for dtype in (np.dtype("f8"), STRUCTURED[1]):
            values = ctx.data(dtype, count, 0, step)
            with comm.split_local() as local, comm.create_shared_region(count, dtype) as region:
                start, share = contiguous_block(count, local.rank, local.size)
                time.sleep(PAUSE_S * ((local.rank + step) % local.size))
                mine = as_bytes(region.as_mut_block(start, share))
                mine[:] = as_bytes(values[start : start + share])
                region.fence()
                expect_bytes(region.as_slice(), values, f"region of {count} {dtype} written in blocks")


@check()
def only_leaders_get_the_whole(comm: Member, ctx: Context) -> None:
    """as_mut_slice() is the whole region on the leader, and has length 0 on a follower."""
    with comm.split_local() as local, comm.create_shared_region(6) as region:
        expect(comm.is_leader == (local.rank == 0), f"is_leader {comm.is_leader} on local rank {local.rank}")
        whole = region.as_mut_slice()
        expect(whole.size == (6 if comm.is_leader else 0), f"as_mut_slice() has {whole.size} elements")
        expect(whole.flags.writeable, "as_mut_slice() is read-only")
        expect(region.as_mut_block(1, 3).flags.writeable, "as_mut_block() is read-only")


@check()
def slices_are_read_only(comm: Member, ctx: Context) -> None:
    """as_slice() cannot be written to, on any rank."""
    with comm.create_shared_region(6) as region:
        view = region.as_slice()
        expect(not view.flags.writeable, "as_slice() is writable")
        expect_raises(ValueError, lambda: view.__setitem__(0, 1.0), "assignment to as_slice()")


@check()
def slices_see_later_writes(comm: Member, ctx: Context) -> None:
    """as_slice() is the region itself, not a copy of what it held."""
    with comm.create_shared_region(6) as region:
        view = region.as_slice()
        region.as_mut_slice()[:] = 3.0
        region.fence()
        expect_bytes(view, np.full(6, 3.0), "a view taken before the write")


@check()
def regions_do_not_share_memory(comm: Member, ctx: Context) -> None:
    """Several regions exist at the same time and keep their own data."""
    shapes: list[tuple[int, Any]] = [(5, "f8"), (0, "i4"), (1000, "u1"), (3, STRUCTURED[0]), (5, "f8")]
    regions = [comm.create_shared_region(count, dtype) for count, dtype in shapes]
    contents = [ctx.data(dtype, count, 0, step) for step, (count, dtype) in enumerate(shapes)]
    for region, values in zip(regions, contents, strict=True):
        if comm.is_leader:
            as_bytes(region.as_mut_slice())[:] = as_bytes(values)
    for region in reversed(regions):
        region.fence()
    for region, values in zip(regions, contents, strict=True):
        expect_bytes(region.as_slice(), values, "one of several regions")
        region.fence()
        region.close()


@check()
def gathers_into_regions(comm: Member, ctx: Context) -> None:
    """allgatherv may receive into a region that all ranks share; no fence is needed after."""
    for step, share in enumerate((3, 20_011)):
        counts = [share + rank for rank in range(comm.size)]
        _, expected = gathered(ctx, "f8", counts, packed(counts), step)
        with comm.create_shared_region(sum(counts)) as region:
            recv = region.as_mut_block(0, region.count)
            comm.allgatherv(ctx.data("f8", counts[comm.rank], comm.rank, step), recv, counts, packed(counts))
            expect_bytes(region.as_slice(), expected[: region.count], "region after allgatherv")
            comm.barrier()


@check()
def broadcasts_into_regions(comm: Member, ctx: Context) -> None:
    """broadcast may work on a region that all ranks share; no fence is needed after."""
    for root in range(comm.size):
        with comm.create_shared_region(5003) as region:
            values = ctx.data("f8", region.count, root)
            buf = region.as_mut_block(0, region.count)
            if comm.rank == root:
                time.sleep(PAUSE_S)
                as_bytes(buf)[:] = as_bytes(values)
            comm.broadcast(buf, root)
            expect_bytes(region.as_slice(), values, f"region after broadcast from rank {root}")
            comm.barrier()


@check()
def impossible_regions_fail_at_once(comm: Member, ctx: Context) -> None:
    """A size that cannot be had raises AllocationFailed on every rank, and the communicator stays usable."""
    for count, dtype in IMPOSSIBLE:
        create = partial(comm.create_shared_region, count, dtype)
        error = expect_raises(AllocationFailed, create, f"region of {count} {dtype}")
        wanted = count * np.dtype(dtype).itemsize
        told = error.requested_bytes if isinstance(error, AllocationFailed) else None
        expect(told == wanted, f"requested_bytes is {told}, not {wanted}")
    exchange_broadcast(comm, ctx, "f8", 3, comm.size - 1)
    _populate_and_read(comm, ctx, 3)


@check()
def heap_fences_never_wait(comm: Member, ctx: Context) -> None:
    """Where every process has its own copy, fence() returns though no other rank calls it."""
    leaders = np.zeros(comm.size, np.uint8)
    ones = [1] * comm.size
    comm.allgatherv(np.array([comm.is_leader], np.uint8), leaders, ones, range(comm.size))
    with whiteboard(comm) as board, comm.create_shared_region(4) as region:
        if leaders.all() and board:
            if comm.rank == 0:
                region.fence()
                board.write(1)
            returned = board.wait(lambda seen: seen[0] == 1, seconds=2.0)
            expect(returned, "fence() of rank 0 waits for the others")
        comm.barrier()


def _populate_and_read(comm: Member, ctx: Context, count: int, step: int = 0) -> None:
    values = ctx.data("f8", count, 0, step)
    with comm.create_shared_region(count) as region:
        if comm.is_leader:
            time.sleep(PAUSE_S)
            as_bytes(region.as_mut_slice())[:] = as_bytes(values)
        region.fence()
        expect_bytes(region.as_slice(), values, f"region of {count} written by the leader")
