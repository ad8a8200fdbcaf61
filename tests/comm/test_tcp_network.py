"""The contract over a network that delays, cuts up, stalls and breaks: right bytes, or an error that names the rank."""

from __future__ import annotations

import re

import pytest

from comm.tcp_proxy import Proxy
from comm.tcp_ranks import Ranks, free_port

CALLS = {
    "barrier": "comm.barrier",
    "small allreduce": "comm.allreduce, one, one.copy(), 'sum'",
    "large allgatherv": "comm.allgatherv, big, np.ones(size * big.size), [big.size] * size,"
    " [big.size * r for r in range(size)]",
    "large allreduce": "comm.allreduce, big, big.copy(), 'sum'",
    "broadcast from 0": "comm.broadcast, big, 0",
    "broadcast from 1": "comm.broadcast, big, 1",
}
KIT_IN_RANK = """
comm.close()
from cobre.comm.testing.command import main
sys.exit(main(["--deadline", "60"]))
"""


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("largest", "pause_s"), [(1500, 0.0), (20_000, 0.003)], ids=["fragments", "delays"])
def test_the_kit_passes_through_a_network_that_delays_and_cuts_up(tmp_path, size, largest, pause_s):
    port = free_port()
    with Proxy(port, largest=largest, pause_s=pause_s) as proxy:
        ports = dict.fromkeys(range(1, size), proxy.port)
        with Ranks(size, KIT_IN_RANK, port=port, ports=ports, timeout_s=30, directory=tmp_path) as group:
            said = group.start().wait(seconds=100)
    assert ", 0 failed" in said[0], said


BREAKS = {"reset": "died or exited", "half_close": "died or exited", "freeze": "rank"}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("call", CALLS)
def test_a_broken_network_is_an_error_on_every_rank(tmp_path, call, how, size):
    """Rank 1's connection breaks between two steps; what it calls next cannot complete."""
    port = free_port()
    program = f"""
comm.barrier()
say("ready")
sys.stdin.readline()
failure_of({CALLS[call]})
failure_of(comm.barrier)
"""
    _break_between(tmp_path, program, port, how, size)


def _break_between(tmp_path, program, port, how, size):
    program = program.replace(
        "sys.stdin.readline()", f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"
    )
    with (
        Proxy(port) as proxy,
        Ranks(size, program, port=port, ports={1: proxy.port}, timeout_s=1, directory=tmp_path) as group,
    ):
        group.start()
        for rank in range(size):
            group.wait_for(rank, "ready")
        getattr(proxy, how)()
        (tmp_path / "go").touch()
        said = group.wait()
    for rank, words in enumerate(said):
        failures = [line for line in words.splitlines() if line != "ready"]
        assert len(failures) == 2, said
        assert "no failure" not in failures[1], said
        assert "Traceback" not in words, said
        assert re.search(r"rank 0" if rank == 1 else r"rank 1", failures[1]), said
        assert BREAKS[how] in failures[1] or "still waits" in failures[1], said


@pytest.mark.parametrize("how", BREAKS)
def test_a_network_that_breaks_in_the_middle_of_a_transfer_is_an_error_on_every_rank(tmp_path, how):
    port = free_port()
    program = """
huge = np.ones(8_000_000)
say("ready")
for _ in range(10_000):
    try:
        comm.allgatherv(huge, np.ones(size * huge.size), [huge.size] * size, [huge.size * r for r in range(size)])
    except CollectiveFailed as error:
        print(error.message, flush=True)
        break
    say("step")
"""
    with (
        Proxy(port) as proxy,
        Ranks(3, program, port=port, ports={1: proxy.port}, timeout_s=2, directory=tmp_path) as group,
    ):
        group.start()
        group.wait_for(1, "step")
        getattr(proxy, how)()
        said = group.wait(seconds=30)
    for rank, words in enumerate(said):
        last = words.splitlines()[-1]
        assert ("rank 0" if rank == 1 else "rank 1") in last, said


def test_a_network_that_breaks_during_the_meeting_is_tried_again(tmp_path):
    port = free_port()
    with (
        Proxy(port) as proxy,
        Ranks(2, "comm.barrier(); say('met')", port=port, ports={1: proxy.port}, directory=tmp_path) as group,
    ):
        group.start(1)
        group.start(0)
        proxy.reset()
        assert all("met" in words for words in group.wait())
