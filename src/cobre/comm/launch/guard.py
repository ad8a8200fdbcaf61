"""The process that ends the ranks if the one that started them is killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from typing import IO, cast
from weakref import WeakSet

__all__ = ["Guard"]

# Each line it reads is the list of process groups that live. If the pipe ends without an "end", the launcher
# is dead: kill those groups, then whatever else carries the mark of this launch in its environment (a rank that was
# being started at that moment, or one that mpiexec put into a session of its own), then remove what they may leave.
# A shell, because it must outlive the launcher and be there at once, whatever the ranks run.
SCRIPT = """
mark=$1
shift
while read -r line; do
    [ "$line" != end ] || exit 0
    groups=$line
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
"""


_guards: WeakSet[Guard] = WeakSet()


def _close_inherited_pipes() -> None:
    """In a forked child. Else the guard would wait for the child's death, too."""
    for guard in _guards:
        guard.close_inherited_pipe()


os.register_at_fork(after_in_child=_close_inherited_pipes)


class Guard:
    """Knows which process groups live, and outlives this process."""

    def __init__(self, mark: str, leaves: Sequence[str]) -> None:
        _guards.add(self)
        self._arguments = (mark, *leaves)
        self._last = b"\n"
        self._process = self._start()

    def fileno(self) -> int:
        """A descriptor that becomes readable when the guard is gone."""
        return self._end

    def watch(self, groups: Iterable[int]) -> None:
        """From now on exactly these are to be killed."""
        self._last = (" ".join(f"-{group}" for group in groups) + "\n").encode()
        self._tell(self._last)

    def restart(self) -> None:
        """Replace a guard that somebody killed."""
        self._discard()
        self._process = self._start()
        self._tell(self._last)

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
