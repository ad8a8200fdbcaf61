"""Whoever knocks at rank 0's door while a group forms: dropped, logged, and the group forms all the same."""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import re
import socket
import struct
import time
from dataclasses import replace

import pytest

from cobre.comm import InitializationFailed, TcpCommunicator, TcpConfig
from comm.tcp_ranks import LONG_S, Opening, Ranks, barrier_on, close_all, free_port
from comm.tcp_second import Call

SECRET = "between us"


def frame(tag, payload=b""):
    return struct.pack("!IB", len(payload) + 1, tag) + payload


def receive(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError
        data += part
    return data


def challenge_of(connection):
    return receive(connection, 37)[5:]


def introduction(rank, size, version=2, order=1):
    return frame(8, struct.pack("!IIHBxQ", rank, size, version, order, 0))


def proof(challenge, nonce, secret=SECRET):
    return frame(12, nonce + hmac.digest(secret.encode(), b"cobre tcp worker" + challenge + nonce, "sha256"))


def port_scanner(connection):
    connection.close()


def http_client(connection):
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def silent(connection):
    challenge_of(connection)


def oversized_length(connection):
    connection.sendall(b"\xff\xff\xff\xff\x0c" + bytes(4096))


def empty_frame(connection):
    connection.sendall(bytes(5))


def truncated_proof(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32))[:40])
    connection.shutdown(socket.SHUT_WR)


def wrong_secret(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32), "guess") + introduction(1, 2))


def handshake_without_proof(connection):
    connection.sendall(introduction(1, 2))


def another_version(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(1, 2, version=9))


def another_byte_order(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(1, 2, order=2))


def another_size(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(1, 3))


def rank_zero(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(0, 2))


def rank_beyond(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(2, 2))


REASONS = {
    port_scanner: "left without proving that it has the secret",
    http_client: "does not speak this protocol: it said 'GET / HTTP/1.1",
    oversized_length: "does not speak this protocol",
    empty_frame: "does not speak this protocol",
    truncated_proof: "left without proving that it has the secret",
    wrong_secret: "its secret is not rank 0's",
    handshake_without_proof: "does not speak this protocol",
    another_version: "version 9",
    another_byte_order: "byte order",
    another_size: "it belongs to a group of 3 ranks, rank 0 to one of 2",
    rank_zero: "calls itself rank 0",
    rank_beyond: "calls itself rank 2",
    silent: "the group is complete",
}


class Hub:
    """Rank 0 of two, waiting in a thread."""

    def __init__(self, connect_timeout=LONG_S):
        self._port = free_port()
        self.opening = Opening(self.config(0, connect_timeout=connect_timeout)).wait_until_listening()

    def config(self, rank, **settings):
        settings = {"connect_timeout": LONG_S, "timeout": LONG_S, **settings}
        return TcpConfig("127.0.0.1", rank, 2, port=self._port, secret=SECRET, **settings)

    def knock(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self._port), timeout=LONG_S, source_address=(source, 0))

    def leave(self, work=lambda comm: None):
        """The group is complete; rank 1 is another program."""
        with self.opening.outcome() as comm:
            work(comm)

    def complete(self):
        comms = [TcpCommunicator.connect(self.config(1)), self.opening.outcome()]
        barrier_on(comms)
        close_all(comms)


def wait_for_line(caplog, *words):
    """The first line logged that holds all of them."""
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        for line in caplog.messages:
            if all(word in line for word in words):
                return line
        time.sleep(0.01)
    raise AssertionError(f"no line with {words}: {caplog.messages}")


@pytest.mark.parametrize("stranger", REASONS, ids=lambda stranger: stranger.__name__)
def test_another_program_is_dropped_and_logged_and_the_group_forms(stranger, caplog):
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    with hub.knock() as connection:
        address = "{}:{}".format(*connection.getsockname())
        stranger(connection)
        if stranger is not silent:  # whoever says nothing is dropped when the group is complete
            wait_for_line(caplog, address, REASONS[stranger])
        hub.complete()
    wait_for_line(caplog, address, REASONS[stranger])
    assert not any(SECRET in line for line in caplog.messages)


@pytest.mark.parametrize("has_proved", [False, True])
def test_a_worker_that_has_found_rank_0_elsewhere_withdraws_without_a_warning(caplog, has_proved):
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    with hub.knock() as connection:
        challenge = challenge_of(connection)
        if has_proved:
            assert is_let_in(connection, proof(challenge, os.urandom(32)))
        connection.sendall(frame(10))
        assert connection.recv(1) == b""
        hub.complete()
    assert caplog.messages == []


