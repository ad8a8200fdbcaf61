"""The process that ends the ranks if the one that started them is killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from typing import IO, cast
from weakref import WeakSet

__all__ = ["Guard"]

# Each line it reads is the list of running process groups, or a file that a rank leaves if it is killed. If the pipe
# ends without an "end", the launcher is dead: kill those groups, then whatever else carries the mark of this launch in
# its environment (a rank that was being started at that moment, or one that mpiexec put into a session of its own),
# then remove what they may leave.
# A shell, because it must outlive the launcher and be there at once, whatever the ranks run.
SCRIPT = """
mark=$1
shift
files=
while IFS= read -r line; do
    case $line in
    end) exit 0 ;;
    /*) files="$files$line
" ;;
    *) groups=$line ;;
    esac
done
[ -z "$groups" ] || kill -s KILL -- $groups
for turn in 1 2 3 4 5; do
    for file in $(grep -ls -e "$mark" /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        kill -s KILL "${pid%/environ}"
    done
    sleep 0.1
done
[ $# -eq 0 ] || rm -rf -- "$@"
printf %s "$files" | while IFS= read -r file; do
    rm -f -- "$file"
done
"""


_guards: WeakSet[Guard] = WeakSet()


def _close_inherited_pipes() -> None:
    """In a forked child. Else the guard would wait for the child's death, too."""
    for guard in _guards:
        guard.close_inherited_pipe()


os.register_at_fork(after_in_child=_close_inherited_pipes)


class Guard:
    """Has the list of running process groups, and outlives this process."""

    def __init__(self, mark: str, leaves: Sequence[str]) -> None:
        _guards.add(self)
        self._arguments = (mark, *leaves)
        self._last = b"\n"
        self._files: dict[str, None] = {}
        self._process = self._start()

    def fileno(self) -> int:
        """A descriptor that becomes readable when the guard is gone."""
        return self._end

    def watch(self, groups: Iterable[int]) -> None:
        """From now on exactly these are to be killed."""
        self._last = (" ".join(f"-{group}" for group in groups) + "\n").encode()
        self._tell(self._last)

    def remove_at_end(self, files: Iterable[str]) -> None:
        """Files by their full path that ranks, or a library of theirs, leave if they are killed."""
        for path in files:
            if path not in self._files and path.startswith("/") and "\n" not in path:
                self._files[path] = None
                self._tell(os.fsencode(path) + b"\n")

    def restart(self) -> None:
        """Replace a guard that was killed."""
        self._discard()
        self._process = self._start()
        self._tell(b"".join(os.fsencode(path) + b"\n" for path in self._files) + self._last)

    def dismiss(self) -> None:
        """There is nothing left to guard."""
        self._tell(b"end\n")
        self._discard()

    def close_inherited_pipe(self) -> None:
        """In a forked child: close the inherited pipe."""
        cast("IO[bytes]", self._process.stdin).close()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "cobre-guard", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath)},  # not the mark of a launch around this one
            start_new_session=True,
        )
        self._end = os.pidfd_open(process.pid)
        return process

    def _tell(self, line: bytes) -> None:
        pipe = cast("IO[bytes]", self._process.stdin)
        with contextlib.suppress(BrokenPipeError):  # it was killed; `restart` is on its way
            os.write(pipe.fileno(), line)

    def _discard(self) -> None:
        self._process.communicate()
        os.close(self._end)
