"""One command of a launch: its process, its output in whole lines, and what it reports."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from cobre.comm.backend import RankCommand
from cobre.comm.launch.pidfd import exit_code_of
from cobre.comm.report import VARIABLE, Inbox

__all__ = ["RankProcess", "Stream"]

READ_BYTES = 1 << 20  # more than a pipe holds, so that one read takes all there is
LONGEST_LINE = 16 << 20  # beyond this a line is shown in pieces rather than kept


class Stream:
    """What comes through one pipe, cut into lines. ``shown`` counts bytes of the unfinished line on display."""

    def __init__(self, pipe: IO[bytes], *, is_error: bool) -> None:
        self.is_error = is_error
        self.partial = bytearray()
        self.shown = 0
        self._pipe = pipe
        os.set_blocking(pipe.fileno(), False)

    def fileno(self) -> int:
        return self._pipe.fileno()

    def read_lines(self, *, is_last: bool = False) -> list[bytes] | None:
        """The lines completed since last time; ``None`` at the end of the pipe."""
        try:
            data = os.read(self._pipe.fileno(), READ_BYTES)
        except BlockingIOError:
            data = b""
        except ConnectionResetError:  # a socket whose other end was killed
            data = b""
            if not is_last:
                return None
        else:
            if not data and not is_last:
                return None
        complete, newline, rest = data.rpartition(b"\n")
        lines = bytes(self.partial + complete).split(b"\n") if newline else []
        if newline:
            self.partial.clear()
        self.partial += rest
        if self.partial and (is_last or len(self.partial) > LONGEST_LINE):
            lines.append(bytes(self.partial))
            self.partial.clear()
        return lines

    def close(self) -> None:
        self._pipe.close()


class RankProcess:
    """A running command. ``tail`` holds its last lines, or all of them if ``keep_lines`` is ``None``."""

    def __init__(
        self,
        command: RankCommand,
        environ: Mapping[str, str],
        *,
        stdin: int = subprocess.DEVNULL,
        is_split: bool = False,
        keep_lines: int | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        self.rank = command.rank
        self.command = Path(command.argv[0]).name
        self.tail: deque[bytes] = deque(maxlen=keep_lines)
        self.exit_code: int | None = None
        self.ended_at = math.inf
        self.was_ended = False
        self.inbox = Inbox()
        try:
            self.process = subprocess.Popen(
                command.argv,
                env={**environ, VARIABLE: self.inbox.address},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if is_split else subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(self.inbox.write_end, *pass_fds),
            )
        except BaseException:  # also a Ctrl-C while the program is being started
            self.inbox.close()
            raise
        finally:
            self.inbox.close_write_end()
        pipes = [(self.process.stdout, False), (self.process.stderr, True)]
        self.streams = [Stream(pipe, is_error=is_error) for pipe, is_error in pipes if pipe is not None]
        # A descriptor that becomes readable at the end of the process, so one wait serves for everything.
        self.end = os.pidfd_open(self.process.pid)

    def signal_group(self, number: int) -> None:
        """To everything the command started. Only before `reap`: until then the group's id is not reused."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end_group(self, number: int) -> None:
        """Signal it because others failed: how it ends from now on is no fault of its own."""
        self.was_ended = True
        self.signal_group(number)

    def kill_and_reap(self) -> None:
        self.signal_group(signal.SIGKILL)
        self.reap()

    def reap(self) -> None:
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(self.process.pid, 0)[1])
        except (
            ChildProcessError
        ):  # the program waits for all its children, or lets the kernel do it: Popen would say 0
            known = exit_code_of(self.end)
            code = known if known is not None else int(self.inbox.failure is not None)
        self.exit_code = self.process.returncode = code
        self.ended_at = time.monotonic()
        os.close(self.end)
        self.inbox.close()
        for stream in self.streams:
            stream.close()
