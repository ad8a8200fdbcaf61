"""The contract over a network that delays, cuts up, stalls and breaks: right bytes, or an error that names the rank."""

from __future__ import annotations

import os
import re

import pytest

from comm.tcp_breaks import CLOSING, READY, TRANSFERS, assert_closed, assert_ended_by, cut_once_ready
from comm.tcp_proxy import Proxy
from comm.tcp_ranks import CALLS, LONG_S, TOOLS, Ranks, free_port

# The suite takes one odd size; `make test-network` takes all.
SIZES = [2, 3, 4, 8] if os.environ.get("COBRE_TEST_NETWORK") else [2]
KIT = """
from cobre.comm.testing.command import main
sys.exit(main(["--deadline", "60"]))
"""
# The most bytes passed on at once, how long a pause is, and how likely before each of them.
NETWORKS = {
    "fragments": (1500, 0.0, 0.0),
    "delays": (20_000, 0.003, 0.05),
    "stalls": (65536, 0.2, 0.001),
}
BREAKS = {"reset": "died or exited", "half_close": "died or exited", "freeze": "still waits"}
# Only who says nothing any more is found by the timeout; a broken connection must be known long before that.
TIMEOUT_S = {"reset": LONG_S, "half_close": LONG_S, "freeze": 2}


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_kit_passes_through_a_network_that_delays_and_cuts_up(tmp_path, size, network):
    port = free_port()
    largest, pause_s, stalls = NETWORKS[network]
    with Proxy(port, largest=largest, pause_s=pause_s, stalls=stalls) as proxy:
        ports = dict.fromkeys(range(1, size), proxy.port)
        options = {"preamble": TOOLS, "port": port, "ports": ports, "directory": tmp_path}
        with Ranks(size, KIT, **options) as group:
            said = group.start().wait(seconds=100)
    assert ", 0 failed" in said[0], said


@pytest.mark.soak
@pytest.mark.parametrize("after", [200, 500_000])
@pytest.mark.parametrize("how", ["reset", "half_close"])
def test_a_kit_whose_network_breaks_ends_at_once_on_every_rank(tmp_path, how, after):
    """Right behind the meeting of 181 bytes, and in the middle."""
    port = free_port()
    options = {"preamble": TOOLS, "port": port, "directory": tmp_path}
    with (
        Proxy(port, largest=1500, breaks=(how, after)) as proxy,
        Ranks(3, KIT, ports={1: proxy.port}, **options) as group,
    ):
        said = group.start().wait()
        assert proxy.has_broken
    assert all(process.returncode != 0 for process in group.processes.values()), said
    assert re.search(r"rank [01] \(127\.0\.0\.1:\d+\) has died or exited", "".join(said)), said


@pytest.mark.few(5)
@pytest.mark.waits
@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize(
    ("call", "size"), [*((call, 3) for call in CALLS), ("barrier", 2), ("large allgatherv", 2)]
)
def test_a_broken_network_is_an_error_on_every_rank(tmp_path, call, how, size):
    """Rank 1's connection breaks between two steps; what it calls next cannot complete."""
    program = f"failure_of({CALLS[call]})\nfailure_of(comm.barrier)"
    said = _break_before(tmp_path, program, how, size, timeout_s=TIMEOUT_S[how])
    for rank, words in enumerate(said):
        failures = [line for line in words.splitlines() if line != "ready"]
        assert len(failures) == 2, said
        assert "no failure" not in failures[1], said
        assert "Traceback" not in words, said
        assert ("rank 0" if rank == 1 else "rank 1") in failures[1], said
        assert BREAKS[how] in failures[1], said


@pytest.mark.parametrize("how", BREAKS)
def test_closing_over_a_broken_network_does_not_wait_and_is_no_error(tmp_path, how):
    assert_closed(_break_before(tmp_path, CLOSING, how, 3, timeout_s=LONG_S))


def _break_before(tmp_path, program, how, size, timeout_s):
    """What the ranks said; rank 1's connection breaks before ``program`` runs."""
    options = {"port": free_port(), "timeout_s": timeout_s, "directory": tmp_path}
    with (
        Proxy(options["port"]) as proxy,
        Ranks(size, READY + program, ports={1: proxy.port}, **options) as group,
    ):
        cut_once_ready(getattr(proxy, how), group)
        return group.wait()


@pytest.mark.few(1)
@pytest.mark.parametrize("how", BREAKS)
def test_a_network_that_breaks_in_the_middle_of_a_transfer_is_an_error_on_every_rank(tmp_path, how):
    port = free_port()
    options = {"port": port, "timeout_s": TIMEOUT_S[how], "directory": tmp_path}
    with Proxy(port) as proxy, Ranks(3, TRANSFERS, ports={1: proxy.port}, **options) as group:
        assert_ended_by(getattr(proxy, how), group)
