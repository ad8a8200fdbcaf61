"""How the ranks of the tcp backend find each other, and what they say when they do not."""

from __future__ import annotations

import logging
import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from cobre.comm import InitializationFailed, MissingConfiguration, TcpCommunicator, TcpConfig
from comm.tcp_ranks import LONG_S, Opening, Ranks, barrier_on, close_all, free_port, group_of, open_all


def finish(*openings):
    """The groups that they opened work."""
    comms = [opening.outcome() for opening in openings]
    barrier_on(comms)
    close_all(comms)


@pytest.mark.parametrize("late", [0, 1, 2])
def test_ranks_meet_whichever_starts_last(late):
    comms = open_all(group_of(3), {late: 0.4})
    barrier_on(comms)
    close_all(comms)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
@pytest.mark.parametrize("secret", [None, "between us"])
def test_addresses_of_both_families_and_names_work(host, secret):
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    bind = {"bind_addr": "::1" if host == "::1" else "127.0.0.1"}
    comms = open_all(group_of(2, host, secret=secret, **bind))
    barrier_on(comms)
    close_all(comms)


def test_port_zero_reports_the_port_before_any_worker_joins():
    joining = []

    def tell(port):
        joining.append(Opening(TcpConfig("127.0.0.1", 1, 2, port=port)))

    first = TcpCommunicator.connect(TcpConfig("127.0.0.1", 0, 2, port=0), on_listening=tell)
    comms = [first, joining[0].outcome()]
    assert first.port > 0
    assert comms[1].port is None
    barrier_on(comms)
    close_all(comms)


def test_one_rank_opens_no_socket():
    with TcpCommunicator.connect(TcpConfig("nowhere.invalid", 0, 1)) as comm:
        out = np.empty(3)
        comm.allreduce(np.ones(3), out, "sum")
        comm.allgatherv(out, out, [3], [0])
        comm.broadcast(out, 0)
        assert (comm.backend, comm.size, out.tolist()) == ("tcp", 1, [1.0] * 3)


@pytest.mark.waits
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_wrong_secret_fails_that_worker_at_once_and_no_other(host):
    """Also where the name has an address more at which nobody listens."""
    configs = group_of(2, host, secret="right", bind_addr="127.0.0.1")
    hub = Opening(configs[0]).wait_until_listening()
    with pytest.raises(InitializationFailed) as caught:
        TcpCommunicator.connect(replace(configs[1], secret="wrong"))
    assert "its secret is not rank 0's" in caught.value.message
    assert " within " not in caught.value.message, "it has waited for its deadline"
    assert "COBRE_TCP_SECRET" in caught.value.suggestion
    assert "wrong" not in str(caught.value).replace("wrong secret", "")
    finish(hub, Opening(configs[1]))


@pytest.mark.waits
def test_a_refused_secret_is_in_the_remedy_though_another_address_is_silent():
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    configs = group_of(2, "localhost", secret="right", bind_addr="127.0.0.1")
    hub = Opening(configs[0]).wait_until_listening()
    with (
        socket.create_server(("::1", configs[0].port), family=socket.AF_INET6),
        pytest.raises(InitializationFailed) as caught,
    ):
        TcpCommunicator.connect(replace(configs[1], secret="wrong", connect_timeout=3.0))
    assert f"[::1]:{configs[0].port}: it accepted the connection but did not answer" in caught.value.message
    assert f"127.0.0.1:{configs[0].port}: it says no: its secret is not rank 0's" in caught.value.message
    assert "COBRE_TCP_SECRET" in caught.value.suggestion
    finish(hub, Opening(configs[1]))


def test_a_worker_warns_of_a_refusal_while_it_still_waits_for_another_address(caplog):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    caplog.set_level(logging.WARNING, "cobre.comm")
    configs = group_of(2, "localhost", secret="right", bind_addr="127.0.0.1")
    hub = Opening(configs[0]).wait_until_listening()

    def warnings():
        return [line for line in caplog.messages if "rank 1 was refused at an address of localhost" in line]

    with socket.create_server(("::1", configs[0].port), family=socket.AF_INET6) as silent:
        refused = Opening(replace(configs[1], secret="wrong"))
        end = time.monotonic() + LONG_S
        while not warnings() and time.monotonic() < end:
            time.sleep(0.01)
        (warning,) = warnings()
        with silent.accept()[0] as connection:  # to be refused there, too, ends it
            connection.sendall(b"\0\0\0\x04\x0d\x01no")
            assert "rank 0 is at no address of localhost" in refused.outcome().message
    assert f"127.0.0.1:{configs[0].port}: it says no: its secret is not rank 0's" in warning
    assert "COBRE_TCP_SECRET" in warning
    finish(hub, Opening(configs[1]))


