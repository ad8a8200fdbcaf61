"""How a rank ends: in order, or by taking the job with it.

A rank that ends by an uncaught exception leaves the others waiting in a collective for ever, because a blocking
MPI call knows no timeout. So the traceback is shown and the job aborted, unless this rank has left every group
in good order before. A person at a prompt is never aborted.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

from cobre._native import comm as _core
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
    """In a forked child, which has no part in the group: let go of what refers to it."""
    interruption: str = ""
    """What kept this rank from finishing a call that the others are in, if anything did."""


INTERRUPTED = 130
"""What a shell makes of a program that SIGINT ended."""

_members: dict[Membership, int] = {}
_installed: set[str] = set()
_previous_hook: Callable[..., Any] = sys.excepthook
_previous_error: BaseException | None = None


def join(member: Membership, mpi: Any) -> None:
    """Watch over ``member`` until it leaves, MPI is finalised or the process ends."""
    global _previous_hook, _previous_error
    if "end" not in _installed:
        _installed.add("end")
        atexit.register(_end)
        # MPI_Finalize, which the host program may call at any time, begins by dropping what COMM_SELF carries.
        mpi.COMM_SELF.Set_attr(mpi.Comm.Create_keyval(delete_fn=lambda *_: _settle()), None)
    if member.size > 1 and "hooks" not in _installed:
        _installed.add("hooks")
        _previous_hook, sys.excepthook = sys.excepthook, _report_and_abort
        _previous_error = getattr(sys, "last_value", None)
        _core.watch_exit(threading.main_thread().ident or 0)
        _replace_exit()
    _members[member] = os.getpid()


def leave(member: Membership) -> None:
    """Forget ``member``: it has left in good order."""
    _members.pop(member, None)


def _replace_exit() -> None:
    """Make ``sys.exit`` raise an exception that exists: Python 3.11's own leaves making it to whoever catches it."""
    built_in, main = sys.exit, sys.modules.get("__main__")

    def leave_program(status: Any = None, /) -> NoReturn:
        raise SystemExit(status)

    sys.exit = leave_program
    if getattr(main, "exit", None) is built_in:  # from sys import exit
        vars(main)["exit"] = leave_program


def _ours() -> list[Membership]:
    """Groups of more than one rank that this very process has joined and not left."""
    return [member for member, pid in _members.items() if pid == os.getpid() and member.size > 1]


def _report_and_abort(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    _previous_hook(kind, error, traceback)
    if not _is_prompt() and (ours := _ours()):
        _abort(ours[0], INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1, f"raised {kind.__name__}")


def _is_prompt() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def _end() -> None:
    if (ours := _ours()) and not _is_prompt():
        error = getattr(sys, "last_value", None)
        if error is not None and error is not _previous_error:  # a hook of somebody else's has shown it
            _abort(ours[0], 1, f"raised {type(error).__name__}")
        if code := _core.exit_status() or _status_of_kept_exit():
            report_exit(code)
            _abort(ours[0], code, f"exited with status {code}")
    for member in ours:
        if member.interruption:
            _abort(member, 1, member.interruption)
    _settle()


def _settle() -> None:
    for member, pid in list(_members.items()):
        leave(member)
        member.settle() if pid == os.getpid() else member.drop()


def _status_of_kept_exit() -> int:
    """Status of a SystemExit that left the program while something, an asyncio task for one, still refers to it.

    One that was caught is told by the frame that did: it went on from where the exception passed.
    """
    for found in gc.get_objects():
        if issubclass(type(found), SystemExit) and (last := found.__traceback__) is not None:
            code = found.code
            if code and last.tb_frame.f_lasti == last.tb_lasti:
                return code if isinstance(code, int) else 1
    return 0


def _abort(member: Membership, code: int, what: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"cobre: rank {member.rank} of {member.size} {what}: aborting the job\n")
    sys.stderr.flush()
    remove_own_segments()
    member.comm.Abort(code & 0xFF or 1)
