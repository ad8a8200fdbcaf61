"""Ranks that meet, or learn within the connect deadline why they cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cobre.comm import InitializationFailed, ShmCommunicator, ShmConfig
from shm_ranks import (
    NOTICED_S,
    PRELUDE,
    Ranks,
    fresh_name,
    run,
    wait_for,
    wait_until_registered,
    wait_until_stopped,
)
from system_calls import AT_SYSTEM_CALL

ATTACH = "attempt(lambda: ShmCommunicator.attach(config()))"
IN_VAIN = "attempt(lambda: ShmCommunicator.attach(config(connect_timeout=2.0)))"
"""For ranks that wait for one that does not come."""
FOLDER = Path("/dev/shm")


def assert_refused(rank, *words, within=NOTICED_S):
    assert rank.said, rank.output
    assert rank.said[0]["error"] == "InitializationFailed", rank.output
    assert all(word in rank.said[0]["text"] for word in words), rank.output
    assert "fix:" in rank.said[0]["text"], rank.output
    assert rank.said[0]["seconds"] < within, rank.output


def overwrite(path, offset, number):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(number.to_bytes(4, "little"))


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_name_is_gone_when_attach_returns(size):
    ranks = run(size, "comm = ShmCommunicator.attach(config())\nsay(left=os.path.exists('/dev/shm' + name))")
    assert [rank.said for rank in ranks] == [[{"left": False}]] * size


def test_others_wait_for_rank_0():
    with Ranks(0, "") as ranks:
        ranks.add(1, 2, "say(begun=True)\n" + ATTACH).hear()
        time.sleep(0.3)  # it looks for the segment by now
        ranks.add(0, 2, "say(begun=True)\n" + ATTACH)
        assert [rank.said[1]["error"] for rank in ranks.finish()] == [None, None]


def test_the_segment_belongs_to_this_user_alone_while_it_has_a_name():
    with Ranks(0, "") as ranks:
        ranks.add(0, 2, ATTACH)
        path = FOLDER / ranks.name[1:]
        wait_for(path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_blocks * 512 >= path.stat().st_size  # every page is there already
        ranks.add(1, 2, ATTACH)
        ranks.finish()


@pytest.mark.waits
def test_a_missing_rank_is_named_on_all_others():
    with Ranks(0, "") as ranks:
        ranks.add(0, 3, IN_VAIN)
        ranks.add(1, 3, IN_VAIN)
        for rank in ranks.finish():
            assert_refused(rank, "have not come", ": 2")


@pytest.mark.waits
def test_without_rank_0_the_others_report_it():
    with Ranks(0, "") as ranks:
        ranks.add(1, 2, IN_VAIN)
        assert_refused(ranks.finish()[0], "rank 0 has not started")


def test_sizes_that_differ_are_an_error_on_both_ranks():
    with Ranks(0, "") as ranks:
        ranks.add(0, 2, ATTACH)
        ranks.add(1, 3, ATTACH)
        for rank in ranks.finish():
            assert_refused(rank, "size 3", "size 2", "rank 1")


def test_a_rank_registered_twice_is_an_error_on_all_ranks():
    with Ranks(0, "") as ranks:
        for number in (0, 1, 1):
            ranks.add(number, 3, ATTACH)
        for rank in ranks.finish():
            assert_refused(rank, "rank 1", "twice")


ENDS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "exit": "os._exit(3)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "exec": "os.execv('/bin/cat', ['cat'])",
    "exception": "os.kill(os.getpid(), signal.SIGALRM)",
}


@pytest.mark.few(3)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_ends_during_start_up_is_named_at_once(victim, end):
    word = "interrupted" if end == "exception" else "died"
    dying = f"""
def raise_it(number, frame):
    raise RuntimeError("on purpose")

def end():
    linger()
    {ENDS[end]}

signal.signal(signal.SIGALRM, raise_it)
if rank == {victim}:
    threading.Thread(target=end, daemon=True).start()
{ATTACH}
"""
    with Ranks(0, "") as ranks:
        ranks.add(0, 3, dying)
        ranks.add(1, 3, dying)
        wait_until_registered(ranks.name, 2)
        ranks.ranks[victim].go_on()
        survivor = ranks.ranks[1 - victim]
        survivor.finish(60)
        assert_refused(survivor, f"rank {victim}", word)
        assert not (FOLDER / ranks.name[1:]).exists()


# What a rank asks the kernel while it registers, and what once all have: whose memory it may read.
POINTS = {"registering": "membarrier", "settling": "process_vm_readv"}


@pytest.mark.parametrize("point", POINTS)
def test_a_rank_that_dies_while_it_registers_or_afterwards_is_named_at_once(point):
    dying = f"""
{AT_SYSTEM_CALL}
if rank == 1:
    at_system_call("{POINTS[point]}", KILL)