class OnRefusal(logging.Handler):
    """Does something after rank 0 has refused a connection and before the next attempt."""

    def __init__(self, work):
        super().__init__()
        self._work = work

    def emit(self, record):
        if self._work is not None and "its secret is not rank 0's" in record.getMessage():
            work, self._work = self._work, None
            work()


def test_a_worker_refused_by_another_group_waits_for_its_own_rank_0():
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    theirs = group_of(2, secret="theirs")
    ours = group_of(2, "localhost", secret="ours", port=theirs[0].port, bind_addr="::1")
    opened = [Opening(theirs[0]).wait_until_listening()]
    handler = OnRefusal(lambda: opened.append(Opening(ours[0]).wait_until_listening()))
    logger = logging.getLogger("cobre.comm")
    logger.addHandler(handler)
    try:
        worker = Opening(ours[1])
        worker.outcome()
    finally:
        logger.removeHandler(handler)
    finish(opened[1], worker)
    finish(opened[0], Opening(theirs[1]))


@pytest.mark.parametrize(("rank", "size", "words"), [(1, 4, "group of 4"), (1, 3, "already")])
def test_a_wrong_size_and_a_second_of_a_rank_are_refused_at_once(caplog, rank, size, words):
    caplog.set_level(logging.INFO, "cobre.comm")
    configs = group_of(3)
    openings = [Opening(configs[0]).wait_until_listening(), Opening(configs[1])]
    end = time.monotonic() + LONG_S
    while "rank 1 has joined from 127.0.0.1:" not in caplog.text and time.monotonic() < end:
        time.sleep(0.01)
    with pytest.raises(InitializationFailed, match=words):
        TcpCommunicator.connect(replace(configs[rank], size=size))
    finish(*openings, Opening(configs[2]))


@pytest.mark.waits
def test_rank_0_names_missing_ranks_in_the_error_of_all_others():
    configs = group_of(4)
    hub = Opening(replace(configs[0], connect_timeout=3.0)).wait_until_listening()
    for outcome in (Opening(configs[1]).outcome(), hub.outcome()):
        assert isinstance(outcome, InitializationFailed)
        assert "rank 0 waited 3 s for rank 2, rank 3 in vain" in str(outcome), outcome


def test_a_worker_without_rank_0_says_where_it_looked():
    port = free_port()
    with pytest.raises(InitializationFailed, match=f"no rank 0 at 127.0.0.1 port {port} within 0.3 s"):
        TcpCommunicator.connect(TcpConfig("127.0.0.1", 1, 2, port=port, connect_timeout=0.3))


def test_a_taken_port_is_an_error_with_a_remedy():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        config = TcpConfig("127.0.0.1", 0, 2, port=other.getsockname()[1])
        with pytest.raises(InitializationFailed, match="COBRE_TCP_PORT"):
            TcpCommunicator.connect(config)


def test_another_program_behind_the_port_is_recognised():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer).start()
        config = TcpConfig("127.0.0.1", 1, 2, port=server.getsockname()[1], connect_timeout=LONG_S)
        with pytest.raises(InitializationFailed, match="no rank 0"):
            TcpCommunicator.connect(config)


def test_a_silent_listener_holds_a_worker_no_longer_than_its_deadline():
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = TcpConfig("127.0.0.1", 1, 2, port=server.getsockname()[1], connect_timeout=0.5)
        with pytest.raises(InitializationFailed, match=r"did not answer within 0\.5 s"):
            TcpCommunicator.connect(config)


def test_leaving_loopback_needs_a_secret_on_every_rank():
    for settings in ({"rank": 0, "bind_addr": "0.0.0.0"}, {"rank": 1}):
        with pytest.raises(MissingConfiguration, match="COBRE_TCP_SECRET"):
            TcpConfig("192.0.2.1", size=2, **settings)


def test_ranks_are_restarted_on_the_same_port_at_once(tmp_path):
    with Ranks(2, "comm.barrier(); say('met')", directory=tmp_path) as group:
        for _ in range(3):
            assert all("met" in words for words in group.start().wait())
