"""Starting ``cobre launch`` beside a test, and what its programs begin with."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

MEET = "from cobre.comm import create_communicator\ncomm = create_communicator()\n"
SOCKETS = ["--backend", "sockets", "--timeout", "40"]


def start(environ, *arguments, python=sys.executable):
    """A launcher that runs while the test goes on."""
    return subprocess.Popen(
        [python, "-m", "cobre", "launch", *map(str, arguments)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds: float = 10.0) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def wait_for_end(pids, seconds: float = 60.0) -> None:
    """Fail unless all these processes end soon."""
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, f"still running: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.02)
