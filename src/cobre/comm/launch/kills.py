"""Why a signal may have ended a rank, and what to do about it."""

from __future__ import annotations

import signal
from typing import NamedTuple

from cobre.comm.memory import MemoryKills, memory_kills

__all__ = ["Explanation", "SignalWatch", "signal_name"]

FEWER = "start fewer ranks"


class Explanation(NamedTuple):
    """The likely reason, and what to do."""

    reason: str
    remedy: str


CRASHES = {
    signal.SIGSEGV: Explanation(
        "compiled code touched memory that is not its own", "run again with PYTHONFAULTHANDLER=1 to see where"
    ),
    signal.SIGABRT: Explanation(
        "a library gave up", "see what it printed; PYTHONFAULTHANDLER=1 shows where it was called"
    ),
    signal.SIGBUS: Explanation(
        "memory or a mapped file could not be had when it was used",
        "see whether /dev/shm or the disk is full: cobre doctor",
    ),
    signal.SIGILL: Explanation(
        "compiled code is not made for this processor", "install packages that are built for this machine"
    ),
}


def signal_name(exit_code: int) -> str:
    """A negative exit code as people write it.

    >>> signal_name(-9)
    'signal 9 (SIGKILL)'
    """
    try:
        return f"signal {-exit_code} ({signal.Signals(-exit_code).name})"
    except ValueError:  # a real-time signal has no name
        return f"signal {-exit_code}"


class SignalWatch:
    """Knows how many processes the kernel had killed for lack of memory when the ranks started."""

    def __init__(self) -> None:
        self._before = memory_kills()

    def explain(self, exit_code: int) -> Explanation | None:
        """Why a rank ended with this exit code; ``None`` if no signal ended it, or one that needs no reason."""
        if exit_code == -signal.SIGKILL:
            return _killed(self._before, memory_kills())
        return CRASHES.get(signal.Signals(-exit_code)) if -exit_code in CRASHES else None


def _killed(before: MemoryKills, now: MemoryKills) -> Explanation:
    more = f"{FEWER}, or give them more memory"
    if _rose(before.in_group, now.in_group):
        return Explanation(
            "the kernel killed it because its control group ran out of memory",
            f"{more} (docker run --memory, SLURM --mem)",
        )
    if _rose(before.on_machine, now.on_machine):
        return Explanation(
            "the kernel killed a process for lack of memory meanwhile, most likely this one",
            f"{more}; dmesg names what was killed",
        )
    if now.in_group is None and now.on_machine is None:
        return Explanation("most often that is for lack of memory", f"{more}; dmesg shows whether it was")
    return Explanation(
        "not for lack of memory, as far as the kernel counts: a person, a script or a scheduler killed it",
        "look for its time and memory limits in the scheduler's log, and for who uses kill -9",
    )


def _rose(before: int | None, now: int | None) -> bool:
    return now is not None and now > (before or 0)
