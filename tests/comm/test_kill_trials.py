"""Kill any process of a run at any moment: nothing is left, and the message names the cause.

One trial of each kind runs with the suite, ``make soak`` runs COBRE_SOAK_TRIALS of each: six kinds on shm and on
tcp, and four under each MPI library, where ``mpiexec`` is one more process that can die.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from mpi_ranks import LIBRARIES, python_of, sweep

TRIALS = int(os.environ.get("COBRE_SOAK_TRIALS", "1"))
SIZE = 3
LATEST_KILL_S = 1.5
ENDED_WITHIN_S = 15.0
RANK_VARIABLES = ("COBRE_SHM_RANK", "COBRE_TCP_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")

LOOP = """
import time
import numpy as np

def loop(comm):
    a, b = np.ones(5000), np.empty(5000)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        comm.allreduce(a, b, "sum")
        comm.barrier()
        time.sleep(0.002)
"""
LAUNCHED = (
    LOOP
    + """
from cobre.comm import create_communicator
with create_communicator() as comm:
    loop(comm)
"""
)
PARENT = (
    LOOP
    + """
import sys
from cobre.comm import run
run(loop, num_workers=int(sys.argv[1]), backend=sys.argv[2])
"""
)


class Trial:
    """One run in processes that carry a mark of their own, so that nobody else's are looked at."""

    def __init__(self, kind: str, backend: str, folder: Path, python: str = sys.executable) -> None:
        self._mark = f"COBRE_KILL_TRIAL={uuid.uuid4().hex}".encode()
        self.killed: int | None = None
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        program = folder / "program.py"
        program.write_text(LAUNCHED if kind == "launch" else PARENT)
        start = ["-m", "cobre", "launch", "-n", str(SIZE), "--backend", backend, str(program)]
        command = start if kind == "launch" else [str(program), str(SIZE), backend]
        name, _, value = self._mark.decode().partition("=")
        self.root = subprocess.Popen(
            [python, *command],
            env={**os.environ, "TMPDIR": str(self.temporary), name: value},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environments(self) -> dict[int, dict[str, str]]:
        """Of every process of this trial that runs now."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0] if variables else "Z"
            except OSError:
                continue
            if self._mark in variables and state != "Z":
                pairs = (each.decode(errors="replace").partition("=") for each in variables)
                found[int(entry.name)] = {name: value for name, _, value in pairs}
        return found

    def children(self) -> list[int]:
        """Of the root."""
        try:
            children = Path(f"/proc/{self.root.pid}/task/{self.root.pid}/children")
            return [int(word) for word in children.read_text().split()]
        except OSError:
            return []

    def guard(self) -> list[int]:
        """The process that watches over the ranks: it carries no mark, but it is a child of the root."""
        try:
            # A zombie has no command line any more.
            return [
                pid for pid in self.children() if b"cobre-guard" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ]
        except OSError:
            return []


def rank_in(variables: dict[str, str]) -> int | None:
    if "COBRE_LAUNCH_ID" not in variables:
        return None
    numbers = (variables.get(name) for name in RANK_VARIABLES)
    return next((int(number) for number in numbers if number is not None), None)


@pytest.mark.waits
@pytest.mark.timeout(60 + 20 * TRIALS)
@pytest.mark.parametrize("backend", ["shm", "tcp"])
@pytest.mark.parametrize("kind", ["launch", "run"])
@pytest.mark.parametrize("victim", ["root", "rank", "guard"])
def test_killing_anything_leaves_nothing(kind, victim, backend, tmp_path):
    for number in range(TRIALS):
        choice = random.Random(f"{kind} {victim} {backend} {number}")
        one_trial(Trial(kind, backend, tmp_path), kind, victim, choice)


@pytest.mark.few(2)
@pytest.mark.timeout(60 + 20 * TRIALS)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("victim", ["root", "rank", "guard", "mpiexec"])
def test_killing_anything_under_mpiexec_leaves_nothing(victim, library, tmp_path):
    for number in range(TRIALS):
        sweep()
        choice = random.Random(f"{victim} {library} {number}")
        one_trial(Trial("launch", "mpi", tmp_path, python_of(library)), "launch", victim, choice)


def one_trial(trial: Trial, kind: str, victim: str, choice: random.Random) -> None:
    delay = choice.uniform(0.0, LATEST_KILL_S)
    names: set[Path] = set()
    ports: set[int] = set()
    end = time.monotonic() + delay
    killed = None
    while killed is None:
        running = trial.environments()
        names |= {
            Path("/dev/shm" + env["COBRE_SHM_NAME"]) for env in running.values() if "COBRE_SHM_NAME" in env
        }
        ports |= {int(env["COBRE_TCP_PORT"]) for env in running.values() if "COBRE_TCP_PORT" in env}
        if time.monotonic() >= end:
            killed = kill_one(trial, victim, running, choice)
        time.sleep(0.01)
        has_ended = killed is None and trial.root.poll() is not None
        assert not has_ended, f"ended by itself: {trial.root.communicate()[1]}"
        assert time.monotonic() < end + ENDED_WITHIN_S, f"there was nothing to kill: {running}"
    if victim == "guard":
        # A killed process is listed until the kernel has taken it down.
        wait_until(lambda: set(trial.guard()) - {trial.killed}, "the guard has no successor")
        os.kill(trial.root.pid, signal.SIGKILL)  # the successor must do what the first would have done
    _, said = trial.root.communicate(timeout=ENDED_WITHIN_S)
    when = f"{victim} killed after {delay:.2f} s"
    wait_until(lambda: not trial.environments(), f"{when}; still running: {trial.environments()}")
    wait_until(lambda: not any(map(Path.exists, names)), f"{when}; left {names}")
    wait_until(lambda: not any(trial.temporary.iterdir()), f"{when}; left {[*trial.temporary.iterdir()]}")
    for port in ports:
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0, f"port {port} is still open"
    if victim == "rank":
        if undecided := re.search(
            r"rank (\d) of 3 \(or (\d)(?: or (\d))?, gone at the same time\) failed", said
        ):
            # MPICH may notice by itself, and end the others before the dead rank is torn down.
            assert str(killed) in undecided.groups(), said
            assert "Fatal error in" in said
            return
        assert trial.root.returncode == (137 if kind == "launch" else 1), said
        pattern = rf"rank {killed} (of {SIZE} )?failed( first, with| with)?:? signal 9"
        assert re.search(pattern, said), said
    elif victim == "mpiexec":
        assert trial.root.returncode == 137, said
        assert re.search(r"^cobre launch: mpiexec failed( first,)? with signal 9 \(SIGKILL\)$", said, re.M), (
            said
        )
    else:
        assert trial.root.returncode == -signal.SIGKILL


def kill_one(trial: Trial, victim: str, running, choice: random.Random) -> int | None:
    """Kill the victim if it exists by now; a number that says which it was."""
    if victim == "root":
        pids = [trial.root.pid]
    elif victim == "guard":
        pids = trial.guard()
    elif victim == "mpiexec":
        pids = [pid for pid in trial.children() if "COBRE_LAUNCH_ID" in running.get(pid, {})]
    else:
        pids = [
            pid for pid, variables in running.items() if rank_in(variables) is not None and is_itself(pid)
        ]
    if not pids:
        return None
    pid = choice.choice(sorted(pids))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    trial.killed = pid
    return rank_in(running.get(pid, {})) or 0


def is_itself(pid: int) -> bool:
    """Whether the rank has become the program. Before, only mpiexec knows of it, and has the say about its name."""
    try:
        return b"outlet.py" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def wait_until(condition, message: str) -> None:
    end = time.monotonic() + ENDED_WITHIN_S
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.02)
