"""A process that runs Cobre and nothing else: it ends at once, and one thread is enough for the libraries it loads.

Never use this in a process of a user who imports Cobre.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["is_ours", "needs_whole_end", "one_thread_for_blas", "run_alone"]

BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class _State:
    """Of this process."""

    is_ours = False
    needs_whole_end = False
    status: int | None = None


def run_alone(main: Callable[[], int]) -> int:
    """Run the program of a whole process; its status, with which the caller ends the process.

    At the end everything happens that a program can ask for: threads are waited for, functions registered with
    `atexit` are called, streams are flushed. Only then the process ends without freeing its modules and objects one
    by one, as the interpreter would: that takes about as long as loading a small case. An error that ``main`` lets
    through leads to the interpreter's own end.
    """
    # Functions are called in reverse order: ours is the last one, unless one was registered before this program.
    if atexit._ncallbacks() == 0:
        _State.is_ours = True
        atexit.register(_end)
    _State.status = main()
    return _State.status


def is_ours() -> bool:
    """Whether this process runs Cobre alone and may end at once."""
    return _State.is_ours and not _State.needs_whole_end


def needs_whole_end() -> None:
    """Foreign code may wait for the end of the interpreter: an MPI library, a backend, a user's function."""
    _State.needs_whole_end = True


def _end() -> None:
    if _State.status is None or _State.needs_whole_end:
        gc.unfreeze()
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # the interpreter flushes again, and says it
    os._exit(_State.status)


class one_thread_for_blas:  # noqa: N801 - a context manager, and contextlib would cost an import
    """NumPy imported in the ``with`` block starts no threads: nothing here multiplies large matrices.

    Children do not inherit it, and what the user has set stays.
    """

    def __enter__(self) -> None:
        self._is_set = is_ours() and not any(os.environ.get(name) for name in BLAS_VARIABLES)
        if self._is_set:
            os.environ[BLAS_VARIABLES[0]] = "1"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_set:
            del os.environ[BLAS_VARIABLES[0]]
