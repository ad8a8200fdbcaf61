"""Ranks of the tcp backend in processes of their own, or in threads of the test."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import warm
from cobre.comm import TcpCommunicator, TcpConfig

TOOLS = """\
import os, signal, sys, time
import numpy as np
from cobre.comm import *

def failure_of(call, *arguments):
    started = time.monotonic()
    try:
        call(*arguments)
    except CollectiveFailed as error:
        print(f"{error.message} [{time.monotonic() - started:.2f} s]", flush=True)
    except CobreError as error:
        print(f"{type(error).__name__}: {error.message}", flush=True)
    else:
        print("no failure", flush=True)

def say(word):
    print(word, flush=True)

def wait_for_word(seconds=30):
    end = time.monotonic() + seconds
    while not os.path.exists(sys.argv[0] + ".word") and time.monotonic() < end:
        time.sleep(0.01)

comm = None
def start():
    global comm
    comm = create_communicator()
"""
PREAMBLE = (
    TOOLS
    + """
comm = create_communicator()
rank, size = comm.rank, comm.size
one, many, ones, places = np.ones(1), np.ones(size), [1] * size, range(size)
big = np.ones(1_000_000)
"""
)
CALLS = {
    "barrier": "comm.barrier",
    "allreduce": "comm.allreduce, one, one.copy(), 'sum'",
    "large allreduce": "comm.allreduce, big, big.copy(), 'sum'",
    "allgatherv": "comm.allgatherv, one, many, ones, places",
    "large allgatherv": "comm.allgatherv, big, np.ones(size * big.size), [big.size] * size,"
    " [big.size * r for r in range(size)]",
    "broadcast from 0": "comm.broadcast, big, 0",
    "broadcast from 1": "comm.broadcast, big, 1",
    "region": "comm.create_shared_region, 5",
    "split": "comm.split_local",
}


_given: set[int] = set()


def free_port() -> int:
    """One that is free, and was given to no other group: those of several tests start at the same time."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


class Ranks:
    """Started ranks; used as a context that leaves none running.

    ``ports`` says where the rank looks for rank 0 if not at ``port``; ``inside`` what stands before its command.
    """

    def __init__(
        self,
        size,
        program,
        *,
        preamble=PREAMBLE,
        port=None,
        ports=None,
        timeout_s=2.0,
        directory=None,
        environ=None,
        inside=None,
    ):
        self.size, self.port = size, port or free_port()
        self._script = Path(directory) / "program.py"
        self._script.write_text(preamble + program)
        self._directory = Path(directory)
        self.processes = {}
        self._environ = {
            **os.environ,
            "COBRE_COMM_BACKEND": "tcp",
            "COBRE_TCP_COORDINATOR": "127.0.0.1",
            "COBRE_TCP_SIZE": str(size),
            "COBRE_TCP_TIMEOUT_SECS": str(timeout_s),
            "COBRE_TCP_CONNECT_TIMEOUT_MS": "10000",
            **(environ or {}),
        }
        self._ports, self._inside = ports or {}, inside or {}

    def start(self, *ranks, **environ):
        for rank in ranks or range(self.size):
            own = {"COBRE_TCP_RANK": str(rank), "COBRE_TCP_PORT": str(self._ports.get(rank, self.port))}
            self.processes[rank] = self._process(rank, {**self._environ, **own, **environ})
        return self

    def _process(self, rank, environ):
        code, inside = self._script.read_text(), self._inside.get(rank, [])
        with (self._directory / f"out.{rank}").open("w") as output:
            return warm.start(code, [str(self._script)], prefix=inside, env=environ, stdout=output.fileno())

    def said(self, rank):
        return (self._directory / f"out.{rank}").read_text()

    def wait_for(self, rank, word, seconds=15.0):
        end = time.monotonic() + seconds
        while word not in self.said(rank):
            assert time.monotonic() < end, f"rank {rank} never said {word!r}: {self.said(rank)}"
            time.sleep(0.01)

    def wait_until_joined(self, count, seconds=15.0):
        """Until rank 0 has ``count`` connections, and a moment for their introductions."""
        end = time.monotonic() + seconds
        while _connections_at(self.port) < count:
            assert time.monotonic() < end, f"fewer than {count} ranks joined"
            time.sleep(0.01)
        time.sleep(0.3)

    def give_word(self):
        """Let every rank go on that is in ``wait_for_word``."""
        self._script.with_name(f"{self._script.name}.word").touch()

    def signal(self, rank, number):
        self.processes[rank].send_signal(number)

    def wait(self, *ranks, seconds=20.0):
        end = time.monotonic() + seconds
        for rank in ranks or self.processes:
            self.processes[rank].wait(max(0.1, end - time.monotonic()))
        return [self.said(rank) for rank in sorted(self.processes)]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)


def _connections_at(port):
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def open_all(configs, delays=None):
    """What ``connect`` returned or raised for each configuration, all at the same time."""
    outcomes = [None] * len(configs)

    def run(place):
        time.sleep((delays or {}).get(place, 0))
        try:
            outcomes[place] = TcpCommunicator.connect(configs[place])
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(configs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return outcomes


def close_all(outcomes):
    for outcome in outcomes:
        if isinstance(outcome, TcpCommunicator):
            outcome.close()


def group_of(size, host="127.0.0.1", **settings):
    settings = {"connect_timeout": 5.0, "timeout": 5.0, "port": free_port(), **settings}
    return [TcpConfig(host, rank, size, **settings) for rank in range(size)]


def barrier_on(comms):
    threads = [threading.Thread(target=comm.barrier) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [comm.stats()["barrier"]["calls"] for comm in comms] == [1] * len(comms)
