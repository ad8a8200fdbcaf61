"""The command line as a user meets it: in processes of its own, on pipes and on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time

import pytest

import warm

CLOSE = "\nif 'comm' in globals(): comm.close()\n"
"""At the end of a program: a rank of mpi that ends without it aborts the job."""


@pytest.fixture
def environ(sockets_path):
    return {**os.environ, "PYTHONPATH": sockets_path, "TERM": "xterm"}


@pytest.fixture
def cobre(environ):
    """Run ``cobre ARGUMENTS`` to its end; stdout and stderr apart."""

    def run(*arguments, stdin="", check=None, cwd=None, **variables):
        done = warm.run_cobre(
            [str(argument) for argument in arguments],
            env={**environ, **variables},
            cwd=cwd,
            stdin=stdin,
            timeout=60,
        )
        if check is not None:
            assert done.returncode == check, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def program(tmp_path):
    """Write a Python program that ranks run; its path."""

    def write(code, name="program.py"):
        path = tmp_path / name
        path.write_text("import os, signal, sys, time\n" + textwrap.dedent(code) + CLOSE)
        return path

    return write


class Terminal:
    """``cobre ARGUMENTS`` with a terminal of its own, as its controlling one."""

    def __init__(self, arguments, environ, columns=80, errors=None, cwd=None, code=None, pass_fds=()):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, *(("-c", code) if code else ("-m", "cobre", *map(str, arguments)))],
            stdin=slave,
            stdout=slave,
            stderr=slave if errors is None else errors,
            env=environ,
            cwd=cwd,
            pass_fds=pass_fds,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.text = ""

    def read_until(self, wanted, seconds=20.0):
        end = time.monotonic() + seconds
        while wanted not in self.text:
            assert time.monotonic() < end, f"{wanted!r} is not in {self.text!r}"
            if not self._read(0.1) and self.process.poll() is not None:
                break
        assert wanted in self.text, self.text
        return self.text

    def type(self, text):
        os.write(self._master, text.encode())

    def wait(self, seconds=30.0):
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text
            self._read(0.1)
        while self._read(0.0):
            pass
        return self.process.returncode

    def _read(self, seconds):
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return False
        self.text += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def close(self):
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(environ):
    opened = []

    def start(*arguments, columns=80, errors=None, cwd=None, code=None, pass_fds=(), **variables):
        opened.append(Terminal(arguments, {**environ, **variables}, columns, errors, cwd, code, pass_fds))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
