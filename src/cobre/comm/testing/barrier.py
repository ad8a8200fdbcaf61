"""Checks of the order in which ranks wait for each other."""

from __future__ import annotations

import threading
import time

import numpy as np

from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.expectations import expect, expect_bytes
from cobre.comm.testing.ordering import PAUSE_S, arrival_orders
from cobre.comm.testing.whiteboard import Whiteboard, whiteboard

BARRIERS = 200
LATE_S = 0.3
STRAY_TICKS = 12


def _pass_barrier(comm: Member, board: Whiteboard | None, step: int) -> None:
    """Expect that every rank has entered barrier ``step`` when this one leaves it."""
    if board:
        board.write(step)
    comm.barrier()
    seen = board.read() if board else [step]
    expect(min(seen) >= step, f"left barrier {step} when the ranks had entered {seen}")


@check(min_size=2)
def barrier_holds_everyone_back(comm: Member, ctx: Context) -> None:
    """No rank leaves a barrier before all have entered it, in any order."""
    with whiteboard(comm) as board:
        for step, places in enumerate(arrival_orders(comm.size, ctx.rng()), 1):
            time.sleep(PAUSE_S * places[comm.rank])
            _pass_barrier(comm, board, step)


@check(min_size=2)
def barrier_holds_every_time(comm: Member, ctx: Context) -> None:
    """No rank leaves early from one of many barriers in quick succession."""
    with whiteboard(comm) as board:
        for step in range(1, BARRIERS + 1):
            _pass_barrier(comm, board, step)


@check(min_size=2)
def gather_waits_for_every_contribution(comm: Member, ctx: Context) -> None:
    """No rank returns from allgatherv before all have contributed, even if their parts are empty."""
    nothing = np.empty(0)
    with whiteboard(comm) as board:
        for late in range(comm.size):
            counts = [0 if rank == late else 1 for rank in range(comm.size)]
            for step, layout in enumerate((counts, [0] * comm.size)):
                if comm.rank == late:
                    time.sleep(4 * PAUSE_S)
                entered = 1 + 2 * late + step
                if board:
                    board.write(entered)
                send = nothing if layout[comm.rank] == 0 else np.ones(1)
                comm.allgatherv(send, np.empty(comm.size), layout, range(comm.size))
                seen = board.read() if board else [entered]
                expect(min(seen) >= entered, f"returned before rank {late} came: entered {seen}")


@check()
def writes_before_a_barrier_are_seen_after_it(comm: Member, ctx: Context) -> None:
    """What a rank wrote into a region before a barrier, its node reads after it, without a fence."""
    with comm.split_local() as local, comm.create_shared_region(local.size, np.int64) as region:
        mine, all_ranks = region.as_mut_block(local.rank, 1), region.as_slice()
        for step in range(1, 40):
            if step == 1 + comm.rank:
                time.sleep(PAUSE_S)
            mine[0] = step * (local.rank + 1)
            comm.barrier()
            expect_bytes(all_ranks, step * np.arange(1, local.size + 1), f"region after barrier {step}")
            comm.barrier()


@check(min_size=2)
def blocked_ranks_let_threads_run(comm: Member, ctx: Context) -> None:
    """While a rank waits in a barrier, its other Python threads make progress."""
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    comm.barrier()
    if comm.rank == 0:
        time.sleep(LATE_S)
        comm.barrier()
        return
    ticker = threading.Thread(target=tick, name="kit-ticker")
    ticker.start()
    try:
        start = time.monotonic()
        comm.barrier()
        end = time.monotonic()
    finally:
        done.set()
        ticker.join()
    inside = sum(start < moment < end for moment in ticks)
    # Some slip in while the call itself starts and ends, more on a busy machine; a free thread has hundreds.
    expect(
        inside > STRAY_TICKS, f"a thread ran {inside} times in the {end - start:.3f} s that the barrier took"
    )
