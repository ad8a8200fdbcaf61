"""What a call costs when there is nothing to move: the price of checks and of crossing into the core."""

from __future__ import annotations

import timeit

import numpy as np
from record import publish

from cobre.comm import LocalCommunicator, ReduceOp

CALLS = {
    "rank": "comm.rank",
    "size": "comm.size",
    "barrier": "comm.barrier()",
    "broadcast 32 B": "comm.broadcast(a, 0)",
    "broadcast 32 B, keywords": "comm.broadcast(buf=a, root=0)",
    "allreduce 32 B": "comm.allreduce(a, b, SUM)",
    "allgatherv 32 B": "comm.allgatherv(a, b, counts, displs)",
    "allgatherv 32 B, bytearray": "comm.allgatherv(raw, target, [32], displs)",
}
NUMBER, REPEAT = 100_000, 7


def main() -> None:
    """Best of several repeats: noise only ever adds."""
    names = {
        "comm": LocalCommunicator(),
        "a": np.ones(4),
        "b": np.empty(4),
        "counts": [4],
        "displs": [0],
        "raw": bytearray(32),
        "target": bytearray(32),
        "SUM": ReduceOp.SUM,
    }
    figures = {"an empty Python call": _nanoseconds("f()", {"f": lambda: None})}
    figures |= {f"local: {name}": _nanoseconds(call, names) for name, call in CALLS.items()}
    publish("call_overhead", "ns per call", figures)


def _nanoseconds(statement: str, names: dict[str, object]) -> float:
    return min(timeit.repeat(statement, globals=names, number=NUMBER, repeat=REPEAT)) / NUMBER * 1e9


if __name__ == "__main__":
    main()
