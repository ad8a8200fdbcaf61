"""Checks of wrong arguments: refused before any byte moves, for the reason the contract names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

import numpy as np

from cobre.comm.testing.checks import Check, Context, Member, check
from cobre.comm.testing.exchanges import exchange_broadcast, exchange_gather, exchange_reduce
from cobre.comm.testing.expectations import expect, expect_raises
from cobre.comm.testing.wrong_calls import WrongCall, wrong_roots, wrong_sizes, wrong_types, wrong_values
from cobre.errors import CobreError


def _refused(wrong_calls: Callable[[Member], Iterator[WrongCall]]) -> Callable[[Callable[[], None]], Check]:
    """Turn a name and its promise into the check that each of these calls raises what it should."""

    def wrap(promise: Callable[[], None]) -> Check:
        @check()
        @wraps(promise)
        def run(comm: Member, ctx: Context) -> None:
            for wrong in wrong_calls(comm):
                expect_raises(wrong.raises, wrong.call, wrong.fault)

        return run

    return wrap


@_refused(wrong_sizes)
def wrong_sizes_are_refused() -> None:
    """Counts, displacements and buffers that do not fit together raise InvalidBufferSize."""


@_refused(wrong_roots)
def wrong_roots_are_refused() -> None:
    """A root that is no rank raises InvalidRoot."""


@_refused(wrong_types)
def wrong_types_are_refused() -> None:
    """Buffers, dtypes and numbers of the wrong type raise TypeError."""


@_refused(wrong_values)
def wrong_ops_and_overlaps_are_refused() -> None:
    """An unknown op, or send and recv that overlap in a way of their own, raise ValueError."""


@check()
def refusals_name_a_fix(comm: Member, ctx: Context) -> None:
    """Every refusal states what to do instead."""
    for wrong in _all_wrong_calls(comm):
        error = expect_raises(wrong.raises, wrong.call, wrong.fault)
        if isinstance(error, CobreError):
            expect(error.suggestion, f"{wrong.fault}: no suggestion in {error!r}")
        else:
            expect("fix:" in str(error), f"{wrong.fault}: no 'fix:' in {error!r}")


@check()
def refusals_move_nothing(comm: Member, ctx: Context) -> None:
    """A refused call leaves the receiving buffer as it was."""
    for wrong in _all_wrong_calls(comm):
        if isinstance(wrong.target, np.ndarray):
            before = wrong.target.tobytes()
            expect_raises(wrong.raises, wrong.call, wrong.fault)
            expect(wrong.target.tobytes() == before, f"{wrong.fault}: refused, but written to")


@check()
def refusals_leave_the_communicator_usable(comm: Member, ctx: Context) -> None:
    """After a refused call, the next correct one works."""
    for step, wrong in enumerate(_all_wrong_calls(comm)):
        expect_raises(wrong.raises, wrong.call, wrong.fault)
        exchange_reduce(comm, ctx, "f8", 3, "sum", step)
    exchange_gather(comm, ctx, "f8", [2] * comm.size)
    exchange_broadcast(comm, ctx, "f8", 3, comm.size - 1)
    comm.barrier()


def _all_wrong_calls(comm: Member) -> Iterator[WrongCall]:
    yield from wrong_sizes(comm)
    yield from wrong_roots(comm)
    yield from wrong_types(comm)
    yield from wrong_values(comm)
