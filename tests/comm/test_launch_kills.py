"""A rank that a signal ended: the launcher and ``run`` say why, as far as the kernel tells, and what to do."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from cobre.comm import WorkerError, run
from cobre.comm.launch.blame import RankResult
from cobre.comm.launch.connected import ConnectedRank, ConnectedRanks
from cobre.comm.launch.kills import SignalWatch, signal_name
from cobre.comm.report import Failure, Inbox, Message, Tag
from cobre.comm.selection import get_backend
from commands import run_command

MOUNTS = (
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)
ENOUGH_FOR_PYTHON = 320 << 20

HUNGRY = """
def grow(comm):
    comm.barrier()
    hoard = []
    while comm.rank == 1:
        hoard.append(bytearray(b"x") * (16 << 20))
    comm.barrier()
"""


@pytest.fixture
def small_group():
    """A control group with little memory, in which a command can run."""
    for mount, limit in MOUNTS:
        group = mount / f"cobre_test_{uuid.uuid4().hex}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(ENOUGH_FOR_PYTHON))
        except OSError:  # the controller is not there for groups below
            group.rmdir()
            continue
        yield group
        group.rmdir()
        return
    pytest.skip("needs root and a memory controller that lets it make a group")


def run_in(group, *command):
    script = f'echo $$ > {group}/cgroup.procs; exec "$@"'
    return run_command(["sh", "-c", script, "sh", *map(str, command)], timeout=90)


def test_run_says_that_a_worker_was_killed_for_lack_of_memory(small_group, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HUNGRY + "import cobre.comm\ncobre.comm.run(grow, num_workers=2)\n")
    done = run_in(small_group, sys.executable, program)
    message = done.stderr[done.stderr.index("WorkerError: ") :]
    assert message.startswith("WorkerError: rank 1 failed: signal 9 (SIGKILL): ")
    assert "ran out of memory\n" in message
    assert "fix: start fewer ranks, or give them more memory" in message


def test_the_launcher_says_that_a_rank_was_killed_for_lack_of_memory(small_group, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HUNGRY + "from cobre.comm import create_communicator\ngrow(create_communicator())\n")
    command = [sys.executable, "-m", "cobre", "launch", "-n", 2, "--timeout", 60, program]
    done = run_in(small_group, *command)
    assert done.returncode == 128 + signal.SIGKILL
    end = done.stderr[done.stderr.index("cobre launch: ") :]
    assert end.startswith("cobre launch: rank 1 of 2 failed first, with signal 9 (SIGKILL)\n")
    assert "  likely: the kernel killed it because its control group ran out of memory\n" in end
    assert end.splitlines()[-1].startswith("  fix: start fewer ranks")


def end_by(comm, number):
    comm.barrier()
    if comm.rank == 0:
        signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
        os.kill(os.getpid(), number)
    comm.barrier()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("number", "reason", "remedy"),
    [
        (signal.SIGKILL, "not for lack of memory", "scheduler's log"),
        (signal.SIGSEGV, "touched memory that is not its own", "PYTHONFAULTHANDLER=1"),
        (signal.SIGBUS, "could not be had when it was used", "/dev/shm"),
    ],
)
def test_every_other_fatal_signal_is_explained(number, reason, remedy):
    with pytest.raises(WorkerError) as caught:
        run(end_by, num_workers=2, args=(number,))
    assert (caught.value.rank, caught.value.exit_code) == (0, -number)
    assert f"rank 0 failed: signal {number.value} ({number.name}): " in caught.value.message
    assert reason in caught.value.message
    assert remedy in caught.value.suggestion


def test_exit_statuses_and_sigterm_get_no_explanation():
    watch = SignalWatch()
    assert [watch.explain(code) for code in (0, 1, 4, -signal.SIGTERM, -signal.SIGINT)] == [None] * 5
    assert signal_name(-signal.SIGRTMIN - 1) == f"signal {signal.SIGRTMIN + 1}"


def test_an_mpiexec_that_crashes_after_a_rank_was_killed_is_not_the_culprit():
    """Open MPI's mpiexec was seen to end with SIGSEGV while it removed the ranks beside a killed one."""
    told = "prterun noticed that process rank 1 with PID 6149 on node vm exited on\nsignal 9 (Killed).\n"
    crashed = RankResult(None, -signal.SIGSEGV, told, 2.0, command="mpiexec")
    connected = ConnectedRanks(get_backend("mpi"), 3, is_split=True, keep_lines=None)
    try:
        connected.ranks = {rank: ConnectedRank(rank, None) for rank in range(3)}
        culprit = connected.culprit(crashed, 0.0)
        silent = connected.culprit(replace(crashed, output="no word about a rank"), 0.0)
    finally:
        connected.close()
    assert (culprit.who, culprit.exit_code) == ("rank 1", -signal.SIGKILL)
    assert (silent.who, silent.exit_code) == ("mpiexec", -signal.SIGSEGV)


def test_a_rank_that_mpiexec_ended_is_not_blamed_for_the_one_that_aborted_the_job():
    """On a busy machine the launcher may see the ranks that mpiexec ended go before the one that aborted."""
    connected = ConnectedRanks(get_backend("mpi"), 3, is_split=True, keep_lines=None)
    try:
        connected.ranks = {rank: ConnectedRank(rank, None) for rank in range(3)}
        for rank, code, gone_at in ((0, -signal.SIGTERM, 1.1), (1, -signal.SIGTERM, 1.0), (2, 3, 1.2)):
            connected.ranks[rank].exit_code, connected.ranks[rank].gone_at = code, gone_at
        culprit = connected.culprit(RankResult(None, 3, "", 2.0, command="mpiexec"), 0.0)
    finally:
        connected.close()
    assert (culprit.who, culprit.status) == ("rank 2", 3)


@pytest.mark.parametrize(("reported_at", "culprit"), [(1.2, "rank 1"), (2.5, "rank 0")])
def test_a_rank_that_mpiexec_ended_is_not_blamed_though_it_went_before_the_report_was_read(
    reported_at, culprit
):
    connected = ConnectedRanks(get_backend("mpi"), 2, is_split=True, keep_lines=None)
    ended, aborted = (ConnectedRank(rank, None) for rank in range(2))
    connected.ranks = {0: ended, 1: aborted}
    ended.exit_code, ended.gone_at = -signal.SIGTERM, 1.0
    aborted.inbox = Inbox()
    aborted.inbox.messages.append(Message(Tag.FAILURE, Failure("SystemExit(3)", False, "").to_bytes()))
    aborted.reported_at = reported_at
    try:
        blamed = connected.culprit(RankResult(None, 3, "", 2.0, command="mpiexec"), 0.0)
    finally:
        aborted.inbox.close_write_end()
        connected.close()
    assert blamed.who == culprit
