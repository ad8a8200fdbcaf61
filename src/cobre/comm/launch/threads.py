"""How many threads the numerical libraries of one rank may use, so that all ranks together fit the machine."""

from __future__ import annotations

from collections.abc import Mapping

from cobre._machine import usable_cpus

__all__ = ["VARIABLES", "thread_settings"]

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def thread_settings(local_ranks: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Those of `VARIABLES` that the user has not set: this machine's CPUs shared by its ranks.

    Who sets OMP_NUM_THREADS alone means all of them: the other libraries follow it, and still do.
    """
    share = environ.get("OMP_NUM_THREADS") or str(max(1, usable_cpus() // local_ranks))
    return {name: share for name in VARIABLES if not environ.get(name)}
