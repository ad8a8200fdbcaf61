"""Start the ranks of any program, show what they print, and leave nothing behind.

``python -m cobre.comm.launch -n 4 --backend NAME -- program.py args…`` is the same from a shell.
What to start comes from the backend's record, so nothing here knows any backend. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self, cast

from cobre.comm.backend import Backend, RankCommand
from cobre.comm.selection import get_backend
from cobre.errors import CobreError, InitializationFailed, WorkerError

__all__ = ["RankResult", "first_failure", "main", "run_ranks"]

GRACE_S = 2.0
"""How long ranks may take to end by themselves once one has failed, and again after SIGTERM."""

READ_BYTES = 1 << 20  # more than a pipe holds, so that one read takes all there is

# Each line it reads is the list of process groups that live; if the launcher is gone without an "end", it
# kills them. A shell, because it must outlive the launcher and start at once, whatever the ranks run.
GUARD = """
while read -r line; do
    [ "$line" != end ] || exit 0
    groups=$line
done
[ -z "$groups" ] || kill -s KILL -- $groups
"""


@dataclass(frozen=True)
class RankResult:
    """How one rank ended.

    ``rank`` is ``None`` if one command started all ranks, as ``mpiexec`` does; it is then the only
    result. ``exit_code`` is negative for a signal, ``output`` is stdout and stderr as they came, and
    ``ended_after_s`` counts from the start of the launch.
    """

    rank: int | None
    exit_code: int
    output: str
    ended_after_s: float


def run_ranks(
    backend: Backend | str,
    size: int,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    echo: bool = True,
) -> list[RankResult]:
    """Run ``size`` ranks of the command ``argv`` and return how they ended, in rank order.

    A ``*.py`` file and ``-m module`` run with this interpreter. ``env`` is added to this process's
    environment. With ``echo`` every line appears on stdout as it comes, behind its rank.

    When a rank fails the others get a short grace, then SIGTERM, then SIGKILL; it is for the caller to
    look at the exit codes (`first_failure`). Past ``timeout`` seconds all are killed and `WorkerError`
    names those that still ran. No process of any rank outlives this call, or this process.
    """
    if size < 1:
        raise ValueError(f"cannot start {size} ranks: pass 1 or more")
    if timeout is not None and not timeout > 0:
        raise ValueError(f"a timeout of {timeout} s makes no sense: pass a positive number")
    if not argv:
        raise ValueError("there is no command to start: pass a program and its arguments")
    record = get_backend(backend) if isinstance(backend, str) else backend
    deadline = time.monotonic() + timeout if timeout is not None else math.inf
    with _Group(echo) as group:
        for command in record.rank_commands(_runnable(argv), size):
            group.start(record.name, command, {**os.environ, **(env or {})})
        if not group.wait(deadline):
            raise _still_running(group, timeout)
    return group.results()


def first_failure(results: Sequence[RankResult]) -> RankResult | None:
    """The failed rank that ended before all other failed ones: those may have failed because of it."""
    failed = [result for result in results if result.exit_code]
    return min(failed, key=lambda result: result.ended_after_s, default=None)


class _Rank:
    """One running command: its process, what it printed, and its last line while unfinished."""

    def __init__(self, command: RankCommand, environ: Mapping[str, str]) -> None:
        self.rank = command.rank
        self.prefix = "" if command.rank is None else f"[{command.rank}] "
        self.output: list[str] = []
        self.exit_code: int | None = None
        self.ended_at = math.inf
        self._partial = bytearray()
        self.process = subprocess.Popen(
            command.argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._stream = cast("IO[bytes]", self.process.stdout)
        self.pipe = self._stream.fileno()
        os.set_blocking(self.pipe, False)
        try:
            # A descriptor that becomes readable at the end of the process, so one wait serves for both.
            self.end = os.pidfd_open(self.process.pid)
        except OSError:
            self.signal_group(signal.SIGKILL)
            self.process.communicate()
            raise

    def read_lines(self, *, is_last: bool = False) -> list[str] | None:
        """The lines completed since last time; ``None`` at the end of the pipe."""
        try:
            data = os.read(self.pipe, READ_BYTES)
        except BlockingIOError:
            data = b""
        else:
            if not data and not is_last:
                return None
        complete, newline, rest = data.rpartition(b"\n")
        lines = (self._partial + complete).split(b"\n") if newline else []
        if newline:
            self._partial.clear()
        self._partial += rest
        if is_last and self._partial:
            lines.append(self._partial)
        text = [line.decode(errors="replace") for line in lines]
        self.output += text
        return text

    def signal_group(self, number: int) -> None:
        """To everything the command started. Only before `reap`: until then the group's id is not reused."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def reap(self) -> None:
        self.exit_code = self.process.wait()
        self.ended_at = time.monotonic()
        os.close(self.end)
        self._stream.close()


