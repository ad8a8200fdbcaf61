"""Start the ranks of any program, show what they print, and leave nothing behind.

``cobre launch -n 4 -- program.py args…`` is the same from a shell. What to start comes from the backend's
record, so nothing here depends on a backend. Linux only.
"""

from __future__ import annotations

from cobre._lazy import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from cobre.comm.launch.blame import RankResult, first_failure
    from cobre.comm.launch.launcher import run_ranks

__all__ = ["RankResult", "first_failure", "run_ranks"]

__getattr__ = lazy_names(
    __name__,
    {
        "run_ranks": "cobre.comm.launch.launcher",
        **dict.fromkeys(("RankResult", "first_failure"), "cobre.comm.launch.blame"),
    },
)
