"""A random, repeatable sequence of collectives, as a long computation would call them."""

from __future__ import annotations

import hashlib

from cobre.comm.protocol import Communicator
from cobre.comm.testing.checks import Context, Member, as_member, check
from cobre.comm.testing.exchanges import exchange_broadcast, exchange_gather, exchange_reduce
from cobre.comm.testing.samples import EXTREME_DTYPES, MOVABLE_DTYPES, REDUCIBLE_DTYPES, layouts

__all__ = ["digest", "mixed_sequences_agree"]

STEPS = 80


@check()
def mixed_sequences_agree(comm: Member, ctx: Context) -> None:
    """A random sequence of mixed collectives delivers exact bytes at every step."""
    for step in range(STEPS):
        _random_collective(comm, ctx, step)


def digest(comm: Communicator, seed: int = 0) -> str:
    """SHA-256 of everything a fixed sequence of collectives delivers: equal on every rank and backend.

    It depends on ``seed`` and on the number of ranks, on nothing else.
    """
    member, ctx, received = as_member(comm), Context("digest", seed), hashlib.sha256()
    size = member.size
    for step, dtype in enumerate(MOVABLE_DTYPES):
        for counts, displs in layouts(ctx.rng(step=step), size):
            received.update(exchange_gather(member, ctx, dtype, counts, displs, step).tobytes())
        received.update(exchange_broadcast(member, ctx, dtype, 1009, step % size, step).tobytes())
    for op in ("sum", "min", "max"):
        for step, dtype in enumerate(REDUCIBLE_DTYPES if op == "sum" else EXTREME_DTYPES):
            for length in (1, 127, 40_009):
                received.update(exchange_reduce(member, ctx, dtype, length, op, step).tobytes())
    return received.hexdigest()


def _random_collective(comm: Member, ctx: Context, step: int) -> None:
    # Drawn from a generator of its own, equal on all ranks, so that all make the same call.
    rng = ctx.rng(comm.size + 1, step)
    length = int(rng.choice([1, 2, 3, 31, 64, 509, 4096, 20_011]))
    match int(rng.integers(6)):
        case 0:
            counts, displs = layouts(rng, comm.size)[int(rng.integers(4))]
            dtype = MOVABLE_DTYPES[rng.integers(len(MOVABLE_DTYPES))]
            exchange_gather(comm, ctx, dtype, counts, displs, step)
        case 1:
            exchange_gather(comm, ctx, "f8", [length + rank for rank in range(comm.size)], step=step)
        case 2:
            dtype = REDUCIBLE_DTYPES[rng.integers(len(REDUCIBLE_DTYPES))]
            exchange_reduce(comm, ctx, dtype, length, "sum", step)
        case 3:
            dtype = EXTREME_DTYPES[rng.integers(len(EXTREME_DTYPES))]
            exchange_reduce(comm, ctx, dtype, length, str(rng.choice(["min", "max"])), step)
        case 4:
            dtype = MOVABLE_DTYPES[rng.integers(len(MOVABLE_DTYPES))]
            exchange_broadcast(comm, ctx, dtype, length, int(rng.integers(comm.size)), step)
        case _:
            comm.barrier()
