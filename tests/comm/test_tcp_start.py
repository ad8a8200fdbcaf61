"""How the ranks of the tcp backend find each other, and what they say when they do not."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest

from cobre.comm import InitializationFailed, MissingConfiguration, TcpCommunicator, TcpConfig
from comm.tcp_ranks import Ranks, barrier_on, close_all, free_port, group_of, open_all


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


def test_port_zero_reports_the_port_before_anybody_joins():
    comms = [None, None]

    def tell(port):
        def join():
            comms[1] = TcpCommunicator.connect(TcpConfig("127.0.0.1", 1, 2, port=port, connect_timeout=5))

        threading.Thread(target=join).start()

    comms[0] = TcpCommunicator.connect(TcpConfig("127.0.0.1", 0, 2, port=0), on_listening=tell)
    end = time.monotonic() + 5
    while comms[1] is None and time.monotonic() < end:
        time.sleep(0.01)
    assert comms[0].port > 0
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
def test_a_wrong_secret_fails_that_worker_at_once_and_harms_nobody(host):
    """Also where the name has an address more at which nobody listens."""
    configs = group_of(2, host, secret="right", bind_addr="127.0.0.1")
    wrong = TcpConfig(host, 1, 2, port=configs[0].port, secret="wrong", connect_timeout=5)
    started = time.monotonic()
    outcomes = open_all([*configs, wrong], {1: 1.2, 2: 0.1})
    assert isinstance(outcomes[2], InitializationFailed)
    assert "its secret is not rank 0's" in outcomes[2].message
    assert "COBRE_TCP_SECRET" in outcomes[2].suggestion
    assert "wrong" not in str(outcomes[2]).replace("wrong secret", "")
    barrier_on(outcomes[:2])
    close_all(outcomes)
    assert time.monotonic() - started < 4


@pytest.mark.waits
def test_a_refused_secret_is_in_the_remedy_though_another_address_is_silent():
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    configs = group_of(2, "localhost", secret="right", bind_addr="127.0.0.1", connect_timeout=1.2)
    wrong = TcpConfig("localhost", 1, 2, port=configs[0].port, secret="wrong", connect_timeout=0.8)
    with socket.create_server(("::1", configs[0].port), family=socket.AF_INET6):
        outcomes = open_all([configs[0], wrong], {1: 0.1})
    assert f"[::1]:{configs[0].port}: it accepted the connection but did not answer" in outcomes[1].message
    assert "COBRE_TCP_SECRET" in outcomes[1].suggestion


@pytest.mark.waits
def test_another_groups_refusal_does_not_keep_a_worker_from_a_rank_0_that_is_about_to_listen():
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    theirs = group_of(2, secret="theirs", connect_timeout=1.0)
    ours = group_of(2, "localhost", secret="ours", port=theirs[0].port, bind_addr="::1")
    outcomes = open_all([theirs[0], *ours], {1: 0.4, 2: 0.2})
    barrier_on(outcomes[1:])
    close_all(outcomes)


@pytest.mark.parametrize(("rank", "size", "words"), [(1, 3, "group of 3"), (1, 2, "already")])
def test_a_wrong_size_and_a_second_of_a_rank_are_refused_at_once(rank, size, words):
    configs = group_of(2 if size == 3 else 3)
    if size == 2:
        size = 3
    extra = TcpConfig("127.0.0.1", rank, size, port=configs[0].port, connect_timeout=5)
    outcomes = open_all([*configs, extra], {len(configs) - 1: 0.8, len(configs): 0.3})
    assert isinstance(outcomes[-1], InitializationFailed), outcomes
    assert words in str(outcomes[-1])
    barrier_on(outcomes[:-1])
    close_all(outcomes)


def test_rank_0_names_who_did_not_come_and_tells_those_who_did():
    configs = group_of(4, connect_timeout=0.7)
    outcomes = open_all(configs[:2])
    for outcome in outcomes:
        assert isinstance(outcome, InitializationFailed)
        assert "rank 2, rank 3" in str(outcome), outcome


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
        config = TcpConfig("127.0.0.1", 1, 2, port=server.getsockname()[1], connect_timeout=5)
        with pytest.raises(InitializationFailed, match="no rank 0"):
            TcpCommunicator.connect(config)


def test_whoever_listens_and_says_nothing_holds_a_worker_no_longer_than_its_deadline():
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = TcpConfig("127.0.0.1", 1, 2, port=server.getsockname()[1], connect_timeout=0.5)
        started = time.monotonic()
        with pytest.raises(InitializationFailed, match=r"did not answer within 0\.5 s"):
            TcpCommunicator.connect(config)
        assert time.monotonic() - started < 1.5


def test_leaving_loopback_needs_a_secret_on_every_rank():
    for settings in ({"rank": 0, "bind_addr": "0.0.0.0"}, {"rank": 1}):
        with pytest.raises(MissingConfiguration, match="COBRE_TCP_SECRET"):
            TcpConfig("192.0.2.1", size=2, **settings)


def test_ranks_are_restarted_on_the_same_port_at_once(tmp_path):
    with Ranks(2, "comm.barrier(); say('met')", directory=tmp_path) as group:
        for _ in range(3):
            assert all("met" in words for words in group.start().wait())
