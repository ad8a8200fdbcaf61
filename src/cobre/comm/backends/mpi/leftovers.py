"""What MPI libraries leave in shared memory and in the temporary folder when a job of theirs is aborted or killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from cobre.comm.backend import Leftover

__all__ = [
    "PATTERNS",
    "SESSION_FOLDER",
    "find_leftovers",
    "find_session_folders",
    "mapped_files",
    "own_segments",
    "remove_own_segments",
]

DIRECTORY = Path("/dev/shm")  # noqa: S108 - where both libraries put them
PATTERNS = ("mpich_shm_*", "sm_segment.*")
"""MPICH's and Open MPI's names."""

SESSION_FOLDER = "cobre-mpiexec-"
"""Beginning of the name of a folder that a launch has Open MPI's mpiexec use; the rest is random."""

SETTLED_S = 2.0
"""A segment is made a moment before its first rank has mapped it."""


def find_leftovers(directory: Path = DIRECTORY) -> list[Leftover]:
    """This user's segments with those names. In use is what a process has mapped, and what was made just now."""
    found = [path for pattern in PATTERNS for path in sorted(directory.glob(pattern))]
    mapped = mapped_files(directory) if found else set()
    return _leftovers(found, lambda path: str(path) in mapped, "an MPI job", "killed or aborted", _remove)


def find_session_folders(directory: Path | None = None) -> list[Leftover]:
    """This user's folders of mpiexec. In use is what the environment of a process names, and what was made just now."""
    found = sorted((directory or Path(tempfile.gettempdir())).glob(f"{SESSION_FOLDER}*"))
    environments = _environments() if found else []

    def is_named(path: Path) -> bool:
        return any(os.fsencode(path) in environment for environment in environments)

    return _leftovers(found, is_named, "an mpiexec", "killed", _remove_folder)


def _leftovers(
    found: Iterable[Path],
    is_used: Callable[[Path], bool],
    program: str,
    ended: str,
    remove: Callable[[Path], bool],
) -> list[Leftover]:
    """Those of this user, each with what is known of the program that made it."""
    leftovers = []
    for path in found:
        with contextlib.suppress(OSError):  # removed by now
            status = path.stat()
            if status.st_uid != os.getuid():
                continue
            is_in_use, owner = False, f"of {program} that was {ended}"
            if is_used(path):
                is_in_use, owner = True, f"of {program} that runs"
            elif time.time() - status.st_mtime < SETTLED_S:
                is_in_use, owner = True, f"made just now, perhaps by {program} that starts"
            files = path.rglob("*") if path.is_dir() else [path]
            n_bytes = sum(each.stat().st_size for each in files if each.is_file())
            leftovers.append(Leftover(str(path), n_bytes, is_in_use, owner, partial(remove, path)))
    return leftovers


def own_segments(directory: Path = DIRECTORY) -> list[str]:
    """Segments with those names that this very process has mapped: they belong to its job."""
    mapped = _mapped_in([Path("/proc/self/maps")], directory)
    return sorted(name for name in mapped if any(fnmatch(Path(name).name, pattern) for pattern in PATTERNS))


def remove_own_segments(directory: Path = DIRECTORY) -> None:
    """Before the job is aborted: MPI_Abort ends all ranks at once, and MPICH then leaves them. Who has mapped them
    keeps the memory."""
    for name in own_segments(directory):
        _remove(Path(name))


def mapped_files(directory: Path) -> set[str]:
    """Files of that directory that some process has mapped."""
    return _mapped_in(Path("/proc").glob("[0-9]*/maps"), directory)


def _mapped_in(tables: Iterable[Path], directory: Path) -> set[str]:
    lines: list[str] = []
    for maps in tables:
        with contextlib.suppress(OSError):
            lines += maps.read_text(encoding="utf-8", errors="replace").splitlines()
    fields = (line.split(maxsplit=5) for line in lines)
    return {name for *_, name in fields if name.startswith(f"{directory}/")}


def _environments() -> list[bytes]:
    """Of all processes whose environment may be read."""
    found = []
    for variables in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found.append(variables.read_bytes())
    return found


def _remove_folder(path: Path) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