say(at=time.monotonic())
{ATTACH}
"""
    with Ranks(0, "") as ranks:
        survivors = [ranks.add(number, 3, dying) for number in (0, 2)]
        wait_until_registered(ranks.name, 2)
        dead = ranks.add(1, 3, dying)
        ranks.finish()
        assert dead.exit_code == -signal.SIGSYS, dead.output
        all_there = max(rank.said[0]["at"] for rank in ranks.ranks)
        for rank in survivors:
            told = rank.said[1]
            assert told["error"] == "InitializationFailed", rank.output
            assert f"rank 1 (pid {dead.process.pid})" in told["text"], rank.output
            assert "died" in told["text"], rank.output
            assert told["at"] - all_there < NOTICED_S, rank.output


@pytest.mark.waits
def test_a_rank_that_stops_while_it_registers_is_named_at_the_deadline():
    stopping = f"""
{AT_SYSTEM_CALL}
if rank == 1:
    stop_when_trapped()
    at_system_call("membarrier", TRAP)
{IN_VAIN}
"""
    with Ranks(3, stopping) as ranks:
        ranks.finish(but=1)
        for rank in (ranks.ranks[0], ranks.ranks[2]):
            assert_refused(rank, f": 1 (pid {ranks.ranks[1].process.pid}, which is stopped)")


@pytest.mark.waits
@pytest.mark.parametrize("timeout", [0.5, 30.0])
def test_a_rank_that_stops_once_it_has_registered_is_named_at_the_deadline(timeout):
    attach = f"attempt(lambda: ShmCommunicator.attach(config(connect_timeout=3.0, timeout={timeout})))"
    with Ranks(0, "") as ranks:
        # Started first, so that it attaches before the deadline of the others on a slow machine, too.
        last = ranks.add(2, 3, f"say(started=True)\nlinger()\n{attach}")
        assert last.hear() == {"started": True}
        first, stopped = ranks.add(0, 3, attach), ranks.add(1, 3, attach)
        wait_until_registered(ranks.name, 2)
        stopped.process.send_signal(signal.SIGSTOP)
        wait_until_stopped(stopped)
        last.go_on()
        ranks.finish(but=ranks.ranks.index(stopped))
        last.said.pop(0)
        for rank in (first, last):
            assert_refused(rank, f"rank 1 (pid {stopped.process.pid}, which is stopped)", "CONNECT_TIMEOUT")


def test_no_child_of_a_rank_that_waits_inherits_the_segment():
    looking = """
