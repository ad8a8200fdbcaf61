"""What MPI libraries leave in shared memory when a job of theirs is aborted or killed."""

from __future__ import annotations

import contextlib
import os
import time
from functools import partial
from pathlib import Path

from cobre.comm.backend import Leftover

__all__ = ["PATTERNS", "find_leftovers", "mapped_files"]

DIRECTORY = Path("/dev/shm")  # noqa: S108 - where both libraries put them
PATTERNS = ("mpich_shm_*", "sm_segment.*")
"""MPICH's and Open MPI's names."""

SETTLED_S = 60.0
"""A segment is made before all ranks have mapped it; by now they have."""


def find_leftovers(directory: Path = DIRECTORY) -> list[Leftover]:
    """This user's segments with those names. In use is what a process has mapped, and what is new."""
    found = [path for pattern in PATTERNS for path in sorted(directory.glob(pattern))]
    mapped = mapped_files(directory) if found else set()
    leftovers = []
    for path in found:
        with contextlib.suppress(OSError):  # gone meanwhile
            status = path.stat()
            if status.st_uid == os.getuid():
                is_new = time.time() - status.st_mtime < SETTLED_S
                is_in_use = is_new or str(path) in mapped
                owner = "of an MPI job that runs" if is_in_use else "of an MPI job that was killed or aborted"
                leftovers.append(
                    Leftover(str(path), status.st_size, is_in_use, owner, partial(_remove, path))
                )
    return leftovers


def mapped_files(directory: Path) -> set[str]:
    """Files of that directory that some process has mapped."""
    lines: list[str] = []
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            lines += maps.read_text(encoding="utf-8", errors="replace").splitlines()
    fields = (line.split(maxsplit=5) for line in lines)
    return {name for *_, name in fields if name.startswith(f"{directory}/")}


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