class _Group:
    """All ranks of one launch. Leaving the ``with`` block kills and reaps whatever still runs."""

    def __init__(self, echo: bool) -> None:
        self.ranks: list[_Rank] = []
        self.running: list[_Rank] = []
        self._echo = echo
        self._started_at = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self, backend: str, command: RankCommand, environ: Mapping[str, str]) -> None:
        # Unbuffered, or what a Python rank printed before it was killed would be lost with its buffer.
        variables = {"PYTHONUNBUFFERED": "1", **environ, "COBRE_COMM_BACKEND": backend, **command.env}
        try:
            rank = _Rank(command, variables)
        except OSError as error:
            raise InitializationFailed(
                backend,
                error,
                f"cannot start {command.argv[0]!r}: {error.strerror}",
                suggestion="check the program's path, and that it may be executed",
            ) from error
        self.ranks.append(rank)
        self.running.append(rank)
        self._tell_guard_who_lives()
        self._selector.register(rank.pipe, selectors.EVENT_READ, rank)
        self._selector.register(rank.end, selectors.EVENT_READ, rank)

    def wait(self, deadline: float) -> bool:
        """Whether every rank has ended by itself or, after a failure, been ended, before ``deadline``."""
        signals = [signal.SIGTERM, signal.SIGKILL]
        signal_at = math.inf
        while self.running:
            now = time.monotonic()
            if now >= deadline:
                return False
            if now >= signal_at:
                number = signals.pop(0)
                for rank in self.running:
                    rank.signal_group(number)
                signal_at = now + GRACE_S if signals else math.inf
            self._handle_events(min(deadline, signal_at) - now)
            if signal_at == math.inf and signals and any(rank.exit_code for rank in self.ranks):
                signal_at = time.monotonic() + GRACE_S
        return True

    def results(self) -> list[RankResult]:
        return [
            RankResult(
                rank=rank.rank,
                exit_code=rank.exit_code or 0,
                output="".join(f"{line}\n" for line in rank.output),
                ended_after_s=rank.ended_at - self._started_at,
            )
            for rank in self.ranks
        ]

    def _handle_events(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds if seconds < math.inf else None):
            rank: _Rank = key.data
            if rank not in self.running:
                continue
            if key.fd == rank.end:
                self._finish(rank)
                continue
            lines = rank.read_lines()
            if lines is None:
                self._selector.unregister(rank.pipe)
            else:
                self._show(rank, lines)

    def _finish(self, rank: _Rank) -> None:
        """Take what the rank still had to say, end what it left running, and reap it."""
        rank.signal_group(signal.SIGKILL)
        lines = rank.read_lines(is_last=True) or []
        for descriptor in (rank.pipe, rank.end):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        self.running.remove(rank)
        self._tell_guard_who_lives()  # before its id can become another process's
        rank.reap()
        self._show(rank, lines)

    def _show(self, rank: _Rank, lines: Sequence[str]) -> None:
        if self._echo and lines:
            text = "".join(f"{rank.prefix}{line}\n" for line in lines)
            encoding = sys.stdout.encoding or "utf-8"  # what a terminal cannot show must not end the launch
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()

    def _tell_guard_who_lives(self) -> None:
        self._tell_guard(" ".join(f"-{rank.process.pid}" for rank in self.running))

    def _tell_guard(self, line: str) -> None:
        pipe = cast("IO[bytes]", self._guard.stdin)
        with contextlib.suppress(BrokenPipeError):  # somebody killed it; it is a second line of defence only
            os.write(pipe.fileno(), f"{line}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        for rank in self.running:
            rank.signal_group(signal.SIGKILL)
        self._tell_guard("end")
        for rank in self.running:
            rank.reap()
        self.running.clear()
        self._guard.communicate()
        self._selector.close()


def _still_running(group: _Group, timeout: float | None) -> WorkerError:
    names = ", ".join(f"rank {rank.rank}" if rank.rank is not None else "the ranks" for rank in group.running)
    error = WorkerError(
        group.running[0].rank or 0,
        -signal.SIGKILL,
        TimeoutError(f"{timeout} s"),
        f"still running after {timeout} s, now killed: {names}",
        suggestion="see what these ranks wait for in their last lines, or allow more time",
    )
    for rank in group.ranks:
        for line in rank.output[-5:]:
            error.add_note(f"{rank.prefix}{line}")
    return error


def _runnable(argv: Sequence[str]) -> tuple[str, ...]:
    """The command itself, or this interpreter in front of what only Python can run."""
    is_python = argv[0].endswith(".py") or argv[0] == "-m"
    return (sys.executable, *argv) if is_python else tuple(argv)


def _status(exit_code: int) -> int:
    """An exit code as a shell reports it: 128 + n for signal n."""
    return 128 - exit_code if exit_code < 0 else exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status of the rank that failed first, or 0."""
    parser = argparse.ArgumentParser(
        prog="python -m cobre.comm.launch",
        description="Start N ranks of a program. Each line they print appears behind its rank. The exit "
        "status is that of the rank that failed first: 128+n if signal n ended it, 0 if none failed.",
        epilog="example: python -m cobre.comm.launch -n 4 --backend NAME -- program.py --its --arguments",
    )
    parser.add_argument(
        "-n", type=int, required=True, metavar="N", dest="size", help="how many ranks to start"
    )
    parser.add_argument("--backend", required=True, metavar="NAME", help="how they communicate")
    parser.add_argument("--timeout", type=float, metavar="S", help="kill all ranks after S seconds")
    parser.add_argument(
        "program", nargs="+", help="an executable, a *.py file, or -m module; then its arguments, after --"
    )
    options = parser.parse_args(arguments)
    try:
        results = run_ranks(options.backend, options.size, options.program, timeout=options.timeout)
    except ValueError as error:
        parser.error(str(error))
    except WorkerError as error:
        sys.stderr.write(f"{error}\n")
        return _status(error.exit_code)
    except CobreError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    failure = first_failure(results)
    if failure is None:
        return 0
    who = "the command" if failure.rank is None else f"rank {failure.rank}"
    how = f"by signal {-failure.exit_code}" if failure.exit_code < 0 else f"with status {failure.exit_code}"
    sys.stderr.write(f"{who} ended {how}\n")
    return _status(failure.exit_code)


if __name__ == "__main__":
    sys.exit(main())