def own():
    paths = {int(number): os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
    return [number for number, path in paths.items() if path.startswith("/dev/shm/")]

def look():
    linger()  # by now it waits for the last rank
    say(inheritable=[os.get_inheritable(number) for number in own()])

threading.Thread(target=look, daemon=True).start()
ShmCommunicator.attach(config())
"""
    with Ranks(0, "") as ranks:
        for number in (0, 1):
            ranks.add(number, 3, looking)
        wait_until_registered(ranks.name, 2)
        for rank in ranks.ranks:
            rank.go_on()
        said = [rank.hear() for rank in ranks.ranks]
        ranks.add(2, 3, looking)
        ranks.finish()
        assert said == [{"inheritable": [False]}] * 2


@pytest.mark.waits
def test_a_stopped_rank_ends_the_start_at_the_deadline():
    stopping = f"""
if rank == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
{IN_VAIN}
"""
    with Ranks(2, stopping) as ranks:
        assert_refused(ranks.finish(but=1)[0], ": 1")


LAYOUTS = {
    "this layout": None,
    "another version": (8, 99),
    "an earlier version": (8, 3),
    "another record size": (12, 64),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dead_creators_segment_is_reclaimed(layout):
    name = fresh_name()
    command = [
        sys.executable,
        "-c",
        PRELUDE + "ShmCommunicator.attach(config())",
        "0",
        "2",
        name,
    ]
    creator = subprocess.Popen(command)
    path = FOLDER / name[1:]
    wait_for(path)
    creator.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, creator.pid, os.WEXITED | os.WNOWAIT)  # not reaped: a zombie is dead, too
    assert path.exists()
    if LAYOUTS[layout]:
        overwrite(path, *LAYOUTS[layout])
    ranks = run(2, ATTACH, name=name)
    creator.wait()
    assert [rank.said[0]["error"] for rank in ranks] == [None, None], ranks[0].output + ranks[1].output
    assert not path.exists()


def test_the_segment_of_a_dead_rank_0_is_removed_by_other_ranks():
    with Ranks(0, "") as ranks:
        creator = ranks.add(0, 2, ATTACH)
        path = FOLDER / ranks.name[1:]
        wait_for(path)
        creator.process.kill()
        creator.process.wait()
        ranks.add(1, 2, "attempt(lambda: ShmCommunicator.attach(config(connect_timeout=0.3)))")
        [_, told] = ranks.finish()
        assert_refused(told, f"was left by pid {creator.process.pid}, which is dead")
        assert not path.exists()


IN_ANOTHER_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
MAY_MAKE_NAMESPACES = subprocess.run([*IN_ANOTHER_NAMESPACE, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not MAY_MAKE_NAMESPACES, reason="needs a PID namespace of its own: root, and unshare")
def test_a_segment_of_another_pid_namespace_is_kept_until_its_creator_is_dead():
    with Ranks(0, "") as ranks:
        waiting = "ShmCommunicator.attach(config())"
        creator = ranks.add(0, 2, waiting, prefix=IN_ANOTHER_NAMESPACE)
        path = FOLDER / ranks.name[1:]
        wait_for(path)
        with pytest.raises(InitializationFailed, match="in another container or PID namespace"):
            ShmCommunicator.attach(ShmConfig(name=ranks.name, rank=0, size=2, connect_timeout=1.0))
        creator.process.kill()
        creator.process.wait()
        assert path.exists()
        both = run(2, ATTACH, name=ranks.name)
        assert [rank.said[0]["error"] for rank in both] == [None, None], both[0].output + both[1].output
        assert not path.exists()


def test_a_segment_of_a_running_creator_is_kept():
    with Ranks(0, "") as ranks:
        ranks.add(0, 2, ATTACH)
        path = FOLDER / ranks.name[1:]
        wait_for(path)
        with pytest.raises(InitializationFailed, match="alive"):
            ShmCommunicator.attach(ShmConfig(name=ranks.name, rank=0, size=2, connect_timeout=1.0))
        ranks.add(1, 2, ATTACH)
        assert [rank.said[0]["error"] for rank in ranks.finish()] == [None, None]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_file_that_is_no_segment_is_never_touched(rank):
    name = fresh_name()
    path = FOLDER / name[1:]
    path.write_bytes(b"somebody's data" * 10_000)
    try:
        with pytest.raises(InitializationFailed, match="not a Cobre segment"):
            ShmCommunicator.attach(ShmConfig(name=name, rank=rank, size=2, connect_timeout=1.0))
        assert path.read_bytes() == b"somebody's data" * 10_000
    finally:
        path.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_segment_of_another_user_is_refused(rank):
    name = fresh_name()
    path = FOLDER / name[1:]
    path.write_bytes(b"x" * 10_000)
    os.chown(path, 12345, 12345)
    try:
        with pytest.raises(InitializationFailed, match="user 12345"):
            ShmCommunicator.attach(ShmConfig(name=name, rank=rank, size=2, connect_timeout=1.0))
    finally:
        path.unlink()


@pytest.mark.waits
@pytest.mark.parametrize("layout", list(LAYOUTS)[1:])
def test_another_layout_of_a_running_creator_is_refused(layout):
    offset, number = LAYOUTS[layout]
    with Ranks(0, "") as ranks:
        creator = ranks.add(0, 2, ATTACH)
        path = FOLDER / ranks.name[1:]
        wait_for(path)
        overwrite(path, offset, number)
        with pytest.raises(InitializationFailed, match="another version of Cobre, alive") as told:
            ShmCommunicator.attach(ShmConfig(name=ranks.name, rank=0, size=2, connect_timeout=1.0))
        assert f"pid {creator.process.pid}" in str(told.value)
        assert "choose another COBRE_SHM_NAME" in str(told.value)
        refused = ranks.add(1, 2, ATTACH)
        refused.finish(60)
        assert_refused(refused, "another version", str(number), "install one version")
        creator.process.send_signal(signal.SIGINT)
        creator.finish(60)
        assert not path.exists()


def test_ctrl_c_ends_the_wait_for_the_others():
    with Ranks(0, "") as ranks:
        interrupted = """
try:
    ShmCommunicator.attach(config())
except KeyboardInterrupt:
    say(interrupted=True)
"""
        rank = ranks.add(0, 2, interrupted)
        wait_until_registered(ranks.name, 1)
        rank.process.send_signal(signal.SIGINT)
        rank.finish(NOTICED_S)
        assert rank.said == [{"interrupted": True}], rank.output
        assert not (FOLDER / ranks.name[1:]).exists()


def test_one_name_serves_many_groups_in_a_row():
    body = """
for round in range(50):
    comm = ShmCommunicator.attach(config())
    total = np.empty(1)
    comm.allreduce(np.array([float(rank + round)]), total, "sum")
    assert total[0] == sum(r + round for r in range(size))
    comm.close()
say(done=True)
"""
    assert [rank.said for rank in run(3, body)] == [[{"done": True}]] * 3
