"""Checks of threads, forks, splits, and what remains after closing."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from cobre.arrays import Floats
from cobre.comm.testing.checks import Context, Member, check, closing_check
from cobre.comm.testing.exchanges import exchange_gather, exchange_reduce
from cobre.comm.testing.expectations import as_bytes, expect, expect_bytes, expect_raises
from cobre.comm.testing.ordering import PAUSE_S
from cobre.comm.testing.whiteboard import whiteboard
from cobre.errors import InvalidCommunicator

THREADS, TURNS = 3, 8
CHILD_S = 10.0
CLOSE_S = 3.0


@check()
def threads_take_turns(comm: Member, ctx: Context) -> None:
    """Calls from several threads are serialised: each gets its own data and whole contributions of others."""
    _in_threads(lambda thread: _gather_marked(comm, thread))
    _in_threads(lambda thread: _reduce_marked(comm, thread))


@check()
def forked_children_are_refused(comm: Member, ctx: Context) -> None:
    """In a forked child every call raises InvalidCommunicator; the parent goes on undisturbed."""
    names = list(_process_bound_calls(comm))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is the point
        child = os.fork()
    if child == 0:
        os._exit(_first_accepted(comm))
    code = _wait(child)
    expect(code >= 0, f"the forked child hung or died ({code})")
    expect(code == 0, f"the forked child's {names[code - 1]} did not raise InvalidCommunicator")
    exchange_gather(comm, ctx, "f8", [3] * comm.size)


@check()
def split_groups_the_node(comm: Member, ctx: Context) -> None:
    """split_local() is a working communicator whose rank 0 is the leader."""
    with comm.split_local() as local:
        expect(0 <= local.rank < local.size <= comm.size, f"local rank {local.rank} of {local.size}")
        expect(comm.is_leader == (local.rank == 0), f"is_leader {comm.is_leader} on local rank {local.rank}")
        seen = np.full(local.size, -1, np.int64)
        local.allgatherv(np.array([local.rank]), seen, [1] * local.size, range(local.size))
        expect(seen.tolist() == list(range(local.size)), f"the local ranks call themselves {seen.tolist()}")


@check()
def closing_a_split_leaves_the_parent_open(comm: Member, ctx: Context) -> None:
    """Closing what split_local() returned ends neither the parent nor another split."""
    first, second = comm.split_local(), comm.split_local()
    first.close()
    second.barrier()
    second.close()
    exchange_reduce(comm, ctx, "f8", 5, "sum")


@check(min_size=2)
def closing_waits_for_nobody(comm: Member, ctx: Context) -> None:
    """close() returns though no other rank of the group closes.

    Seen on a split, where ranks of one node form one: the communicator itself must stay open for other checks.
    """
    with whiteboard(comm) as board, comm.split_local() as local:
        if board and comm.is_leader:
            local.close()
            board.write(1)
        elif board:
            closed = board.wait(lambda seen: any(seen), seconds=CLOSE_S)
            expect(closed, "close() of the leader waits for the others")
        comm.barrier()


@check()
def with_blocks_close(comm: Member, ctx: Context) -> None:
    """Leaving a with block closes the communicator or region that entered it."""
    local = comm.split_local()
    with local as entered:
        expect(entered is local, "__enter__ of a communicator returns something else")
    expect_raises(InvalidCommunicator, local.barrier, "barrier after the with block")
    region = comm.create_shared_region(3)
    with region as inside:
        expect(inside is region, "__enter__ of a region returns something else")
    expect_raises(InvalidCommunicator, region.as_slice, "as_slice() after the with block")


@check()
def closed_regions_refuse(comm: Member, ctx: Context) -> None:
    """A closed region gives no new views and no fences; closing it again is harmless."""
    region = comm.create_shared_region(3)
    region.close()
    region.close()
    for name, call in {
        "as_slice": region.as_slice,
        "as_mut_slice": region.as_mut_slice,
        "as_mut_block": lambda: region.as_mut_block(0, 1),
        "fence": region.fence,
    }.items():
        expect_raises(InvalidCommunicator, call, f"{name} of a closed region")


@check()
def views_outlive_their_region(comm: Member, ctx: Context) -> None:
    """Views stay valid after close() and after the region object is gone."""
    view, block, values = _views(comm, ctx, count=5000)
    gc.collect()
    with comm.create_shared_region(5000) as other:
        expect(not as_bytes(other.as_slice()).any(), "a new region holds what an old view still shows")
        other.fence()
        other.as_mut_slice()[:] = -1.0
        other.fence()
        expect_bytes(view, values, "a view whose region was closed")
    block[:] = block.copy()


@closing_check
def views_outlive_the_communicator(comm: Member, ctx: Context) -> Iterator[None]:
    """Views stay valid after the communicator is closed."""
    view, block, values = _views(comm, ctx, count=3000)
    yield
    gc.collect()
    expect_bytes(view, values, "a view whose communicator was closed")
    block[:] = block.copy()


@closing_check
def closing_twice_is_harmless(comm: Member, ctx: Context) -> Iterator[None]:
    """close() may be called any number of times."""
    yield
    comm.close()
    comm.close()


@closing_check
def closed_communicators_refuse(comm: Member, ctx: Context) -> Iterator[None]:
    """After close() every collective raises InvalidCommunicator."""
    yield
    for name, call in collective_calls(comm).items():
        expect_raises(InvalidCommunicator, call, f"{name} after close()")


@closing_check
def closed_communicators_still_answer(comm: Member, ctx: Context) -> Iterator[None]:
    """rank, size, backend and stats() answer after close() what they answered before."""
    comm.barrier()
    before, barriers = (comm.rank, comm.size, comm.backend), comm.stats()["barrier"]["calls"]
    yield
    after = (comm.rank, comm.size, comm.backend)
    expect(after == before, f"{after} after close(), {before} before")
    expect(comm.stats()["barrier"]["calls"] >= barriers >= 1, "stats() forgot its counts")


@closing_check
def leaving_early_harms_nobody(comm: Member, ctx: Context) -> Iterator[None]:
    """A rank that contributed all that a collective needs may close at once; the others still finish it.

    The last of the checks, so that nothing but the end follows its last collective.
    """
    for step in range(comm.size):
        exchange_gather(comm, ctx, "f8", [1 + rank for rank in range(comm.size)], step=step)
    buf = ctx.data("f8", 2003, comm.rank)
    time.sleep(2 * PAUSE_S * comm.rank)
    comm.broadcast(buf, 0)
    yield
    expect_bytes(buf, ctx.data("f8", 2003, 0), "a broadcast whose root has left")


def collective_calls(comm: Member) -> dict[str, Callable[[], object]]:
    """A correct call of everything that needs an open communicator."""
    size = comm.size
    one, many = np.ones(1), np.ones(size)
    return {
        "allgatherv": lambda: comm.allgatherv(one, many, [1] * size, range(size)),
        "allreduce": lambda: comm.allreduce(one, one, "sum"),
        "broadcast": lambda: comm.broadcast(one, 0),
        "barrier": comm.barrier,
        "create_shared_region": lambda: comm.create_shared_region(1),
        "split_local": comm.split_local,
    }


def _process_bound_calls(comm: Member) -> dict[str, Callable[[], object]]:
    """What only the process that opened the communicator may call: stats() may need a lock that no thread frees."""
    return {**collective_calls(comm), "stats": comm.stats}


def _views(comm: Member, ctx: Context, count: int) -> tuple[Floats, ...]:
    """A read-only view and a writable block of a closed region, and the values it holds."""
    values = ctx.values("f8", count, 0)
    region = comm.create_shared_region(count)
    if comm.is_leader:
        region.as_mut_slice()[:] = values
    region.fence()
    view, block = region.as_slice(), region.as_mut_block(0, count)
    region.close()
    return view, block, values


def _in_threads(work: Callable[[int], None]) -> None:
    """``work(0), work(1), …`` at the same time; the first thing that any of them raised."""
    errors: list[BaseException] = []

    def guarded(thread: int) -> None:
        try:
            for _ in range(TURNS):
                work(thread)
        except BaseException as error:  # raised again below, in the thread that can report it
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,), name=f"kit-caller-{k}") for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _gather_marked(comm: Member, thread: int) -> None:
    """Calls pair up in any order, so a part tells its rank but not which thread of it called."""
    width = 257
    send = np.full(width, 100 * comm.rank + thread)
    recv = np.full((comm.size, width), -1)
    comm.allgatherv(send, recv, [width] * comm.size, range(0, width * comm.size, width))
    expect_bytes(recv[comm.rank], send, f"own part of a call from thread {thread}")
    for rank, part in enumerate(recv):
        whole = part.min() == part.max() and 0 <= part[0] - 100 * rank < THREADS
        expect(whole, f"part of rank {rank} mixes calls: {np.unique(part).tolist()}")


def _reduce_marked(comm: Member, thread: int) -> None:
    send = np.full(257, thread)
    send[1] = 1
    recv = np.full(257, -1)
    comm.allreduce(send, recv, "sum")
    rest = np.delete(recv, 1)
    expect(recv[1] == comm.size, f"{recv[1]} calls folded instead of {comm.size}")
    others = rest[0] - thread
    whole = rest.min() == rest.max() and 0 <= others <= (THREADS - 1) * (comm.size - 1)
    expect(whole, f"a call of thread {thread} mixes with others: {np.unique(rest).tolist()}")


def _first_accepted(comm: Member) -> int:
    """0 if the communicator refuses everything, else the number of the first call that it does not."""
    try:
        for number, call in enumerate(_process_bound_calls(comm).values(), 1):
            try:
                call()
            except InvalidCommunicator:
                continue
            return number
    except BaseException:
        return number
    return 0


def _wait(child: int) -> int:
    """Exit code of ``child``; negative if it had to be killed or was."""
    end = time.monotonic() + CHILD_S
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL
