"""Whoever knocks at rank 0's door while a group forms: dropped, logged, and the group forms all the same."""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import re
import socket
import struct
import threading
import time

import pytest

from cobre.comm import TcpCommunicator, TcpConfig
from comm.tcp_ranks import Ranks, barrier_on, close_all, free_port
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


def introduction(rank, size, version=1, order=1):
    return frame(8, struct.pack("!IIHBxQ", rank, size, version, order, 0))


def proof(challenge, nonce, secret=SECRET):
    return frame(12, nonce + hmac.digest(secret.encode(), b"cobre tcp worker" + challenge + nonce, "sha256"))


def port_scanner(connection):
    connection.close()


def http_client(connection):
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def silent(connection):
    connection.settimeout(1.0)


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


def rank_zero(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(0, 2))


def rank_beyond(connection):
    connection.sendall(proof(challenge_of(connection), os.urandom(32)) + introduction(2, 2))


REASONS = {
    port_scanner: "left without proving",
    http_client: "does not speak this protocol: it said 'GET / HTTP/1.1",
    oversized_length: "does not speak this protocol",
    empty_frame: "does not speak this protocol",
    truncated_proof: "left without proving",
    wrong_secret: "its secret is not rank 0's",
    handshake_without_proof: "does not speak this protocol",
    another_version: "version 9",
    another_byte_order: "byte order",
    rank_zero: "calls itself rank 0",
    rank_beyond: "calls itself rank 2",
    silent: "the group is complete",
}


class Hub:
    """Rank 0 of two, waiting in a thread."""

    def __init__(self):
        self.port, self.comms = free_port(), [None, None]
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._connect)
        self._thread.start()
        assert self._listens.wait(5)

    def _config(self, rank):
        return TcpConfig("127.0.0.1", rank, 2, port=self.port, secret=SECRET, connect_timeout=10, timeout=5)

    def _connect(self):
        self.comms[0] = TcpCommunicator.connect(
            self._config(0), on_listening=lambda port: self._listens.set()
        )

    def knock(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=5, source_address=(source, 0))

    def leave(self, work=lambda comm: None):
        """The group is complete; rank 1 is somebody else."""
        self._thread.join(10)
        with self.comms[0] as comm:
            work(comm)

    def complete(self):
        self.comms[1] = TcpCommunicator.connect(self._config(1))
        self._thread.join(10)
        barrier_on(self.comms)
        close_all(self.comms)


@pytest.mark.parametrize("stranger", REASONS, ids=lambda stranger: stranger.__name__)
def test_a_stranger_is_dropped_and_logged_and_the_group_forms(stranger, caplog):
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    with hub.knock() as connection:
        address = "{}:{}".format(*connection.getsockname())
        stranger(connection)
        time.sleep(0.1)
        hub.complete()
    logged = [record.getMessage() for record in caplog.records]
    assert any(address in line and REASONS[stranger] in line for line in logged), logged
    assert not any(SECRET in line for line in logged)


def test_a_slow_stranger_holds_nobody_up():
    hub = Hub()
    with hub.knock() as connection:
        connection.sendall(proof(challenge_of(connection), bytes(32))[:3])
        started = time.monotonic()
        hub.complete()
        assert time.monotonic() - started < 2


def test_a_recorded_handshake_is_of_no_use_later():
    hub = Hub()
    recorded = []

    def relay(client):
        with client, hub.knock() as upstream:
            challenge = receive(upstream, 37)
            client.sendall(challenge)
            said = receive(client, 69 + 25)
            recorded.append(said)
            # The genuine one goes no further: a thief has it now and tries it on a connection of its own.
            with hub.knock() as thief:
                challenge_of(thief)
                thief.sendall(said)
                assert receive(thief, 6)[4:6] == b"\x0d\x01", "refused for its secret"

    with socket.socket() as proxy:
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        config = TcpConfig(
            "127.0.0.1", 1, 2, port=proxy.getsockname()[1], secret=SECRET, connect_timeout=1, timeout=5
        )

        def victim():
            with contextlib.suppress(Exception):
                TcpCommunicator.connect(config)

        thread = threading.Thread(target=victim)
        thread.start()
        relay(proxy.accept()[0])
        thread.join(10)
    assert SECRET.encode() not in recorded[0]
    hub.complete()


