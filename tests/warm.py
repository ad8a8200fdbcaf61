"""Processes that begin at once: forked by one that has imported NumPy and Cobre before.

Ranks run a few lines of Python; commands run the command line.

They end as any Python program does, and are children of the test run, which waits for them.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import cobre
import leaks
from commands import run_command

# Whoever asks gets a grandchild of the server, which is an orphan at once: the nearest ancestor that takes in
# orphans becomes its parent. It says who it is when that has happened.
SERVER = """
import ctypes, json, os, signal, socket, sys, threading, time
door, tests = socket.socket(fileno=int(sys.argv[1])), os.getppid()
door.send(b"running")
for name in sys.argv[2:]:
    __import__(name)

while True:
    try:
        order, descriptors, _, _ = socket.recv_fds(door, 1 << 20, 3)
    except KeyboardInterrupt:
        os._exit(0)
    if not order:
        os._exit(0)
    if os.fork() == 0:
        if os.fork() != 0:
            os._exit(0)
        break
    os.wait()
    for descriptor in descriptors:
        os.close(descriptor)

while os.getppid() != tests:
    time.sleep(0.0002)
door.send(str(os.getpid()).encode())
door.close()
for place, descriptor in enumerate(descriptors):
    os.dup2(descriptor, place)
    os.close(descriptor)
