"""Ranks on real MPI libraries: one environment for each, made by ``make test``, and a way to run code in them."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import textwrap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from cobre.comm.backends.mpi.leftovers import PATTERNS, mapped_files

T = TypeVar("T")
LIBRARIES = ("openmpi", "mpich")
IS_SOAK = bool(os.environ.get("COBRE_TEST_SOAK"))
_ORDERED = os.environ.get("COBRE_TEST_MPI")  # read here: no test sees variables of ours that it did not set
FOLDER = Path(_ORDERED or Path(__file__).parent.parent / "build" / "mpi")
DEADLINE_S = 100

_BEGAN = time.time()

PREAMBLE = """\
import os, signal, sys, time
import numpy as np
import cobre.comm
from cobre.comm import MpiCommunicator, create_communicator

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()
"""

FOOTER = """
for each in list(globals().values()):
    if isinstance(each, MpiCommunicator):
        each.close()
"""
"""A rank that ends without having closed its communicators aborts the job."""


def python_of(library: str) -> str:
    """The interpreter whose mpi4py loads ``library``. Under ``make test`` it must be there."""
    python = FOLDER / library / "bin" / "python"
    if not python.exists():
        complain = pytest.fail if _ORDERED else pytest.skip
        complain(f"{python} is missing: 'make test' makes it")
    return str(python)


def with_libraries(cases: Iterable[T]) -> list[tuple[str, T]]:
    """Each case with one library, in turn; with COBRE_TEST_SOAK=1 each with both. For what is alike in both."""
    if IS_SOAK:
        return list(itertools.product(LIBRARIES, cases))
    return list(zip(itertools.cycle(LIBRARIES), cases, strict=False))


def run(*command: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """The finished command, stdout and stderr in one. Ranks that wait give way: they are more than the cores."""
    sweep()
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def sweep() -> None:
    """Remove what libraries leave of aborted jobs in /dev/shm, or every run of the suite would fill it further.

    Only what came after this suite began, is a second old and mapped by nobody: it cannot be anybody's own.
    """
    folder = Path("/dev/shm")
    found = [path for pattern in PATTERNS for path in folder.glob(pattern)]
    mapped = mapped_files(folder) if found else set()
    now = time.time()
    for path in found:
        with contextlib.suppress(OSError):
            is_ours = _BEGAN <= path.stat().st_ctime < now - 1 and path.stat().st_uid == os.getuid()
            if is_ours and str(path) not in mapped:
                path.unlink()


def launch(library: str, size: int, program: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """``size`` ranks of a program, by our launcher and so by the library's own mpiexec."""
    options = ["-n", size, "--backend", "mpi", "--no-prefix", "--timeout", DEADLINE_S - 10]
    return run(python_of(library), "-m", "cobre", "launch", *options, "--", program, **environ)


def write_program(folder: Path, code: str, *, ends_open: bool = False) -> Path:
    """A program that begins with `PREAMBLE`, and ends with `FOOTER` unless it ``ends_open``."""
    program = folder / "program.py"
    footer = "" if ends_open else FOOTER
    program.write_text(PREAMBLE + textwrap.dedent(code) + footer, encoding="utf-8")
    return program
