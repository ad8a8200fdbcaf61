"""Names as coordinators: several addresses, one family only, and a resolver that says nothing."""

from __future__ import annotations

import contextlib
import signal
import socket
import time

import pytest

from comm.tcp_names import inside
from comm.tcp_proxy import Proxy
from comm.tcp_ranks import LONG_S, TOOLS, Ranks

pytestmark = pytest.mark.waits
NAME = "meeting.test"
# Whichever comes first, a stranger does.
STRANGERS, OURS = ("127.0.0.2", "127.0.0.4"), "127.0.0.3"
SEVERAL = "".join(f"{address} {NAME}\n" for address in (STRANGERS[0], OURS, STRANGERS[1]))
START = (
    TOOLS
    + """
say("starting")
started = time.monotonic()
try:
    failure_of(start)
except KeyboardInterrupt:
    say(f"interrupted after {time.monotonic() - started:.2f} s")
    sys.exit(0)
say(f"took {time.monotonic() - started:.2f} s")
if comm is not None: failure_of(comm.barrier)
"""
)


def ranks(directory, hosts, size=2, connect_s=LONG_S, resolver="", alone=False, host=NAME, **environ):
    prefix = inside(directory, hosts, resolver, alone=alone)
    shared = {
        "COBRE_TCP_COORDINATOR": host,
        "COBRE_TCP_SECRET": "between us",
        "COBRE_TCP_CONNECT_TIMEOUT_MS": str(round(1000 * connect_s)),
        **environ,
    }
    return Ranks(
        size,
        START,
        preamble="",
        directory=directory,
        environ=shared,
        inside=dict.fromkeys(range(size), prefix),
    )


class Stranger:
    """Somebody else at rank 0's port: ``closed`` is nobody at all, ``full`` never answers a first packet."""

    def __init__(self, address, port, kind):
        self._kind, self._held = kind, []
        if kind == "closed":
            return
        listener = socket.create_server((address, port), backlog=0 if kind == "full" else 100)
        self._held.append(listener)
        if kind == "full":
            for _ in range(4):
                connection = socket.socket()
                connection.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    connection.connect((address, port))
                self._held.append(connection)
        elif kind == "http":
            listener.setblocking(False)

    def answer(self):
        """What a web server says to whoever knocked since the last time."""
        if self._kind != "http":
            return
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, _ = self._held[0].accept()
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                self._held.append(connection)

    def close(self):
        for each in self._held:
            each.close()


@contextlib.contextmanager
def strangers(port, kind):
    present = [Stranger(address, port, kind) for address in STRANGERS]
    try:
        yield present
    finally:
        for each in present:
            each.close()


def attend(group, present, *which):
    end = time.monotonic() + LONG_S
    while any(group.processes[rank].poll() is None for rank in which) and time.monotonic() < end:
        for each in present:
            each.answer()
        time.sleep(0.01)
    return group.wait(*which, seconds=1)


@pytest.mark.parametrize("kind", ["closed", "silent", "full", "http"])
@pytest.mark.parametrize("late", [0, 1])
def test_a_worker_finds_rank_0_at_whichever_address_of_the_name_it_is(tmp_path, kind, late):
    with ranks(tmp_path, SEVERAL, COBRE_TCP_BIND_ADDR=OURS) as group, strangers(group.port, kind) as present:
        group.start(1 - late)
        group.wait_for(1 - late, "starting")
        group.start(late)
        said = attend(group, present, 0, 1)
    assert all(words.count("no failure") == 2 for words in said), said


def accepted(listener):
    connection = listener.accept()[0]
    connection.setblocking(False)
    return connection


def test_attempts_at_silent_addresses_stay_open_while_another_is_tried_again(tmp_path):
    """None is given up before rank 0 has proved itself; then they are told that they are not needed."""
    with ranks(tmp_path, SEVERAL, COBRE_TCP_BIND_ADDR=OURS) as group, contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server((each, group.port))) for each in STRANGERS]
        for listener in listeners:
            listener.settimeout(LONG_S)
        group.start(1)
        connections = [stack.enter_context(accepted(listener)) for listener in listeners]
        for connection in connections:
            with pytest.raises(BlockingIOError):
                connection.recv(1)
        said = group.start(0).wait()
        farewells = [connection.recv(100) for connection in connections]
    assert all(words.count("no failure") == 2 for words in said), said
    assert farewells == [b"\0\0\0\x01\x0a"] * 2  # Shutdown


def test_a_rank_0_at_several_addresses_gets_each_rank_once(tmp_path):
    """The connection by way of the first address is slow, so that rank 1 has another one when it joins."""
    hosts = f"{STRANGERS[0]} {NAME}\n{OURS} {NAME}\n"
    with ranks(tmp_path, hosts, size=3, COBRE_TCP_BIND_ADDR=OURS) as group:
        with Proxy(group.port, host=OURS, at=(STRANGERS[0], group.port)) as slow:
            slow.freeze()
            group.start(0)
            group.wait_until_listening()
            group.start(1)
            group.wait_until_joined(1)
            end = time.monotonic() + LONG_S
            while not slow.addresses and time.monotonic() < end:
                time.sleep(0.01)
            assert slow.addresses, "rank 1 has not tried the first address"
            slow.thaw()
            slow.wait_until_ended(LONG_S)
        # Nobody answers at the first address now, so that rank 2 has one connection, however slow the machine.
        said = group.start(2).wait()
        assert group.logged(0).count("has joined from") == 2
        assert "dropped" not in group.logged(0), group.logged(0)
    assert all(words.count("no failure") == 2 for words in said), said


