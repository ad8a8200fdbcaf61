"""``cobre launch`` over several machines."""

from __future__ import annotations

import socket

from launches import MEET, start


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_launchers_make_one_group(environ, program):
    """Both on this machine, as two machines would."""
    path = program(
        MEET + "import numpy as np\nall_ranks = np.empty(comm.size)\n"
        "comm.allgatherv(np.array([float(comm.rank)]), all_ranks, [1] * comm.size, range(comm.size))\n"
        "print(comm.rank, all_ranks.astype(int).tolist())"
    )
    common = ["-n", 5, "--backend", "tcp", "--nodes", 2, "--coordinator", f"127.0.0.1:{free_port()}"]
    launchers = [start(environ, *common, "--node-rank", node, path) for node in range(2)]
    outputs = [launcher.communicate(timeout=60) for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0], outputs
    shown = [sorted(out.splitlines()) for out, _ in outputs]
    assert shown[0] == [f"[{rank}] {rank} [0, 1, 2, 3, 4]" for rank in (0, 1, 2)]
    assert shown[1] == [f"[{rank}] {rank} [0, 1, 2, 3, 4]" for rank in (3, 4)]


def test_a_failure_on_one_machine_is_not_blamed_on_the_ranks_of_another(environ, program):
    path = program(
        MEET + "comm.barrier()\nif comm.rank == 3: raise ValueError('rank 3 is ill')\ncomm.barrier()"
    )
    common = ["-n", 4, "--backend", "tcp", "--nodes", 2, "--coordinator", f"127.0.0.1:{free_port()}"]
    launchers = [start(environ, *common, "--node-rank", node, path) for node in range(2)]
    errors = [launcher.communicate(timeout=60)[1] for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [1, 1]
    assert "cobre launch: no rank here failed by itself; rank" in errors[0]
    assert "cobre launch: rank 3 of 4 failed" in errors[1]


def test_another_machine_needs_a_secret_before_anything_starts(cobre):
    nodes = ["--nodes", "2", "--node-rank", "0", "--coordinator", "far.example:29500"]
    done = cobre("launch", "-n", 4, "--backend", "tcp", *nodes, "echo", "started", check=4)
    assert "COBRE_TCP_SECRET" in done.stderr
    assert done.stdout == ""


def test_shm_stays_on_one_machine(cobre):
    nodes = ["--nodes", "2", "--node-rank", "0", "--coordinator", "127.0.0.1"]
    done = cobre("launch", "-n", 4, *nodes, "echo", check=4)
    assert "--backend tcp" in done.stderr
