"""Reading tables leaves no thread behind that could abort the interpreter at its end."""

from __future__ import annotations

import sys

from cobre.io.examples import write_example
from commands import run_command

COUNT_THREADS = """
import os, sys
import cobre.io.parquet
from cobre.io import load
before = set(os.listdir("/proc/self/task"))
load(sys.argv[1])
names = [open(f"/proc/self/task/{id}/comm").read() for id in set(os.listdir("/proc/self/task")) - before]
print(names)
"""


def test_loading_a_case_starts_no_thread(tmp_path):
    write_example(tmp_path / "case")
    done = run_command([sys.executable, "-c", COUNT_THREADS, str(tmp_path / "case")], check=True)
    assert done.stdout == "[]\n"