order = json.loads(order)
os.chdir(order["folder"])
os.environ.clear()
os.environ.update(order["environ"])
sys.argv[:] = order["words"]
sys.path[:0] = order["path"]
code = compile(order["code"], order["words"][0], "exec")
del door, tests, descriptors, descriptor, place, order
exec(code)
"""
PR_SET_CHILD_SUBREAPER = 36
EVERY_S = 0.005


class Server:
    """The one that forks; a context for the whole run of the tests."""

    def __init__(self, *imports: str) -> None:
        self._imports = imports
        self._lock = threading.Lock()
        self._door: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVER, str(theirs.fileno()), *self._imports],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        # Until exec is over /proc/PID/environ is empty, and leaks.Watch would not know the server.
        self._door.settimeout(30)
        assert self._door.recv(32) == b"running", "the process that forks the ranks has ended"
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._door is not None
        assert self._process is not None
        self._door.close()
        self._process.wait(10)

    def start(self, order: bytes, descriptors: Sequence[int]) -> int:
        """The pid of a new process with these as stdin, stdout and stderr."""
        assert self._door is not None
        leaks.note_start()
        libc = ctypes.CDLL(None)
        with self._lock:
            libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._door, [order], descriptors)
                self._door.settimeout(30)
                answer = self._door.recv(32)
            finally:
                libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert answer, "the process that forks the ranks has ended"
        return int(answer)


RANKS = Server("numpy", "cobre.comm")
COMMANDS = Server(
    "cobre.comm.run_on_ranks",
    "cobre.io.loading",
    "cobre.study.running",
    "cobre.study.simulation",
    "cobre.cli.run",
    "cobre.cli.launch",
)


@contextmanager
def servers(runs_commands: bool) -> Iterator[None]:
    """The servers, for the whole run of the tests."""
    with RANKS, COMMANDS if runs_commands else nullcontext():
        yield


class Lines(io.FileIO):
    """A pipe that is read as text, line by line or to its end."""

    def readline(self) -> str:
        return super().readline().decode()


class Process:
    """As much of ``subprocess.Popen`` as ranks need. Without ``stdout`` it is a pipe; stderr goes there, too."""

    def __init__(
        self, code: str, words: Sequence[str], *, env: Mapping[str, str], stdout: int | None = None
    ) -> None:
        self.returncode: int | None = None
        self._output = b""
        stdin, writable = os.pipe()
        self.stdin = os.fdopen(writable, "wb", buffering=0)
        self.stdout: Lines | None = None
        child_stdout = stdout
        if child_stdout is None:
            readable, child_stdout = os.pipe()
            self.stdout = Lines(readable)
        order = _order(code, words, env, Path.cwd())
        try:
            self.pid = RANKS.start(order, [stdin, child_stdout, child_stdout])
        finally:
            os.close(stdin)
            if stdout is None:
                os.close(child_stdout)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                self.stdin.close()
        return self.returncode

    def wait(self, timeout: float = 60.0) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"rank of pid {self.pid}", timeout)
            time.sleep(EVERY_S)
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float = 60.0) -> tuple[str, None]:
        """Close its stdin and read all that it says until its end."""
        end = time.monotonic() + timeout
        self.stdin.close()
        while self.stdout is not None and not self.stdout.closed:
            if not select.select([self.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise subprocess.TimeoutExpired(f"rank of pid {self.pid}", timeout)
            more = os.read(self.stdout.fileno(), 1 << 16)
            self._output += more
            if not more:
                self.stdout.close()
        self.wait(max(0.1, end - time.monotonic()))
        return self._output.decode(), None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _order(
    code: str, words: Sequence[str], env: Mapping[str, str], folder: Path, path: Sequence[str] = ()
) -> bytes:
    order = {
        "code": code,
        "words": list(words),
        "environ": dict(env),
        "folder": str(folder),
        "path": list(path),
    }
    return json.dumps(order).encode()


COMMAND = "import sys; from cobre.cli import main; sys.exit(main())"
COUNT_AT_START = ("PYTHON", "LD_", "OMP_", "OPENBLAS_", "MKL_", "MALLOC_")
"""Variables that a process reads when it begins; PYTHONPATH is laid over ``sys.path``."""


def run_cobre(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None, stdin: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """``cobre ARGUMENTS`` to its end; stdout and stderr are files of their own."""
    changed = {name for name in {*env, *os.environ} if env.get(name) != os.environ.get(name)}
    if any(name.startswith(COUNT_AT_START) for name in changed - {"PYTHONPATH"}):
        command = [sys.executable, "-m", "cobre", *arguments]
        return run_command(command, env=env, cwd=cwd, input=stdin, timeout=timeout)
    path = [part for part in env.get("PYTHONPATH", "").split(os.pathsep) if part]
    words = [str(Path(cobre.__file__).parent / "__main__.py"), *arguments]
    with ExitStack() as files:
        streams = [files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin.encode())
        streams[0].seek(0)
        order = _order(COMMAND, words, env, Path.cwd() / (cwd or ""), path)
        pid = COMMANDS.start(order, [stream.fileno() for stream in streams])
        status = _wait(pid, arguments, timeout)
        for stream in streams[1:]:
            stream.seek(0)
        output, errors = (stream.read().decode() for stream in streams[1:])
    return subprocess.CompletedProcess(["cobre", *arguments], status, output, errors)


def _wait(pid: int, arguments: Sequence[str], timeout: float) -> int:
    end = time.monotonic() + timeout
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise subprocess.TimeoutExpired(["cobre", *arguments], timeout)
        time.sleep(EVERY_S)


def start(
    code: str,
    words: Sequence[str],
    *,
    prefix: Sequence[str] = (),
    env: Mapping[str, str],
    stdout: int | None = None,
) -> Process | subprocess.Popen[str]:
    """A process with ``words`` as ``sys.argv``: the file that holds the code, or ``-c``, first.

    Not warm is what has to begin anew: behind another command, or with variables that count only at the start.
    """
    if not prefix and _may_be_forked(env, code):
        return Process(code, words, env=env, stdout=stdout)
    program = ["-c", code] if words[0] == "-c" else [words[0]]
    return subprocess.Popen(
        [*prefix, sys.executable, *program, *words[1:]],
        stdin=subprocess.PIPE if stdout is None else None,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
    )


def _may_be_forked(env: Mapping[str, str], code: str) -> bool:
    changed = {name for name in {*env, *os.environ} if env.get(name) != os.environ.get(name)}
    return "exec" not in code and all(name.startswith("COBRE_") for name in changed)
