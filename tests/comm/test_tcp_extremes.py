"""Settings at the edge of what can be: for ever, any bytes, more ranks than open files."""

from __future__ import annotations

import threading
import time

import pytest

from cobre.comm import TcpCommunicator
from comm.tcp_ranks import close_all, group_of, open_all

FOR_EVER = [3e6, 1e10, 1e300]


@pytest.mark.parametrize("seconds", FOR_EVER)
def test_a_meeting_may_last_for_ever(seconds):
    comms = open_all(group_of(2, connect_timeout=seconds), {1: 0.2})
    assert all(isinstance(comm, TcpCommunicator) for comm in comms), comms
    close_all(comms)


@pytest.mark.parametrize("seconds", FOR_EVER)
def test_whoever_waits_for_ever_sleeps_meanwhile(seconds):
    comms = open_all(group_of(2, timeout=seconds))
    thread = threading.Thread(target=comms[0].barrier)
    thread.start()
    started = time.process_time()
    time.sleep(1.0)
    spent_s = time.process_time() - started
    comms[1].barrier()
    thread.join(10)
    close_all(comms)
    assert spent_s < 0.05  # it looks around ten times a second
