"""How many threads of a rank solve linear programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._machine import cpu_quota
from cobre.comm import GroupMember
from cobre.errors import CobreError

AUTO = "auto"
VARIABLE = "COBRE_THREADS"
MOST = 1024
CPUS = 4096
"""No machine has more processors."""

Threads = int | str | None
"""A number, "auto" for what is free, or None for what the environment says."""
Mask = NDArray[np.uint8]


def wanted_threads(threads: Threads, environ: Mapping[str, str] | None = None) -> int | str:
    """A number of threads or "auto"; raises where ``threads``, or the variable that it leaves it to, is neither."""
    source, value = "threads", threads
    if threads is None:
        source, value = VARIABLE, (os.environ if environ is None else environ).get(VARIABLE) or 1
        if isinstance(value, str) and value.isascii() and value.isdecimal():
            value = int(value)
    if value == AUTO:
        return AUTO
    if isinstance(value, Integral) and not isinstance(value, bool) and 1 <= int(value) <= MOST:
        return int(value)
    raise CobreError(
        f"{source} is {value!r}, which is no number of threads",
        kind="IncompatibleSettings",
        context={"threads": _plain(value), "variable": VARIABLE},
        suggestion=f"give 1 to {MOST}, or auto for the processors that are free",
    )


def threads_of_rank(comm: GroupMember, wanted: int | str) -> int:
    """Collective: how many threads this rank has; "auto" shares the processors of a machine among its ranks."""
    if not isinstance(wanted, str):
        return wanted
    with comm.split_local() as local:
        mine = np.zeros(CPUS, dtype=np.uint8)
        mine[[cpu for cpu in os.sched_getaffinity(0) if cpu < CPUS]] = 1
        everyone = np.empty((local.size, CPUS), dtype=np.uint8)
        starts = [CPUS * rank for rank in range(local.size)]
        local.allgatherv(mine, everyone.reshape(-1), [CPUS] * local.size, starts)
        return share_of_rank(everyone, local.rank, cpu_quota())


def share_of_rank(masks: Sequence[Mask] | Mask, rank: int, quota: float | None) -> int:
    """Threads for one of the ranks whose processors ``masks [rank, processor]`` tells; at least 1.

    A processor counts for as many ranks as may use it: ranks that a launcher has bound to processors of their own
    keep these, and others share. A ``quota`` of processors' time is for all of them together.
    """
    users = np.asarray(masks).sum(axis=0, dtype=np.int64)
    share = sum((1.0 / n for n in users[np.asarray(masks[rank]) > 0].tolist()), 0.0)
    if quota is not None:
        share = min(share, quota / len(masks))
    return max(1, int(share + 1e-9))


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else repr(value)
