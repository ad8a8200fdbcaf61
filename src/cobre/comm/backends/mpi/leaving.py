"""How a rank ends: in order, or by taking the job with it.

A rank that ends by an uncaught exception leaves the others waiting in a collective for ever, because a blocking
MPI call knows no timeout. So the traceback is shown and the job aborted, unless this rank has left every group
in good order before. A person at a prompt is never aborted.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

from cobre.comm.launch.report import report_exit

__all__ = ["Membership", "join", "leave"]


@dataclass(eq=False)
class Membership:
    """This rank's part in one group: what to abort if it fails, and what to settle if the process ends."""

    comm: Any
    rank: int
    size: int
    settle: Callable[[], None]
    exit_status: Any = None
    """Status of the SystemExit that left the group, if one did."""


INTERRUPTED = 130
"""What a shell makes of a program that SIGINT ended."""

_members: dict[Membership, int] = {}
_installed: set[str] = set()
_exit_status: Any = None
_previous_hook: Callable[..., Any] = sys.excepthook
_previous_exit: Callable[..., NoReturn] = sys.exit


def join(member: Membership) -> None:
    """Watch over ``member`` until it leaves or the process ends."""
    global _previous_hook, _previous_exit
    if "end" not in _installed:
        _installed.add("end")
        atexit.register(_end)
    if member.size > 1 and "hooks" not in _installed:
        _installed.add("hooks")
        _previous_hook, _previous_exit = sys.excepthook, sys.exit
        sys.excepthook, sys.exit = _report_and_abort, _note_status
    _members[member] = os.getpid()


def leave(member: Membership) -> None:
    """Forget ``member``: it has left in good order."""
    _members.pop(member, None)


def _note_status(status: Any = None, /) -> NoReturn:
    # SystemExit passes by sys.excepthook, and atexit is not told the status: this is where it can be seen.
    global _exit_status
    _exit_status = status
    _previous_exit(status)


def _ours() -> list[Membership]:
    """Groups of more than one rank that this very process has joined and not left."""
    return [member for member, pid in _members.items() if pid == os.getpid() and member.size > 1]


def _report_and_abort(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    _previous_hook(kind, error, traceback)
    is_prompt = hasattr(sys, "ps1") or sys.flags.interactive
    if not is_prompt and (ours := _ours()):
        _abort(ours[0], INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1, f"raised {kind.__name__}")


def _end() -> None:
    ours = _ours()
    for member in ours:
        status = member.exit_status or _exit_status
        if status:  # a text, which Python has printed, stands for 1
            code = status if isinstance(status, int) else 1
            report_exit(code)
            _abort(member, code, f"exited with status {code}")
    for member in [member for member, pid in _members.items() if pid == os.getpid()]:
        leave(member)
        member.settle()


def _abort(member: Membership, code: int, what: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"cobre: rank {member.rank} of {member.size} {what}: aborting the job\n")
    sys.stderr.flush()
    member.comm.Abort(code & 0xFF or 1)
