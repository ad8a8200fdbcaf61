"""Runs tests of the tests' own machinery: a small suite in a folder, with the real ``conftest.py``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from commands import run_command

HERE = Path(__file__).parent
MACHINERY = (
    "commands.py",
    "conftest.py",
    "leaks.py",
    "matrices.py",
    "mpi_batch.py",
    "mpi_ranks.py",
    "together.py",
    "warm.py",
    "workers.py",
)


def run_pytest(folder: Path, tests: str, *choice: str, **environ: str) -> str:
    """What ``pytest -rA`` prints about these tests."""
    for name in MACHINERY:
        shutil.copy(HERE / name, folder)
    (folder / "test_some.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--rootdir", folder, *choice]
    environ = {**os.environ, **environ}
    done = run_command(command, cwd=folder, env=environ, timeout=110)
    return done.stdout
