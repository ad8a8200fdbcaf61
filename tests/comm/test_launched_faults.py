"""The same misfortunes as in test_shm_faults and test_tcp_faults, of ranks that ``cobre launch`` has started.

Every call meets one of them here; with COBRE_TEST_SOAK=1 every call meets each.
"""

from __future__ import annotations

import json
import os
import sys

import pytest

from comm.fault_calls import CALLS
from commands import run_command
from shm_ranks import NOTICED_S, TIMEOUT_S

SHORT_S = 2.0
"""The timeout where it is what ends the wait."""
LATE_S = 1.0 + NOTICED_S  # a worker's grace for a rank 0 that is about to say who is missing
SIZE, VICTIM = 3, 2

PROGRAM = """
import json, os, signal, sys, time
import numpy as np
from cobre.comm import CollectiveFailed, create_communicator

comm = create_communicator()
rank, size, victim = comm.rank, comm.size, comm.size - 1
region = comm.create_shared_region(10)
comm.barrier()
said = []

def attempt(call):
    begin = time.monotonic()
    try:
        call()
    except CollectiveFailed as error:
        said.append([str(error), time.monotonic() - begin])

if rank == victim:
    MISFORTUNE
attempt(lambda: CALL)
attempt(comm.barrier)
with open(f"{sys.argv[0]}.{rank}", "w") as file:
    json.dump(said, file)
sys.exit(7)
"""

MISFORTUNES = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSTOP": "os.kill(os.getpid(), signal.SIGSTOP)",
    "exit": "os._exit(3)",
    "exception": "raise RuntimeError('on purpose')",
    "disagreement": "attempt(lambda: comm.allreduce(np.ones(7, 'f4'), np.empty(7, 'f4'), 'max'))",
}
STATUS = {"SIGKILL": 137, "SIGSTOP": 7, "exit": 3, "exception": 1, "disagreement": 7}


def meetings():
    for place, call in enumerate(CALLS):
        for turn, misfortune in enumerate(MISFORTUNES):
            if "COBRE_TEST_SOAK" in os.environ or turn == place % len(MISFORTUNES):
                yield "shm", call, misfortune
                if call != "fence":  # with a region in the memory of each rank, it waits for nobody
                    yield "tcp", call, misfortune


@pytest.mark.few(5)
@pytest.mark.waits
@pytest.mark.parametrize(("backend", "call", "misfortune"), sorted(meetings()))
def test_the_remaining_ranks_name_the_lost_one_and_the_launcher_ends(tmp_path, backend, call, misfortune):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("MISFORTUNE", MISFORTUNES[misfortune]).replace("CALL", CALLS[call]))
    timeout = SHORT_S if misfortune == "SIGSTOP" else TIMEOUT_S
    timeouts = {f"COBRE_{name}_TIMEOUT_SECS": str(timeout) for name in ("SHM", "TCP")}
    launch = ["launch", "-n", str(SIZE), "--backend", backend, "--grace", "1", "--timeout", "100"]
    done = run_command(
        [sys.executable, "-m", "cobre", *launch, str(program)], env={**os.environ, **timeouts}, timeout=110
    )
    assert done.returncode == STATUS[misfortune], done.stderr
    in_time = LATE_S + (SHORT_S if misfortune == "SIGSTOP" else 0.0)
    for rank in range(SIZE if misfortune == "disagreement" else SIZE - 1):
        (first, seconds), (again, at_once) = json.loads((tmp_path / f"program.py.{rank}").read_text())[:2]
        assert f"rank {VICTIM}" in first, first
        assert again == first
        assert seconds < in_time, (first, seconds)
        assert at_once < LATE_S, (again, at_once)
