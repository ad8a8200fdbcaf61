"""A process that stops its run when asked, or when the server has ended, so that no run outlives the server.

However a server ends (its host closes it, a signal, a crash), the pipe to its guards closes. A guard then asks its run
to stop after the running iteration, which keeps the policy, and kills it if that takes too long. One signal is sent and
never two: a second one would end a run at once.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

__all__ = ["GRACE_S", "Guard"]

GRACE_S = 600
"""How long a run may take for its iteration after it was asked to stop."""

SCRIPT = f"""
read -r run || exit 0
read -r word
[ "$word" = done ] && exit 0
kill -TERM "$run" 2>/dev/null || exit 0
left={GRACE_S}0
while [ "$left" -gt 0 ] && kill -0 "$run" 2>/dev/null; do sleep 0.1; left=$((left - 1)); done
[ "$left" -gt 0 ] || kill -KILL "-$run" 2>/dev/null
exit 0
"""


class Guard:
    """Of one run. It is started before the run is, so that there is no moment without one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "cobre-mcp-guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        self.has_stopped = False
        """Whether the run was asked to stop."""

    def watch(self, pid: int) -> None:
        """From now on guard this process, which leads a group of its own."""
        self._tell(str(pid))

    def stop(self) -> None:
        """Ask the run to stop after its iteration. The second time nothing happens."""
        if not self.has_stopped:
            self.has_stopped = True
            self._tell("stop")

    def release(self) -> None:
        """The run has ended, or there is none: end the guard."""
        if not self.has_stopped:
            self._tell("done")
        self._close()
        self._process.wait()

    def abandon(self) -> None:
        """The server ends: the guard does the rest by itself."""
        self._close()

    def _tell(self, word: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                os.write(self._process.stdin.fileno(), f"{word}\n".encode())

    def _close(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
