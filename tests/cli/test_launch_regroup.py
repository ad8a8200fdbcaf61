"""``cobre launch --max-restarts`` over several machines: launchers agree on how to start again."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import pytest

from cli.test_launch_nodes import free_port
from cobre.comm.backend import MeetingPoint, Nodes
from cobre.comm.launch import regroup
from cobre.comm.launch.regroup import Answer, Report, ask_first_machine, decide, gather_machines
from cobre.comm.launch.restarts import Restarts
from launches import MEET, start
from workers_of import workers_of

DEADLINE_S = 60
REJOIN_S = 30.0

# Every rank says which attempt it is. In the first one the victim then waits to be killed, and the others for it.
PROGRAM = (
    "import os, pathlib, sys, time\n"
    "attempt = int(os.environ.get('COBRE_LAUNCH_RESTART', 0))\n"
    f"{MEET}"
    "comm.barrier()\n"
    "print(f'attempt {attempt}: {comm.rank} of {comm.size}')\n"
    "sys.stdout.flush()\n"
    "pathlib.Path(sys.argv[1], f'{attempt}_{comm.rank}').touch()\n"
    "if attempt == 0: time.sleep(60 if comm.rank == int(sys.argv[2]) else 0); comm.barrier()\n"
)


def reports_of(**outcomes):
    found = {}
    for name, (outcome, rank) in outcomes.items():
        node = int(name.removeprefix("node"))
        found[node] = Report(node, 0, outcome, rank)
    return found


def nodes_of(size, nodes, node_rank=0, coordinator="127.0.0.1"):
    return Nodes(size, nodes, node_rank, coordinator)


def test_all_machines_start_again_with_all_ranks_after_one_died():
    answers = decide(nodes_of(5, 2), reports_of(node0=("told", 0), node1=("died", 4)), Restarts(2))
    assert answers == {0: Answer("again", 5, 2, 0, 1), 1: Answer("again", 5, 2, 1, 1)}


def test_a_machine_that_does_not_come_back_is_left_out_with_its_ranks():
    answers = decide(nodes_of(7, 3), reports_of(node0=("told", 0), node2=("told", 5)), Restarts(2))
    assert answers == {0: Answer("again", 5, 2, 0, 1), 2: Answer("again", 5, 2, 1, 1)}


def test_the_first_machine_goes_on_alone():
    answers = decide(nodes_of(5, 2), reports_of(node0=("told", 0)), Restarts(2))
    assert answers == {0: Answer("again", 3, 1, 0, 1)}


def test_a_rank_that_dies_twice_in_a_row_is_left_out_on_several_machines():
    restarts, reports = Restarts(3), reports_of(node0=("told", 1), node1=("died", 3))
    assert decide(nodes_of(4, 2), reports, restarts)[0].size == 4
    assert decide(nodes_of(4, 2), reports, restarts)[0].size == 3


def test_a_machine_without_ranks_in_the_next_attempt_ends():
    restarts, reports = Restarts(3), reports_of(node0=("told", 0), node1=("died", 1))
    decide(nodes_of(2, 2), reports, restarts)
    answers = decide(nodes_of(2, 2), reports, restarts)
    assert answers[0] == Answer("again", 1, 1, 0, 2)
    assert answers[1].action == "leave"


def test_a_program_that_failed_is_started_again_on_no_machine():
    answers = decide(nodes_of(4, 2), reports_of(node0=("told", 0), node1=("failed", 3)), Restarts(2))
    assert {answer.action for answer in answers.values()} == {"end"}
    assert "rank 3 on machine 1 failed" in answers[0].reason


def test_all_machines_end_after_the_last_attempt():
    answers = decide(nodes_of(4, 2), reports_of(node0=("told", 0), node1=("died", 3)), Restarts(0))
    assert {answer.action for answer in answers.values()} == {"end"}


def meeting(secret=b"secret"):
    return MeetingPoint("127.0.0.1", free_port(), "127.0.0.1", secret)


def gathered(place, rejoin_s, found):
    nodes = nodes_of(2, 2)
    found.append(gather_machines(place, nodes, Report(0, 0, "told", 0), Restarts(1), rejoin_s))


def test_requests_without_the_secret_are_refused(monkeypatch):
    monkeypatch.setattr(regroup, "EXCHANGE_S", 0.5)
    place, found = meeting(), []
    host = threading.Thread(target=gathered, args=(place, 1.0, found))
    host.start()
    stranger = place._replace(secret=b"another")
    assert ask_first_machine(stranger, Report(1, 0, "died", 1), 0.2) is None
    host.join(DEADLINE_S)
    assert found == [(Answer("again", 1, 1, 0, 1), [1])]


@pytest.mark.parametrize("words", [b"", b"x" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"00 {}\n", b"00 []\n"])
def test_unknown_requests_change_nothing(words):
    place, found = meeting(), []
    host = threading.Thread(target=gathered, args=(place, REJOIN_S, found))
    host.start()
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            with socket.create_connection(("127.0.0.1", place.port)) as stranger:
                stranger.sendall(words)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
    assert ask_first_machine(place, Report(1, 0, "died", 1), REJOIN_S) == Answer("again", 2, 2, 1, 1)
    host.join(DEADLINE_S)
    assert found == [(Answer("again", 2, 2, 0, 1), [])]


class Machines:
    """Launchers that are started as on several machines."""

    def __init__(self, environ, path, folder, size, nodes, *, victim, rejoin=REJOIN_S):
        self.folder = folder
        common = [
            "-n",
            size,
            "--backend",
            "tcp",
            "--nodes",
            nodes,
            "--coordinator",
            f"127.0.0.1:{free_port()}",
        ]
        common += ["--max-restarts", 3, "--rejoin", rejoin, "--grace", 0.2]
        self.launchers = [
            start(environ, *common, "--node-rank", node, path, folder, victim) for node in range(nodes)
        ]

    def wait_for(self, *names):
        deadline = time.monotonic() + DEADLINE_S
        while not all((self.folder / name).exists() for name in names):
            assert time.monotonic() < deadline, f"{names} did not come: {list(self.folder.iterdir())}"
            time.sleep(0.01)

    def outputs(self):
        return [launcher.communicate(timeout=DEADLINE_S) for launcher in self.launchers]

    @property
    def statuses(self):
        return [launcher.returncode for launcher in self.launchers]


@pytest.fixture
def machines(environ, program, tmp_path):
    started = []

    def make(size, nodes, **options):
        folder = tmp_path / "ranks"
        folder.mkdir()
        started.append(Machines(environ, program(PROGRAM), folder, size, nodes, **options))
        return started[-1]

    yield make
    for each in started:
        for launcher in each.launchers:
            launcher.kill()
            launcher.communicate()


def test_a_killed_rank_comes_back_on_all_machines(machines):
    both = machines(3, 2, victim=2)
    both.wait_for("0_0", "0_1", "0_2")
    os.kill(workers_of(both.launchers[1].pid, b"ranks")[0], signal.SIGKILL)
    (out, errors), (out_1, errors_1) = both.outputs()
    assert both.statuses == [0, 0], errors + errors_1
    assert "attempt 1: 0 of 3" in out
    assert "attempt 1: 2 of 3" in out_1
    said = "cobre launch: starting again with 3 ranks on 2 machines (restart 1 of 3)"
    assert said in errors
    assert said in errors_1


def test_a_lost_machine_is_left_out_and_reported(machines):
    three = machines(4, 3, victim=2, rejoin=1.0)
    three.wait_for("0_0", "0_1", "0_2", "0_3")
    three.launchers[1].kill()  # its guard kills its rank
    outputs = three.outputs()
    assert [three.statuses[0], three.statuses[2]] == [0, 0], outputs
    assert "machine 1 did not come back within 1 s: left out, with 1 rank" in outputs[0][1]
    assert "starting again with 3 ranks on 2 machines (restart 1 of 3)" in outputs[0][1]
    assert "attempt 1: 1 of 3" in outputs[0][0]
    assert "attempt 1: 2 of 3" in outputs[2][0]


def test_without_the_first_machine_the_others_end_and_say_what_to_do(machines):
    both = machines(2, 2, victim=0, rejoin=0.2)
    both.wait_for("0_0", "0_1")
    both.launchers[0].kill()
    _, (_, errors) = both.outputs()
    assert both.statuses[1] != 0
    assert "not started again: machine 0 (127.0.0.1" in errors
    assert "--resume" in errors


def test_a_program_that_fails_on_one_machine_ends_on_all(environ, program):
    path = program(MEET + "comm.barrier()\nif comm.rank == 1: raise ValueError('ill')\ncomm.barrier()")
    common = ["-n", 2, "--backend", "tcp", "--nodes", 2, "--coordinator", f"127.0.0.1:{free_port()}"]
    common += ["--max-restarts", 3, "--grace", 0.2]
    launchers = [start(environ, *common, "--node-rank", node, path) for node in range(2)]
    errors = [launcher.communicate(timeout=DEADLINE_S)[1] for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [1, 1]
    assert all("not started again: rank 1 on machine 1 failed" in text for text in errors), errors
    assert not any("starting again with" in text for text in errors)