TURNED_AWAY = [wrong_secret, another_size, another_version, rank_zero, rank_beyond, http_client]


@pytest.mark.waits
@pytest.mark.parametrize("stranger", TURNED_AWAY, ids=lambda stranger: stranger.__name__)
def test_rank_0_lists_refused_connections_and_reasons_in_its_error(stranger):
    hub = Hub(connect_timeout=3.0)
    with hub.knock() as first, hub.knock() as second:
        for connection in (first, second):
            stranger(connection)
        addresses = sorted("{}:{}".format(*each.getsockname()) for each in (first, second))
        error = hub.opening.outcome()
    assert isinstance(error, InitializationFailed)
    said, _, told = error.message.partition("; it refused 2 connections: 2 from ")
    assert said.endswith("rank 0 waited 3 s for rank 1 in vain")
    listed, _, reason = told.partition(" (")
    assert sorted(listed.split(", ")) == addresses
    assert REASONS[stranger] in reason


@pytest.mark.waits
def test_many_refused_connections_leave_the_error_short_and_printable():
    hub = Hub(connect_timeout=6.0)
    words = [f"no. {number} \x1b[31m\0\n".encode() for number in range(40)] + [b"GET / HTTP/1.1\r\n"] * 60
    with contextlib.ExitStack() as stack:
        for each in words:
            stack.enter_context(hub.knock()).sendall(each)
        error = hub.opening.outcome()
    told = error.message.partition("; it refused ")[2]
    assert told.startswith("100 connections: "), error.message
    assert re.search(r", \d\d for other reasons$", told), told
    assert len(told) < 800
    assert told.isprintable()


def test_a_slow_connection_without_proof_delays_no_rank(caplog):
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    with hub.knock() as connection:
        connection.sendall(proof(challenge_of(connection), bytes(32))[:3])
        hub.complete()
        address = "{}:{}".format(*connection.getsockname())
    wait_for_line(caplog, address, "the group is complete")  # rank 0 still waited for more of its proof


def test_a_recorded_handshake_is_of_no_use_later():
    hub = Hub()
    recorded = []

    def relay(client):
        with client, hub.knock() as upstream:
            client.sendall(receive(upstream, 37))
            recorded.append(receive(client, 69))
            # The genuine one goes no further: a thief has it now and tries it on a connection of its own.
            with hub.knock() as thief:
                challenge_of(thief)
                thief.sendall(recorded[0] + introduction(1, 2))
                assert receive(thief, 6)[4:6] == b"\x0d\x01", "refused for its secret"

    with socket.create_server(("127.0.0.1", 0)) as proxy:
        victim = Opening(replace(hub.config(1, connect_timeout=1), port=proxy.getsockname()[1]))
        proxy.settimeout(LONG_S)
        relay(proxy.accept()[0])
        assert isinstance(victim.outcome(), InitializationFailed)
    assert SECRET.encode() not in recorded[0]
    hub.complete()