def test_the_secret_never_crosses_the_wire_and_rank_0_proves_it_too():
    """A worker that meets somebody who cannot prove the secret does not join."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        seen = []

        def pretend():
            connection, _ = server.accept()
            with connection:
                connection.sendall(frame(11, bytes(32)))
                seen.append(receive(connection, 69 + 25))
                connection.sendall(frame(12, bytes(32)) + frame(9, struct.pack("!II", 2, 2)))
                time.sleep(0.2)

        thread = threading.Thread(target=pretend)
        thread.start()
        config = TcpConfig("127.0.0.1", 1, 2, port=server.getsockname()[1], secret=SECRET, connect_timeout=3)
        with pytest.raises(Exception, match="does not know the secret"):
            TcpCommunicator.connect(config)
        thread.join(5)
    assert SECRET.encode() not in seen[0]


def test_three_thousand_strangers_do_not_keep_the_group_from_forming(caplog):
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
    for _ in range(CROWD):
        challenge_of(stack.enter_context(hub.knock(source)))


def is_let_in(connection, words):
    """Whether rank 0 answers with its own proof."""
    try:
        connection.sendall(words)
        return receive(connection, 37)[4] == 12
    except OSError:
        return False


def test_a_crowd_from_elsewhere_pushes_no_slow_worker_out(caplog):
    """Rank 1 has a long way to rank 0; whoever came in a crowd makes room."""
    caplog.set_level(logging.WARNING, "cobre.comm")
    hub = Hub()
    with contextlib.ExitStack() as stack, hub.knock() as worker:
        challenge = challenge_of(worker)
        stand_about(hub, stack, "127.0.0.2")
        assert is_let_in(worker, proof(challenge, os.urandom(32)) + introduction(1, 2))
        hub.leave()
    logged = [record.getMessage() for record in caplog.records]
    assert any("127.0.0.2:" in line and "too many connections" in line for line in logged), logged


def test_whoever_has_proved_the_secret_stays_whatever_crowd_comes_from_its_own_address():
    hub = Hub()
    with contextlib.ExitStack() as stack, hub.knock() as worker:
        assert is_let_in(worker, proof(challenge_of(worker), os.urandom(32)))
        stand_about(hub, stack, "127.0.0.1")
        worker.sendall(introduction(1, 2))
        assert receive(worker, 13)[4] == 9, "an Ack"
        hub.leave()


def test_a_crowd_from_a_workers_own_address_pushes_some_out_and_not_always_the_first():
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


@pytest.mark.parametrize("pause", [0, 0.1], ids=["in one write", "a moment later"])
def test_what_follows_an_introduction_belongs_to_the_first_step(pause):
    hub = Hub()
    with hub.knock() as worker:
        step = frame(14, Call(1, sequence=1).encode()) + frame(6)
        joining = proof(challenge_of(worker), os.urandom(32)) + introduction(1, 2)
        if pause:
            worker.sendall(joining)
            time.sleep(pause)
        worker.sendall(step if pause else joining + step)
        assert receive(worker, 37 + 13)[37 + 4] == 9, "a Proof and an Ack"
        hub.leave(lambda comm: comm.barrier())


def test_nobody_listens_once_the_group_is_complete():
    hub = Hub()
    port = hub.port
    hub.comms[1] = TcpCommunicator.connect(hub._config(1))
    hub._thread.join(5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
    close_all(hub.comms)


def test_three_thousand_strangers_knock_during_start_up_and_work(tmp_path):
    """Half of them before the group is complete, half while it works; then nobody listens to them any more."""
    stop = tmp_path / "stop"
    program = f"""
say("working")
steps, goes_on, total, every = 0, np.ones(1), np.empty(1000), np.empty(size)
while goes_on[0] and steps < 1_000_000:
    comm.allreduce(np.full(1000, rank + 1.0), total, "sum")
    assert (total == size * (size + 1) / 2).all()
    comm.allgatherv(np.array([float(rank)]), every, ones, places)
    assert every.tolist() == list(places)
    goes_on[0] = not os.path.exists({str(stop)!r})
    comm.broadcast(goes_on, 0)
    steps += 1
say("finished" if steps > 10 else "did not work")
"""
    kinds = [port_scanner, http_client, empty_frame, oversized_length, silent]
    let_in, refused = [], 0

    def knock(port, count):
        nonlocal refused
        for number in range(count):
            try:
                connection = socket.create_connection(("127.0.0.1", port), timeout=5)
            except ConnectionRefusedError:
                refused += 1
                continue
            let_in.append(connection)
            with contextlib.suppress(OSError):
                kinds[number % len(kinds)](connection)
            if len(let_in) > 100:
                let_in.pop(0).close()

    with Ranks(3, program, timeout_s=20, directory=tmp_path) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        knock(group.port, 1500)
        assert refused == 0
        group.start(2)
        for rank in range(3):
            group.wait_for(rank, "working")
        knock(group.port, 1500)
        stop.touch()
        said = group.wait(seconds=20)
    for connection in let_in:
        connection.close()
    assert refused == 1500
    assert all("finished" in words for words in said), said
    assert said[0].count("dropped a connection from 127.0.0.1:") == 200
    assert re.search(r"dropped \d+ more connections", said[0]), said[0][-500:]
