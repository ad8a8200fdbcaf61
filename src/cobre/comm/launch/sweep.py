"""What a launch may leave behind: processes that carry its mark, and files."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

__all__ = ["kill_marked", "remove"]

EXEC_S = 0.5
"""How long a process may take between its old program and the environment of the new one."""


def remove(path: Path) -> None:
    """A file or a directory with all that is in it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def kill_marked(mark: str) -> None:
    """Kill every process that carries this launch's mark in its environment."""
    unknown = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    end = time.monotonic() + EXEC_S
    while unknown and time.monotonic() < end:
        unknown = [entry for entry in unknown if _kill_if_marked(entry, mark)]
        time.sleep(0.002 if unknown else 0)


def _kill_if_marked(process: Path, mark: str) -> bool:
    """Kill it if it is marked; whether to look again, because it is just replacing its program (exec)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        variables = (process / "environ").read_bytes()
        if mark.encode() in variables.split(b"\0"):
            os.kill(int(process.name), signal.SIGKILL)
        if not variables:
            (process / "exe").readlink()  # a thread of the kernel and a zombie have none
            begin_of_environ = (process / "stat").read_text().rpartition(")")[2].split()[47]
            return begin_of_environ == "0"
    return False
