"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from cobre.errors import IOError

SYNCING_THREADS = 8
FREE_SPACE = "free some space on that disk"


class _Unsynced(threading.local):
    paths: list[Path] | None = None
    """What `syncing_together` still has to bring to the disk; None outside of it."""


_unsynced = _Unsynced()


def write_atomically(
    path: Path, data: bytes | Iterable[bytes | memoryview], *, is_synced: bool = True
) -> None:
    """Make ``path`` hold exactly ``data``: readers see the old file or the new one, never half of it.

    ``data`` may come in pieces. Without ``is_synced`` a crash of the machine may lose it; whoever writes many files
    calls `sync_files` at the end.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in [data] if isinstance(data, bytes) else data:
                file.write(piece)
            file.flush()
            if is_synced and _unsynced.paths is None:
                os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        Path(name).replace(path)
        if is_synced and _unsynced.paths is not None:
            _unsynced.paths.append(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise


def move_into_place(unfinished: Path, path: Path) -> None:
    """Give a file that is written in full its name, once it is on the disk; `OSError` where that fails."""
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)


def read_whole(path: Path) -> bytes:
    """The bytes of a file; `IOError` where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


@contextlib.contextmanager
def syncing_together() -> Iterator[None]:
    """Files that this thread writes in the ``with`` block are on the disk at its end, not one after the other.

    A disk takes about as long for twenty files as for one. Until then a crash of the machine may lose some of them:
    what says that all are there is written after the block.
    """
    if _unsynced.paths is not None:
        yield
        return
    _unsynced.paths = []
    try:
        yield
        paths = _unsynced.paths
    finally:
        _unsynced.paths = None
    _sync_each(paths)


def _sync_each(paths: list[Path]) -> None:
    left = iter(paths)
    failures: list[tuple[Path, OSError]] = []

    def work() -> None:
        for path in left:  # a list's iterator gives each path to one thread
            try:
                _sync(path, os.O_RDONLY)
            except OSError as error:
                failures.append((path, error))

    threads = [threading.Thread(target=work) for _ in range(min(SYNCING_THREADS, len(paths)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for path, error in failures:
        raise unwritable(path, error) from error


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Return when the names in ``folder`` are on the disk: a renamed file is found again after a power failure."""
    try:
        _sync(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system does that for folders
            raise unwritable(folder, error) from error


def sync_files(folder: Path) -> None:
    """Return when everything written so far to the disk of ``folder`` has reached it."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if libc.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise unwritable(folder, OSError(code, os.strerror(code)))
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def unreadable(path: Path, error: OSError, suggestion: str = "") -> IOError:
    """The error to raise for a path that the system does not let us read."""
    return IOError(str(path), f"cannot read {path}: {error.strerror or error}", suggestion=suggestion)


def unwritable(path: Path, error: OSError) -> IOError:
    """The error to raise for a path that the system does not let us write."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return IOError(
        str(path),
        f"cannot write {path}: {error.strerror or error}",
        suggestion=FREE_SPACE if is_full else "choose a folder that may be written to",
    )
