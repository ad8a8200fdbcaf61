"""The rule for how a rank leaves an MPI job.

A rank leaves its group by ``close()``, or by a ``with`` block that ends well or with ``sys.exit(0)``. A rank whose
program ends in any other way aborts the job, because the others might wait for it for ever: a blocking MPI call knows
no timeout.

A person at a prompt is never aborted. ADR 6 says why the rule is this one.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from cobre.comm.backends.mpi.leftovers import remove_own_segments
from cobre.comm.report import report_exit

__all__ = ["Membership", "join", "leave"]


@dataclass(eq=False)
class Membership:
    """This rank's part in one group: what to abort if it fails, and what to settle if the process ends."""

    comm: Any
    rank: int
    size: int
    settle: Callable[[], None]
    drop: Callable[[], object]
    """In a forked child, which is not in the group: drop what refers to it."""
    interruption: str = ""
    """What kept this rank from finishing a call that the others are in, if anything did. Then it cannot leave."""
    failure: str = "ended without close()"
    """What this rank has done if its program ends now."""
    exit_status: int = 1
    """With which it then aborts the job."""
    has_left: bool = False
    """It was closed, and is kept only to settle what `close` had to put off."""

    def note_leaving(self, error: BaseException | None) -> None:
        """It is being closed, while ``error`` is on its way if it is not None."""
        status = 0 if error is None else _exit_status_of(error)
        if status == 0:
            self.has_left = not self.interruption
            return
        name = type(error).__name__
        self.failure = f"exited with status {status}" if isinstance(error, SystemExit) else f"raised {name}"
        self.exit_status = status


INTERRUPTED = 130
"""What a shell makes of a program that SIGINT ended."""

_members: dict[Membership, int] = {}
_installed: set[str] = set()
_previous_hook: Callable[..., Any] = sys.excepthook


def join(member: Membership, mpi: Any) -> None:
    """Apply the rule to ``member`` until it leaves, MPI is finalised or the process ends."""
    global _previous_hook
    if "end" not in _installed:
        _installed.add("end")
        atexit.register(_end)
        # MPI_Finalize, which the host program may call at any time, begins by dropping what COMM_SELF carries.
        mpi.COMM_SELF.Set_attr(mpi.Comm.Create_keyval(delete_fn=lambda *_: _settle()), None)
    if member.size > 1 and "hook" not in _installed:
        _installed.add("hook")
        _previous_hook, sys.excepthook = sys.excepthook, _show_and_abort
    _members[member] = os.getpid()


def leave(member: Membership) -> None:
    """Forget ``member``: it has left in good order."""
    _members.pop(member, None)


def _exit_status_of(error: BaseException) -> int:
    """With which status a program ends that this exception ends."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return int(getattr(error, "exit_status", 1))


def _open_groups() -> list[Membership]:
    """Groups of more than one rank that this very process has joined and not left."""
    return [
        member
        for member, pid in _members.items()
        if pid == os.getpid() and member.size > 1 and not member.has_left
    ]


def _show_and_abort(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """At once, and not at the end: before that Python waits for its threads, which may wait for other ranks."""
    _previous_hook(kind, error, traceback)
    if not _is_prompt() and (groups := _open_groups()):
        status = INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1
        _abort(groups[0], status, f"raised {kind.__name__}")


def _is_prompt() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def _end() -> None:
    if not _is_prompt():
        for member in _open_groups():
            report_exit(member.exit_status)
            _abort(member, member.exit_status, member.interruption or member.failure)
    _settle()


def _settle() -> None:
    for member, pid in list(_members.items()):
        leave(member)
        member.settle() if pid == os.getpid() else member.drop()


def _abort(member: Membership, code: int, what: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"cobre: rank {member.rank} of {member.size} {what}: aborting the job\n")
    sys.stderr.flush()
    remove_own_segments()
    member.comm.Abort(code & 0xFF or 1)
