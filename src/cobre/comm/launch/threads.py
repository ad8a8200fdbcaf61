"""How many threads the numerical libraries of one rank may use, so that all ranks together fit the machine."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["VARIABLES", "thread_settings", "usable_cpus"]

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def usable_cpus(root: Path = Path("/")) -> int:
    """CPUs that this process may use: its affinity, or its control group's quota if that is less."""
    allowed = len(os.sched_getaffinity(0))
    quota = cpu_quota(root)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time that the control group grants (v1 or v2), or ``None`` without a limit."""
    pairs = (
        ("sys/fs/cgroup/cpu.max", None),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/cpu.cfs_period_us"),
    )
    for quota_file, period_file in pairs:
        try:
            words = (root / quota_file).read_text(encoding="ascii").split()
            if period_file is not None:
                words += (root / period_file).read_text(encoding="ascii").split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # "max" is no number: no limit
            continue
        if quota > 0 and period > 0:
            return quota / period
    return None


def thread_settings(local_ranks: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Those of `VARIABLES` that the user has not set: this machine's CPUs shared by its ranks.

    Who sets OMP_NUM_THREADS alone means all of them: the other libraries follow it, and still do.
    """
    share = environ.get("OMP_NUM_THREADS") or str(max(1, usable_cpus() // local_ranks))
    return {name: share for name in VARIABLES if not environ.get(name)}
