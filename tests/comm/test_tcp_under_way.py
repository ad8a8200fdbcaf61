"""While the data of a step is under way a rank goes, is interrupted, comes late, or keeps all others waiting."""

from __future__ import annotations

import contextlib
import signal
import struct
from dataclasses import replace

import numpy as np
import pytest

from comm.tcp_proxy import Proxy
from comm.tcp_ranks import CALLS, Ranks, free_port
from comm.tcp_second import Call, Rank, of_type

HUGE = "huge = np.ones(4_000_000)\n"  # more than the buffers between two ranks hold


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize(("size", "root", "victim"), [(2, 0, 1), (2, 1, 0), (3, 1, 0)])
def test_a_sending_rank_gets_the_error_of_an_interrupted_one(tmp_path, size, root, victim):
    program = f"""{HUGE}
say("ready")
try:
    failure_of(comm.broadcast, huge, {root})
except KeyboardInterrupt:
    say("interrupted")
    hang()
"""
    port = free_port()
    slow = {"largest": 3000, "pause_s": 0.1, "stalls": 0.5}
    options = {"port": port, "directory": tmp_path}
    with Proxy(port, **slow) as proxy, Ranks(size, program, ports={1: proxy.port}, **options) as group:
        group.start()
        for rank in range(size):
            group.wait_for(rank, "ready")
        group.wait_until_asleep(victim)
        group.signal(victim, signal.SIGINT)
        group.wait_for(victim, "interrupted")
        others = sorted(set(range(size)) - {victim})
        group.wait(*others)
        for rank in others:
            assert f"rank {victim} was interrupted" in group.said(rank)


@pytest.mark.waits
@pytest.mark.parametrize("how", ["reset", "half_close"])
@pytest.mark.parametrize(("size", "root"), [(2, 0), (2, 1), (3, 1)])
def test_a_root_whose_data_was_not_taken_has_not_broadcast(tmp_path, size, root, how):
    # More is left when the network breaks than the buffers take.
    program = f"""
huge = np.ones(8_000_000)
comm.barrier()
failure_of(comm.broadcast, huge, {root})
failure_of(comm.barrier)
"""
    port = free_port()
    options = {"port": port, "directory": tmp_path}
    with (
        Proxy(port, breaks=(how, 20_000_000)) as proxy,
        Ranks(size, program, ports={1: proxy.port}, **options) as group,
    ):
        said = group.start().wait()
    for rank, words in enumerate(said):
        assert words.count(f"rank {0 if rank == 1 else 1} (127.0.0.1:") == 2, said
        assert words.count("died or exited") == 2, said


@pytest.mark.parametrize("how", ["ctrl-c", "close"])
def test_a_call_whose_data_flows_without_a_pause_can_be_ended(tmp_path, how):
    n_bytes, piece = 4_000_000_000, 10_000_000
    first, other = (struct.pack("!IB", piece + 1, tag) + bytes(piece) for tag in (0x05, 0x0F))
    program = f"""
if {how == "close"}:
    threading.Thread(target=lambda: (wait_for_word(), comm.close())).start()
buf = np.empty({n_bytes} // 8)
say("ready")
failure_of(comm.broadcast, buf, 1)
"""
    port, sent = free_port(), 0
    with Ranks(2, program, port=port, directory=tmp_path) as group:
        group.start(0)
        root = Rank(1, 2, port)
        group.wait_for(0, "ready")
        call = Call(4, root=1, count=n_bytes // 8, **of_type(np.dtype("f8")))
        root._put(0x0E, replace(call, sequence=1).encode())
        with contextlib.suppress(OSError), root._connection as connection:
            while sent < n_bytes:
                connection.sendall(other if sent else first)
                sent += piece
                if sent == 20 * piece:
                    group.signal(0, signal.SIGINT) if how == "ctrl-c" else group.give_word()
        group.wait()
        assert sent < n_bytes
        assert ("KeyboardInterrupt" if how == "ctrl-c" else "InvalidCommunicator") in group.said(0)


@pytest.mark.waits
@pytest.mark.parametrize("size", [2, 3])
def test_a_rank_0_that_comes_within_the_grace_reports_no_failure(tmp_path, size):
    program = f"""{HUGE}
everything = np.ones(size * huge.size)
say("ready")
wait_for_word()
if rank == 0: time.sleep(2)
failure_of(comm.allgatherv, huge, everything, [huge.size] * size, [huge.size * r for r in range(size)])
"""
    with Ranks(size, program, timeout_s=1, directory=tmp_path) as group:
        group.start()
        for rank in range(
            size
        ):  # no collective before: with this timeout it would be about who got memory when
            group.wait_for(rank, "ready")
        for rank in range(size):
            group.give_word(rank)
        said = group.wait()
    assert all("no failure" in words and "Error" not in words for words in said), said


@pytest.mark.waits
def test_only_the_rank_whose_data_is_awaited_is_blamed(tmp_path):
    port = free_port()
    options = {"port": port, "timeout_s": 3, "directory": tmp_path}
    with (
        Proxy(port, breaks=("freeze", 4_000_000)) as proxy,
        Ranks(4, f"failure_of({CALLS['large allreduce']})", ports={2: proxy.port}, **options) as group,
    ):
        said = group.start().wait(0, 1, 3)
    for rank in (0, 1, 3):
        assert "for rank 2 (in the middle of its data)" in said[rank], said
        assert said[rank].count("in the middle") == 1, said


@pytest.mark.waits
def test_a_report_has_the_calls_of_all_ranks_that_called(tmp_path):
    program = """
say("ready")
if rank in (0, 2): wait_for_word()
failure_of(*(comm.allreduce, one, one.copy(), "sum") if rank == 1 else (comm.barrier,))
"""
    with Ranks(4, program, directory=tmp_path) as group:
        group.start()
        for rank in (1, 3):
            group.wait_for(rank, "ready")
        group.wait_until_asleep(1, 3)
        group.give_word(0)
        group.wait(0)
        group.give_word(2)
        said = group.wait()
    for words in said:
        assert "rank 0, rank 3 called barrier(); rank 1 called allreduce(1 x float64, sum)" in words, said
        assert "rank 2 has not called yet" in words, said


@pytest.mark.waits
@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGKILL, "rank 1 (127.0.0.1:"), (signal.SIGINT, "rank 1 was interrupted")],
)
@pytest.mark.parametrize("call", ["allgatherv", "allreduce"])
def test_the_end_of_a_rank_with_much_to_send_is_reported_while_rank_0_computes(
    tmp_path, call, number, reason
):
    program = f"""{HUGE}
counts = [1, huge.size, 1]
gathered = np.empty(sum(counts))
comm.barrier()
say("ready")
if rank == 0: wait_for_word()
if "{call}" == "allreduce": failure_of(comm.allreduce, huge, huge.copy(), "sum")
else: failure_of(comm.allgatherv, huge[: counts[rank]], gathered, counts, [0, 1, huge.size + 1])
"""
    with Ranks(3, program, directory=tmp_path) as group:
        group.start()
        group.wait_for_all("ready")
        group.wait_until_asleep(1, 2)
        group.signal(1, number)
        group.wait(2)
        assert reason in group.said(2)
        group.give_word()
        group.wait(0)
        assert reason in group.said(0)
