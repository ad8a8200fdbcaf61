"""What a check is: one promise, one plain function that every rank calls, nothing else needed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cobre.comm.protocol import Communicator
from cobre.comm.protocol import GroupMember as Member
from cobre.comm.testing import samples

__all__ = ["Check", "Context", "Member", "as_member", "check", "checks_of", "closing_check"]

HUGE_BYTES = 2**32 + 10_007


def as_member(comm: Communicator) -> Member:
    """``comm`` under its full type; whether it keeps the contract is what the checks find out."""
    return cast(Member, comm)


@dataclass(frozen=True, slots=True)
class Context:
    """What a check needs besides the communicator. Equal on all ranks, so that each can compute the data of all.

    ``limits`` are the internal sizes of the backend in bytes; lengths around each are tried, unless all
    ranks together would hold more than ``max_bytes``.
    """

    name: str
    seed: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    max_bytes: int = 8 * 2**20
    huge_bytes: int = HUGE_BYTES

    def rng(self, rank: int = 0, step: int = 0) -> np.random.Generator:
        """A generator that depends on the seed, the check, ``rank`` and ``step`` alone."""
        return np.random.default_rng([self.seed, crc32(self.name.encode()), rank, step])

    def data(self, dtype: Any, count: int, rank: int, step: int = 0) -> NDArray[Any]:
        """``count`` elements of any bits, for moving around."""
        return samples.any_bits(self.rng(rank, step), np.dtype(dtype), count)

    def values(self, dtype: Any, count: int, rank: int, step: int = 0) -> NDArray[Any]:
        """``count`` numbers for folding: floats cancel and lose bits, integers wrap."""
        return samples.numbers(self.rng(rank, step), np.dtype(dtype), count)

    def lengths(self, itemsize: int, size: int, smallest: int = 0) -> list[int]:
        """Element counts worth trying on ``size`` ranks."""
        return samples.lengths(self.limits, itemsize, self.max_bytes // size, smallest)


Body = Callable[[Member, Context], None]
Phases = Callable[[Member, Context], Iterator[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise and the function that checks it in every rank of a communicator.

    A check with ``phases`` closes the communicator: its generator runs up to the ``yield`` while the
    communicator is open and goes on when it is closed. ``run`` does both; a batch interleaves several.
    """

    name: str
    promise: str
    run: Body
    phases: Phases | None = None
    min_size: int = 1
    max_size: int | None = None
    huge: bool = False

    @property
    def closes(self) -> bool:
        """Whether the communicator is closed afterwards."""
        return self.phases is not None

    def applies_to(self, size: int) -> bool:
        """Whether there is anything to check with ``size`` ranks."""
        return self.min_size <= size and (self.max_size is None or size <= self.max_size)


def check(*, min_size: int = 1, max_size: int | None = None, huge: bool = False) -> Callable[[Body], Check]:
    """Turn a function into a `Check` that leaves the communicator usable."""

    def wrap(body: Body) -> Check:
        return Check(_name(body), _promise(body), body, min_size=min_size, max_size=max_size, huge=huge)

    return wrap


def closing_check(phases: Phases) -> Check:
    """Turn a generator function into a `Check` that closes the communicator at its ``yield``."""

    @functools.wraps(phases)
    def run(comm: Member, ctx: Context) -> None:
        steps = phases(comm, ctx)
        next(steps)
        comm.close()
        next(steps, None)

    return Check(_name(phases), _promise(phases), run, phases)


def checks_of(*modules: ModuleType) -> tuple[Check, ...]:
    """The checks that these modules define, in the order in which they are written there."""
    return tuple(item for module in modules for item in vars(module).values() if isinstance(item, Check))


def _name(body: Callable[..., object]) -> str:
    return body.__name__


def _promise(body: Callable[..., object]) -> str:
    return (body.__doc__ or "").partition("\n")[0]
