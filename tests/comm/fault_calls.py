"""Every collective, as a rank of any backend writes it: with ``comm``, ``size``, ``victim`` and a ``region``."""

import os
from collections.abc import Iterable

CALLS = {
    "barrier": "comm.barrier()",
    "allgatherv": "comm.allgatherv(np.ones(3), np.empty(3 * size), [3] * size, range(0, 3 * size, 3))",
    "allgatherv of 8 MB": "comm.allgatherv(np.ones(10**6), np.empty(size * 10**6), [10**6] * size, "
    "range(0, size * 10**6, 10**6))",
    "allreduce": "comm.allreduce(np.ones(4), np.empty(4), 'sum')",
    "allreduce of 8 MB": "comm.allreduce(np.ones(10**6), np.empty(10**6), 'sum')",
    "broadcast": "comm.broadcast(np.ones(4), 0)",
    "broadcast of 8 MB": "comm.broadcast(np.ones(10**6), victim)",
    "create_shared_region": "comm.create_shared_region(1000)",
    "fence": "region.fence()",
    "split_local": "comm.split_local()",
}


def meetings(calls: Iterable[str], fates: Iterable[str]) -> list[tuple[str, str]]:
    """Which call meets which fate: with COBRE_TEST_SOAK every pair, else two fates for each call, all in turn."""
    fates, per_call = list(fates), len(list(fates)) if "COBRE_TEST_SOAK" in os.environ else 2
    return [
        (call, fates[(2 * place + turn) % len(fates)])
        for place, call in enumerate(calls)
        for turn in range(per_call)
    ]
