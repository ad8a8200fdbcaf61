"""Ctrl-C in the first moments of a command: one line and status 130, never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cobre.io.examples import write_example
from commands import run_command
from small_case import set_limits

# Found by every interpreter that starts with this folder on its path: SIGINT comes while the named module is imported.
SITECUSTOMIZE = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("INTERRUPT_AT"):
            os.environ["INTERRUPT_AT"] = ""
            signal.raise_signal(signal.SIGINT)  # at once: another thread may be late to take what kill sends

sys.meta_path.insert(0, Interrupt())
"""


@pytest.fixture
def interrupted(environ, tmp_path):
    """Run ``cobre ARGUMENTS``, interrupted while it imports a module."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITECUSTOMIZE)
    path = os.pathsep.join([str(tmp_path / "site"), environ["PYTHONPATH"]])

    def run(module, *arguments):
        return run_command(
            [sys.executable, "-m", "cobre", *map(str, arguments)],
            env={**environ, "PYTHONPATH": path, "INTERRUPT_AT": module},
        )

    return run


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("doctor", "cobre.cli.doctor"),
        ("doctor", "cobre._native"),
        ("doctor", "numpy"),
        ("bench", "numpy"),
        ("doctor", "rich.table"),
        ("launch", "cobre.cli.launch"),
        ("launch", "cobre.comm.launch.group"),
        ("launch", "typing"),
        ("launch", "threading"),
        ("launch", "numpy"),  # by the compiled core, which is loaded with the backend
        ("run", "cobre.cli.run"),
        ("run", "numpy"),
        ("run", "pyarrow"),
        ("run", "pyarrow.lib"),
        ("run", "cobre._native"),
    ],
)
def test_an_interrupt_while_a_command_is_imported_is_one_line(interrupted, tmp_path, command, module):
    write_example(tmp_path / "case")
    needed = {"run": [tmp_path / "case"], "launch": ["-n", 2, "/bin/true"]}
    done = interrupted(module, command, *needed.get(command, []))
    assert (done.returncode, done.stderr) == (130, "cobre: interrupted\n"), module


@pytest.mark.parametrize("options", [[], ["--html", "report.html"]], ids=["json", "html"])
def test_an_interrupt_while_a_report_loads_what_it_needs_is_one_line(interrupted, tmp_path, options):
    # NumPy's compiled code imports this module and turns the interrupt into an ImportError.
    done = interrupted("_datetime", "report", tmp_path, *options)
    assert (done.returncode, done.stderr) == (130, "cobre: interrupted\n")


def workers_of(parent):
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [
            child
            for child in children
            if b"cobre.comm.rank_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
    except OSError:
        return []


@pytest.mark.few(1)
@pytest.mark.parametrize("later_s", [0.0, 0.1, 0.3])
def test_an_interrupt_while_workers_start_shows_no_traceback(environ, tmp_path, later_s):
    case = tmp_path / "case"
    write_example(case)
    set_limits(case, 100_000)
    command = [sys.executable, "-m", "cobre", "run", str(case), "-n", "2"]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 30
        while len(workers_of(process.pid)) < 2:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.001)
        time.sleep(later_s)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=50)
    assert process.returncode == 130, complaints
    assert complaints in ("", "cobre: interrupted\n")


def test_a_worker_ended_by_an_interrupt_is_not_reported_as_failed(tmp_path):
    """What `run` raises is what the user did, whatever the worker was doing."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, time\n"
        "from cobre.comm import run\n"
        "def wait(comm):\n"
        "    comm.barrier()\n"
        "    print('waiting', flush=True)\n"
        "    time.sleep(30)\n"
        "try:\n"
        "    run(wait, num_workers=2, relay_signals=True)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as process:
        assert {process.stdout.readline() for _ in range(2)} == {"waiting\n"}
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=50)[0] == "interrupted\n"
