"""Ranks of the tcp backend in processes of their own, or in threads of the test."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import warm
from cobre.comm import TcpCommunicator, TcpConfig
from cobre.comm.backends import tcp

LONG_S = 60.0
"""Nobody waits that long unless something is wrong, however busy the machine is."""
TOOLS = """\
import logging, os, signal, sys, threading, time
import numpy as np
from cobre.comm import *

_log = logging.getLogger("cobre.comm")
_log.setLevel("INFO")
_log.addHandler(logging.FileHandler(f"{sys.argv[0]}.log.{os.environ['COBRE_TCP_RANK']}", mode="w"))
_shown = logging.StreamHandler()
_shown.setLevel("WARNING")
_log.addHandler(_shown)

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

def wait_for_word():
    words = [sys.argv[0] + ".word", f"{sys.argv[0]}.word.{os.environ['COBRE_TCP_RANK']}"]
    end = time.monotonic() + 100
    while not any(map(os.path.exists, words)):
        assert time.monotonic() < end, "nobody gave the word"
        time.sleep(0.01)

def wait_until_in_call(thread):
    # A thread that only wants the interpreter's lock gets it while this one sleeps, and then is not asleep itself.
    looks, end = 0, time.monotonic() + 100
    while looks < 3:
        assert time.monotonic() < end, "the thread made no call"
        with open(f"/proc/self/task/{thread.native_id}/stat") as stat:
            looks = looks + 1 if stat.read().rpartition(")")[2].split()[0] == "S" else 0
        time.sleep(0.05)

def hang():
    time.sleep(100)

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
    while (port := tcp.free_port()) in _given:
        continue
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
        timeout_s=LONG_S,
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
            "COBRE_TCP_CONNECT_TIMEOUT_MS": str(round(1000 * LONG_S)),
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

    def logged(self, rank):
        path = Path(f"{self._script}.log.{rank}")
        return path.read_text() if path.exists() else ""

    def wait_for(self, rank, word):
        self._wait_until(lambda: word in self.said(rank), rank, f"said {word!r}")

    def wait_for_all(self, word):
        """Until every rank that was started has said it."""
        for rank in self.processes:
            self.wait_for(rank, word)

    def wait_until_logged(self, rank, words):
        self._wait_until(lambda: words in self.logged(rank), rank, f"logged {words!r}")

    def wait_until_listening(self):
        self.wait_until_logged(0, "rank 0 listens at")

    def wait_until_joined(self, *ranks, address=""):
        """Until rank 0 has taken them in, from this address."""
        for rank in ranks:
            self.wait_until_logged(0, f"rank {rank} has joined from {address}")

    def wait_until_asleep(self, *ranks):
        """Until they wait in a call: those who want to compute and do not get a processor are not asleep."""
        for rank in ranks:
            self._wait_until(lambda rank=rank: self._state_of(rank) == "S", rank, "waited for anybody")

    def _wait_until(self, is_so, rank, what):
        end = time.monotonic() + LONG_S
        while not is_so():
            assert time.monotonic() < end, f"rank {rank} never {what}: {self._described()}"
            time.sleep(0.01)

    def _described(self):
        return "".join(
            f"\nrank {rank} ({self._state_of(rank)}) said: {self.said(rank)}logged: {self.logged(rank)}"
            for rank in sorted(self.processes)
        )

    def _state_of(self, rank):
        stat = Path(f"/proc/{self.processes[rank].pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0]

    def give_word(self, *ranks):
        """Let these ranks, or all, go on that are in ``wait_for_word``."""
        for name in [f".{rank}" for rank in ranks] or [""]:
            self._script.with_name(f"{self._script.name}.word{name}").touch()

    def stop(self, rank):
        """Until a signal continues it, it does nothing at all."""
        self.signal(rank, signal.SIGSTOP)
        self._wait_until(lambda: self._state_of(rank) == "T", rank, "stopped")

    def signal(self, rank, number):
        self.processes[rank].send_signal(number)

    def wait(self, *ranks, seconds=LONG_S):
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


class Opening:
    """``connect`` under way in a thread of the test."""

    def __init__(self, config, delay=0.0):
        self._config, self._delay, self._outcome = config, delay, None
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._connect)
        self._thread.start()

    def _connect(self):
        time.sleep(self._delay)
        try:
            self._outcome = TcpCommunicator.connect(self._config, on_listening=lambda _: self._listens.set())
        except Exception as error:
            self._outcome = error

    def wait_until_listening(self):
        assert self._listens.wait(LONG_S), self._outcome
        return self

    def outcome(self):
        """What it returned or raised."""
        self._thread.join(LONG_S)
        assert not self._thread.is_alive(), "connect has not returned"
        return self._outcome


def open_all(configs, delays=None):
    """What ``connect`` returned or raised for each configuration, all at the same time."""
    openings = [Opening(config, (delays or {}).get(place, 0.0)) for place, config in enumerate(configs)]
    return [opening.outcome() for opening in openings]


def close_all(outcomes):
    for outcome in outcomes:
        if isinstance(outcome, TcpCommunicator):
            outcome.close()


def group_of(size, host="127.0.0.1", **settings):
    settings = {"connect_timeout": LONG_S, "timeout": LONG_S, "port": free_port(), **settings}
    return [TcpConfig(host, rank, size, **settings) for rank in range(size)]


def barrier_on(comms):
    threads = [threading.Thread(target=comm.barrier) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert [comm.stats()["barrier"]["calls"] for comm in comms] == [1] * len(comms)