def test_ctrl_c_works_while_no_address_answers(tmp_path):
    with ranks(tmp_path, SEVERAL) as group, strangers(group.port, "silent"):
        group.start(1).wait_for(1, "starting")
        group.wait_until_asleep(1)
        group.signal(1, signal.SIGINT)
        said = group.wait(1)[0]
    assert "interrupted after" in said, said


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("closed", "Connection refused"),
        ("silent", "did not answer"),
        ("full", "timed out"),
        ("http", "no rank 0"),
    ],
)
def test_the_error_lists_every_address_with_its_reason(tmp_path, kind, reason):
    with ranks(tmp_path, SEVERAL, connect_s=3) as group, strangers(group.port, kind) as present:
        group.start(1)
        said = attend(group, present, 1)[0]
    assert f"no rank 0 at {NAME} port {group.port} within 3 s" in said, said
    for address in STRANGERS:
        told = said.partition(f"{address}:{group.port}: ")[2].partition(";")[0]
        assert reason in told, said
    assert f"{OURS}:{group.port}: Connection refused" in said, said


def test_a_wrong_secret_is_still_refused_at_once_at_every_address(tmp_path):
    """Rank 0 listens at all of them, so there is nobody left to ask."""
    with ranks(tmp_path, SEVERAL) as group:
        group.start(0)
        group.wait_until_listening()
        group.start(1, COBRE_TCP_SECRET="something else")
        said = group.wait(1)[1]
        group.signal(0, signal.SIGINT)
        group.wait(0)
    assert f"rank 0 is at no address of {NAME}: " in said, said
    for address in (OURS, *STRANGERS):
        assert f"{address}:{group.port}: it says no: its secret is not rank 0's" in said, said


@pytest.mark.parametrize("hosts", [f"::1 {NAME}\n", f"::1 {NAME}\n127.0.0.1 {NAME}\n", f"127.0.0.1 {NAME}\n"])
def test_a_name_of_any_family_and_a_secret_need_nothing_else(tmp_path, hosts):
    if "::1" in hosts and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with ranks(tmp_path, hosts) as group:
        said = group.start().wait()
    assert all(words.count("no failure") == 2 for words in said), said


@pytest.mark.few(3)
@pytest.mark.parametrize("secret", ["", "between us"])
@pytest.mark.parametrize("hosts", ["::1 localhost\n", "127.0.0.1 localhost\n", "192.0.2.7 localhost\n", ""])
def test_localhost_is_loopback_whatever_the_hosts_file_says(tmp_path, hosts, secret):
    """Without a secret nobody may be asked, or listened to, anywhere else."""
    with ranks(tmp_path, hosts, host="localhost", COBRE_TCP_SECRET=secret) as group:
        said = group.start().wait()
    assert all(words.count("no failure") == 2 for words in said), said


SILENT_RESOLVER = "nameserver 127.0.0.1\noptions timeout:10 attempts:3\n"
# The name server of this network: it takes questions and never answers.
HOLD_DNS = """
import socket, threading
dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
dns.bind(("127.0.0.1", 53))
threading.Thread(target=lambda: print("asked for", len(dns.recv(512)), "bytes", flush=True), daemon=True).start()
"""


def silent_dns(directory, **options):
    group = ranks(directory, "", resolver=SILENT_RESOLVER, alone=True, host="nowhere.test", **options)
    script = directory / "program.py"
    script.write_text(HOLD_DNS + script.read_text())
    return group


@pytest.mark.parametrize("rank", [0, 1])
def test_the_connect_deadline_holds_while_the_resolver_is_silent(tmp_path, rank):
    environ = {"COBRE_TCP_BIND_ADDR": "nowhere.test"} if rank == 0 else {}
    with silent_dns(tmp_path, connect_s=0.7, **environ) as group:
        said = group.start(rank).wait(rank)[0]
    assert "InitializationFailed: " in said, said
    assert "the resolver does not answer" in said, said
    assert "nowhere.test" in said, said
    assert 0.6 < float(said.partition("took ")[2].split()[0]) < 20, said  # the resolver would take 30 s


@pytest.mark.parametrize("rank", [0, 1])
def test_ctrl_c_works_while_the_resolver_is_silent(tmp_path, rank):
    environ = {"COBRE_TCP_BIND_ADDR": "nowhere.test"} if rank == 0 else {}
    with silent_dns(tmp_path, **environ) as group:
        group.start(rank).wait_for(rank, "asked for")
        group.signal(rank, signal.SIGINT)
        said = group.wait(rank)[0]
        assert group.processes[rank].returncode == 0
    assert float(said.partition("interrupted after ")[2].split()[0]) < 20, (
        said
    )  # the resolver would take 30 s