def test_the_secret_never_crosses_the_wire_and_rank_0_proves_it_too():
    """A worker does not join, and sends no introduction, where the other side cannot prove the secret."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = TcpConfig("127.0.0.1", 1, 2, port=server.getsockname()[1], secret=SECRET)
        worker = Opening(config)
        server.settimeout(LONG_S)
        connection = server.accept()[0]
        with connection:
            connection.settimeout(LONG_S)
            connection.sendall(frame(11, bytes(32)))
            seen = receive(connection, 69)
            connection.sendall(frame(12, bytes(32)) + frame(9, struct.pack("!II", 2, 2)))
            with contextlib.suppress(ConnectionError):
                seen += connection.recv(100)
        outcome = worker.outcome()
    assert isinstance(outcome, InitializationFailed)
    assert "does not have the secret" in outcome.message
    assert len(seen) == 69
    assert SECRET.encode() not in seen


def test_three_thousand_other_connections_do_not_keep_the_group_from_forming(caplog):
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    kinds = [port_scanner, http_client, empty_frame, oversized_length]
    held = []
    for number in range(3000):
        connection = hub.knock()
        with contextlib.suppress(OSError):
            if number % 5 == 4:
                held.append(connection)  # silent, and stays
                if len(held) > 100:
                    held.pop(0).close()
                continue
            kinds[number % 5](connection)
        connection.close()
    hub.complete()
    for connection in held:
        connection.close()
    assert len(caplog.records) <= 201


CROWD = 300  # more than rank 0 lets wait


def stand_about(hub, stack, source):
    """Together, so that those who have been there before do not run out of time on a busy machine."""
    for connection in [stack.enter_context(hub.knock(source)) for _ in range(CROWD)]:
        challenge_of(connection)


def is_let_in(connection, words):
    """Whether rank 0 answers with its own proof."""
    try:
        connection.sendall(words)
        return receive(connection, 37)[4] == 12
    except OSError:
        return False


def test_a_flood_from_another_address_evicts_no_slow_worker(caplog):
    """Rank 1 has a long way to rank 0; the flood evicts its own connections."""
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    with contextlib.ExitStack() as stack, hub.knock() as worker:
        challenge = challenge_of(worker)
        stand_about(hub, stack, "127.0.0.2")
        assert is_let_in(worker, proof(challenge, os.urandom(32)) + introduction(1, 2))
        hub.leave()
    wait_for_line(caplog, "127.0.0.2:", "too many connections")


def test_a_worker_with_proof_is_not_evicted_by_a_flood_from_its_own_address():
    hub = Hub()
    with contextlib.ExitStack() as stack, hub.knock() as worker:
        assert is_let_in(worker, proof(challenge_of(worker), os.urandom(32)))
        stand_about(hub, stack, "127.0.0.1")
        worker.sendall(introduction(1, 2))
        assert receive(worker, 13)[4] == 9, "an Ack"
        hub.leave()


def test_a_flood_from_a_worker_s_own_address_evicts_some_and_not_always_the_first():
    hub = Hub()
    with contextlib.ExitStack() as stack:
        first = [stack.enter_context(hub.knock()) for _ in range(12)]
        challenges = [challenge_of(connection) for connection in first]
        stand_about(hub, stack, "127.0.0.1")
        stayed = [
            is_let_in(connection, proof(challenge, os.urandom(32)))
            for connection, challenge in zip(first, challenges, strict=True)
        ]
        assert any(stayed), "each goes in one case of five"
        first[stayed.index(True)].sendall(introduction(1, 2))
        hub.leave()


@pytest.mark.parametrize("waits", [False, True], ids=["in one write", "behind rank 0's proof"])
def test_bytes_after_an_introduction_are_read_as_the_first_step(waits):
    hub = Hub()
    with hub.knock() as worker:
        step = frame(14, Call(1, sequence=1).encode()) + frame(6)
        proving = proof(challenge_of(worker), os.urandom(32))
        worker.sendall(proving if waits else proving + introduction(1, 2) + step)
        assert receive(worker, 37)[4] == 12, "a Proof"
        if waits:
            worker.sendall(introduction(1, 2) + step)
        assert receive(worker, 13)[4] == 9, "an Ack"
        hub.leave(lambda comm: comm.barrier())


def test_the_listening_socket_is_closed_once_the_group_is_complete():
    hub = Hub()
    comms = [TcpCommunicator.connect(hub.config(1)), hub.opening.outcome()]
    with pytest.raises(ConnectionRefusedError):
        hub.knock()
    close_all(comms)


def test_three_thousand_other_connections_during_start_up_and_work_cause_no_error(tmp_path):
    """Half of them before the group is complete, half while it works; then nobody listens to them any more."""
    stop = tmp_path / "stop"
    program = f"""
say("working")
steps, goes_on, total, every = 0, np.ones(1), np.empty(1000), np.empty(size)
while goes_on[0]:
    comm.allreduce(np.full(1000, rank + 1.0), total, "sum")
    assert (total == size * (size + 1) / 2).all()
    comm.allgatherv(np.array([float(rank)]), every, ones, places)
    assert every.tolist() == list(places)
    goes_on[0] = steps < 10 or not os.path.exists({str(stop)!r})
    comm.broadcast(goes_on, 0)
    steps += 1
say("finished")
"""
    kinds = [port_scanner, http_client, empty_frame, oversized_length, lambda connection: None]
    let_in, refused = [], 0

    def knock(port, count):
        nonlocal refused
        for number in range(count):
            try:
                connection = socket.create_connection(("127.0.0.1", port), timeout=LONG_S)
            except ConnectionRefusedError:
                refused += 1
                continue
            let_in.append(connection)
            with contextlib.suppress(OSError):
                kinds[number % len(kinds)](connection)
            if len(let_in) > 100:
                let_in.pop(0).close()

    with Ranks(3, program, directory=tmp_path) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        knock(group.port, 1500)
        assert refused == 0
        group.start(2)
        for rank in range(3):
            group.wait_for(rank, "working")
        knock(group.port, 1500)
        stop.touch()
        said = group.wait()
    for connection in let_in:
        connection.close()
    assert refused == 1500
    assert all("finished" in words for words in said), said
    assert said[0].count("dropped a connection from 127.0.0.1:") == 200
    assert re.search(r"dropped \d+ more connections", said[0]), said[0][-500:]
