"""Runs a program of the public Cobre 0.18, where ``COBRE_TEST_PUBLIC`` names one."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commands import run_command

PROGRAM = os.environ.get("COBRE_TEST_PUBLIC")
DEADLINE_S = 300

needs_public = pytest.mark.skipif(PROGRAM is None, reason="COBRE_TEST_PUBLIC does not name the program")


def public_bound(case: Path, output: Path) -> float:
    """The lower bound that the public program ends with."""
    assert PROGRAM is not None
    command = [PROGRAM, "run", str(case), "--quiet", "--output", str(output)]
    done = run_command(command, timeout=DEADLINE_S)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    bounds = pq.read_table(output / "training/convergence.parquet")["lower_bound"].to_pylist()
    return float(bounds[-1])
