"""The folder of a run's results, which looks finished only when it is."""

from __future__ import annotations

from pathlib import Path

from cobre.core.files import unwritable, write_atomically

SUCCESS = "_SUCCESS"
"""Its presence says that every other file is there and belongs together."""


def begin(folder: Path) -> None:
    """Make ``folder`` and take away the mark of an earlier run, before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SUCCESS).unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    write_atomically(folder / ".writable", b"")  # hours of work should not end at a read-only disk
    (folder / ".writable").unlink(missing_ok=True)


def finish(folder: Path) -> None:
    """Put the mark: all results are written."""
    write_atomically(folder / SUCCESS, b"")
