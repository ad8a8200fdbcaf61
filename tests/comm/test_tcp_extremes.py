"""Settings at the edge of what can be: for ever, any bytes, more ranks than open files."""

from __future__ import annotations

import os
import threading
import time

import pytest

from cobre.comm import InitializationFailed, TcpCommunicator, TcpConfig
from cobre.comm.config import tcp_config_from
from comm.tcp_ranks import LONG_S, Ranks, barrier_on, close_all, free_port, group_of, open_all

FOR_EVER = [3e6, 1e10, 1e300]


@pytest.mark.parametrize("seconds", FOR_EVER)
def test_a_meeting_without_timeout_waits(seconds):
    comms = open_all(group_of(2, connect_timeout=seconds), {1: 0.2})
    assert all(isinstance(comm, TcpCommunicator) for comm in comms), comms
    close_all(comms)


@pytest.mark.parametrize("seconds", FOR_EVER)
def test_a_rank_that_waits_without_timeout_sleeps(seconds):
    comms = open_all(group_of(2, timeout=seconds))
    thread = threading.Thread(target=comms[0].barrier)
    thread.start()
    started = time.process_time()
    time.sleep(1.0)
    spent_s = time.process_time() - started
    comms[1].barrier()
    thread.join(LONG_S)
    close_all(comms)
    assert spent_s < 0.05  # it looks around ten times a second


def test_a_secret_in_the_environment_may_be_any_bytes():
    key = bytes(range(1, 256))
    shared = {"COBRE_TCP_SIZE": "2", "COBRE_TCP_PORT": str(free_port()), "COBRE_TCP_COORDINATOR": "127.0.0.1"}
    configs = [
        tcp_config_from({**shared, "COBRE_TCP_RANK": str(rank), "COBRE_TCP_SECRET": os.fsdecode(key)})
        for rank in range(2)
    ]
    comms = open_all(configs)
    barrier_on(comms)
    close_all(comms)


def test_a_secret_that_is_no_text_is_refused_without_showing_it():
    with pytest.raises(InitializationFailed, match="secret holds half of a surrogate pair") as caught:
        TcpConfig("localhost", 0, 2, secret="hush \ud800")
    assert "hush" not in str(caught.value)


def test_more_ranks_than_rank_0_may_open_files_are_refused_at_once():
    config = TcpConfig("127.0.0.1", 0, 2**31 - 1, port=0, connect_timeout=LONG_S)
    with pytest.raises(InitializationFailed, match=r"2147483652 open files on rank 0, and \d+ are allowed"):
        TcpCommunicator.connect(config)


def test_too_few_open_files_are_named_as_the_reason(tmp_path):
    few = ["bash", "-c", 'ulimit -n 12; exec "$@"', "few"]
    program = "import os\nheld = [os.dup(0) for _ in range(5)]\ncreate_communicator()\n"
    tools = "from cobre.comm import *\n"
    with Ranks(4, program, preamble=tools, directory=tmp_path, inside={0: few}) as group:
        group.start(1, 2, 3)  # they wait for a rank 0 that will not have room for all
        said = group.start(0, COBRE_TCP_CONNECT_TIMEOUT_MS="2000").wait(0)
    assert "had to refuse connections because too few files may be open" in said[0], said
    assert "ulimit -n" in said[0]
