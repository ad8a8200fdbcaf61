"""Ranks that leave right after a collective, on a machine where some ranks are held up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from commands import run_command

PROGRAM = """
import numpy as np
from cobre.comm import create_communicator

comm = create_communicator()
parts = np.empty(comm.size)
comm.allgatherv(np.array([float(comm.rank)]), parts, [1] * comm.size, range(comm.size))
assert parts.tolist() == list(range(comm.size))
"""

BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@pytest.mark.soak
def test_a_rank_may_leave_after_contributing_while_another_is_held_up(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "cobre", "launch", "-n", "5", "--backend", "tcp", str(program)]
    hogs = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        for _ in range(8):
            done = run_command(command)
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
