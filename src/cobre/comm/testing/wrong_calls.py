"""Every way to call a collective wrongly that the contract names, each call with exactly one fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cobre.comm.testing.checks import Member
from cobre.errors import InvalidBufferSize, InvalidRoot

__all__ = ["WrongCall", "wrong_roots", "wrong_sizes", "wrong_types", "wrong_values"]

ENORMOUS = (2**62, 2**63 - 1, 2**63, 2**64, 10**30)
IMMOVABLE: tuple[Any, ...] = (
    "O",
    "M8[s]",
    "m8[s]",
    "S4",
    "U4",
    [("when", "M8[s]")],
    [("x", "f8"), ("any", "O")],
)
UNFOLDABLE: tuple[Any, ...] = ("g", np.dtype("f8").newbyteorder("S"), [("a", "f8")])
COMPLEX: tuple[Any, ...] = ("c8", "c16")
UNEQUAL = (("f8", "i8"), ("f8", "f4"), ("i4", "u4"), ("?", "u1"), ("c8", "f8"), ("<f8", ">f8"))


class WrongCall(NamedTuple):
    """A call, what is wrong with it, what it must raise, and the buffer it must leave alone."""

    fault: str
    raises: type[Exception]
    call: Callable[[], object]
    target: Any


def wrong_sizes(comm: Member) -> Iterator[WrongCall]:
    """Counts, displacements and buffers that do not fit together."""
    yield from _wrong_layouts(comm)
    for send, recv in ((3, 4), (4, 3), (0, 3), (3, 0), (0, 0)):
        fault = f"from {send} to {recv} elements"
        yield _reduce(comm, fault, InvalidBufferSize, np.ones(send), _target(recv))


def wrong_roots(comm: Member) -> Iterator[WrongCall]:
    """Integers that are no rank."""
    for root in (-1, comm.size, -comm.size - 1, 2**31, *ENORMOUS, -(2**63), -(10**30)):
        yield _broadcast(comm, f"from root {root}", InvalidRoot, _target(3), root)


def wrong_types(comm: Member) -> Iterator[WrongCall]:
    """Things that are no buffer, dtypes that will not do, numbers that are no integers."""
    yield from _wrong_buffers(comm)
    yield from _wrong_dtypes(comm)
    yield from _wrong_numbers(comm)


def wrong_values(comm: Member) -> Iterator[WrongCall]:
    """Unknown operations, and memory that send and recv share in a way of their own."""
    for op in ("prod", "", "sum "):
        yield _reduce(comm, f"with op {op!r}", ValueError, np.ones(3), _target(3), op)
    shared = _target(8)
    yield _reduce(comm, "of overlapping buffers", ValueError, shared[0:4], shared[1:5])
    recv = _target(4 * comm.size + 4)
    counts, displs = [4] * comm.size, [4 * rank for rank in range(comm.size)]
    starts = {"its own part, shifted": displs[comm.rank] + 2, "the gap behind the parts": 4 * comm.size}
    if comm.size > 1:
        starts["another rank's part"] = displs[(comm.rank + 1) % comm.size]
    for place, start in starts.items():
        yield _gather(comm, f"from {place}", ValueError, recv[start : start + 4], recv, counts, displs)


def _wrong_layouts(comm: Member) -> Iterator[WrongCall]:
    """Two elements per rank, one after the other, but for one thing that does not fit."""
    size, last = comm.size, comm.size - 1
    counts, displs = [2] * size, list(range(0, 2 * size, 2))

    def layout(fault: str, send: int = 2, recv: int = 2 * size, **changed: list[int]) -> WrongCall:
        use = {"counts": counts, "displs": displs, **changed}
        arguments = (np.ones(send), _target(recv), use["counts"], use["displs"])
        return _gather(comm, f"with {fault}", InvalidBufferSize, *arguments)

    yield layout("one count too many", counts=[*counts, 0])
    yield layout("one count too few", counts=counts[:-1])
    yield layout("one displacement too many", displs=[*displs, 0])
    yield layout("one displacement too few", displs=displs[:-1])
    yield layout("a negative count", counts=_replaced(counts, last, -1))
    yield layout("a negative displacement", displs=_replaced(displs, last, -1))
    yield layout("recv one too small", recv=2 * size - 1)
    yield layout("an empty recv", recv=0)
    yield layout("send one too short", send=1)
    yield layout("send one too long", send=3)
    yield layout("an empty send", send=0)
    for number in ENORMOUS:
        yield layout(f"a count of {number}", counts=_replaced(counts, last, number))
        yield layout(f"a count of {-number}", counts=_replaced(counts, comm.rank, -number))
        yield layout(f"a displacement of {number}", displs=_replaced(displs, last, number))
        yield layout(f"a displacement of {-number}", displs=_replaced(displs, 0, -number))
    if size > 1:
        yield layout("parts on top of each other", displs=[0] * size)
        yield layout("parts that overlap by one", displs=_replaced(displs, last, displs[last] - 1))


def _wrong_buffers(comm: Member) -> Iterator[WrongCall]:
    grid = np.full((4, 6), 7.0)
    scattered = {"strided": grid[0, ::2], "reversed": grid[0, 2::-1], "a column": grid[:3, 0]}
    for name, bad in {**scattered, "a list": [1.0, 2.0, 3.0], "a float": 3.0, "None": None}.items():
        yield from _pair(comm, f"send is {name}", bad, _target(3))
        yield from _pair(comm, f"recv is {name}", np.ones(3), bad)
        yield _broadcast(comm, f"of {name}", TypeError, bad, 0)
    frozen = _target(3)
    frozen.flags.writeable = False
    yield from _pair(comm, "recv is in Fortran order", np.ones(6), np.full((2, 3), 7.0, order="F"))
    yield from _pair(comm, "recv is read-only", np.ones(3), frozen)
    yield from _pair(comm, "recv is bytes", np.ones(3, np.uint8), b"abc")
    if comm.size > 1:
        other = (comm.rank + 1) % comm.size
        yield _broadcast(comm, "into a read-only buffer", TypeError, frozen, other)


def _wrong_dtypes(comm: Member) -> Iterator[WrongCall]:
    for kind in IMMOVABLE:
        yield from _pair(comm, f"dtype is {kind}", np.zeros(3, kind), np.zeros(3, kind))
        yield _broadcast(comm, f"of dtype {kind}", TypeError, np.zeros(3, kind), 0)
    for left, right in UNEQUAL:
        yield from _pair(comm, f"{left} meets {right}", np.ones(3, left), np.ones(3, right))
    for kind in UNFOLDABLE:
        yield _reduce(comm, f"of {kind}", TypeError, np.zeros(3, kind), np.zeros(3, kind))
    for kind in COMPLEX:
        for op in ("min", "max"):
            yield _reduce(comm, f"{op} of {kind}", TypeError, np.zeros(3, kind), np.ones(3, kind), op)


def _wrong_numbers(comm: Member) -> Iterator[WrongCall]:
    size = comm.size
    plain: list[Any] = [[1.0] * size, ["1"] * size, [None] * size, 1, None]
    arrays: list[Any] = [np.ones(size), np.ones(size, np.bool_), np.ones(size, "m8[s]")]
    for bad in plain + arrays:
        yield _gather(comm, f"with counts {bad!r}", TypeError, np.ones(1), _target(size), bad, range(size))
        yield _gather(comm, f"with displs {bad!r}", TypeError, np.ones(1), _target(size), [1] * size, bad)
    for root in (0.0, np.float64(0), "0", None, np.bool_(False), [0]):
        yield _broadcast(comm, f"from root {root!r}", TypeError, _target(3), root)


def _gather(comm: Member, fault: str, raises: type[Exception], *arguments: Any) -> WrongCall:
    return WrongCall(f"allgatherv {fault}", raises, partial(comm.allgatherv, *arguments), arguments[1])


def _reduce(
    comm: Member, fault: str, raises: type[Exception], send: Any, recv: Any, op: str = "sum"
) -> WrongCall:
    return WrongCall(f"allreduce {fault}", raises, partial(comm.allreduce, send, recv, op), recv)


def _broadcast(comm: Member, fault: str, raises: type[Exception], buf: Any, root: Any) -> WrongCall:
    return WrongCall(f"broadcast {fault}", raises, partial(comm.broadcast, buf, root), buf)


def _pair(comm: Member, fault: str, send: Any, recv: Any) -> Iterator[WrongCall]:
    """A pair of buffers with a type error, for allgatherv and for allreduce."""
    count = send.size if isinstance(send, np.ndarray) else 3
    counts = [count if rank == comm.rank else 0 for rank in range(comm.size)]
    yield _gather(comm, f"where {fault}", TypeError, send, recv, counts, [0] * comm.size)
    yield _reduce(comm, f"where {fault}", TypeError, send, recv)


def _target(count: int) -> Any:
    return np.full(count, 7.0)


def _replaced(numbers: list[int], where: int, number: int) -> list[int]:
    return [number if index == where else each for index, each in enumerate(numbers)]
