"""Where the ranks meet: rank 0 keeps the table, the others reach it over a socket each.

To this module every collective is the same step: each rank says what it calls and hands in some
bytes; once all have said the same, each gets the bytes of all others. What they mean is the
communicator's business. Rank 0 decides about every step, so that all ranks get the same answer.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cobre.errors import InitializationFailed
from cobre_backend_sockets.config import SocketsConfig

HEAD = struct.Struct("!IQd")  # bytes of the header, bytes of the payload, seconds the sender will wait
FAILURE_GRACE_S = 2.0
HANDSHAKE_S = 1.0


class MeetingFailed(Exception):
    """Why no step of this group will complete any more."""


class Wire:
    """One connection: frames of a JSON header and a payload, moved at most ``chunk_bytes`` at a time."""

    def __init__(self, connection: socket.socket, chunk_bytes: int) -> None:
        self._socket = connection
        self._chunk_bytes = chunk_bytes
        self._is_torn = False

    def send(self, header: Mapping[str, Any], payloads: Sequence[Any], timeout: float) -> None:
        if self._is_torn:
            raise ConnectionError("an earlier frame was not sent to its end")
        self._is_torn = True
        self._socket.settimeout(timeout)
        text = json.dumps(header).encode()
        head = HEAD.pack(len(text), sum(map(len, payloads)), timeout)
        for part in (head + text, *payloads):
            rest = memoryview(part)
            while rest:
                rest = rest[self._socket.send(rest[: self._chunk_bytes]) :]
        self._is_torn = False

    def receive(self, timeout: float | None) -> tuple[dict[str, Any], int, float]:
        """Header, payload bytes (for the caller to `fill`), and how long the sender will wait."""
        self._socket.settimeout(timeout)
        head = bytearray(HEAD.size)
        self.fill(memoryview(head))
        header_bytes, payload_bytes, patience_s = HEAD.unpack(head)
        text = bytearray(header_bytes)
        self.fill(memoryview(text))
        return json.loads(text), payload_bytes, patience_s

    def fill(self, target: memoryview) -> None:
        while target:
            count = self._socket.recv_into(target[: self._chunk_bytes])
            if count == 0:
                raise ConnectionError("the other side has closed")
            target = target[count:]

    def shut_down(self, direction: int) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(direction)

    def close(self) -> None:
        self._socket.close()


class _Step:
    """One collective in the making."""

    def __init__(self) -> None:
        self.calls: dict[int, dict[str, Any]] = {}
        self.payloads: dict[int, Any] = {}
        self.answered: set[int] = set()
        self.is_complete = False


class Hub:
    """Rank 0's side: the table itself, and one thread for each other rank that calls on its behalf.

    The threads also see a rank leave at once, even while rank 0 computes.
    """

    def __init__(self, wires: Mapping[int, Wire]) -> None:
        self._wires = dict(wires)
        self._size = len(wires) + 1
        self._changed = threading.Condition()
        self._step = _Step()
        self._gone: set[int] = set()
        self._failure: str | None = None
        for rank, wire in wires.items():
            threading.Thread(target=self._serve, args=(rank, wire), daemon=True, name=f"rank {rank}").start()

    def exchange(self, call: dict[str, Any], payload: Any, sinks: Mapping[int, Any], timeout: float) -> float:
        """Fill ``sinks`` with the other ranks' payloads; returns how long they were waited for."""
        started = time.perf_counter()
        try:
            step = self._meet(0, call, payload, timeout)
        except MeetingFailed:
            self._wait_until(lambda: not self._wires, FAILURE_GRACE_S)
            raise
        waited_s = time.perf_counter() - started
        for rank, sink in sinks.items():
            sink[:] = step.payloads[rank]
        # This process may exit right afterwards; by then the answers to all ranks must be sent.
        self._wait_until(lambda: not self._wires.keys() - step.answered, timeout)
        return waited_s

    def leave(self, reason: str, patience_s: float = 0.0) -> None:
        """End the meeting for all, and wait that long until they have the reason."""
        with self._changed:
            self._fail(reason)
            self._changed.wait_for(lambda: not self._wires, patience_s)

    def drop_descriptors(self) -> None:
        for wire in list(self._wires.values()):
            wire.close()

    def _wait_until(self, is_true: Any, timeout: float) -> None:
        with self._changed:
            self._changed.wait_for(is_true, timeout)

    def _serve(self, rank: int, wire: Wire) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        try:
            while True:
                self._answer(rank, wire)
        except MeetingFailed:
            pass
        except OSError:
            self._note_departure(rank)
        except Exception as error:  # whatever goes wrong here, no rank may be left waiting
            self.leave(f"rank 0 could not serve rank {rank}: {error!r}")
        with contextlib.suppress(OSError):
            if self._failure is not None:
                wire.send({"failure": self._failure}, (), FAILURE_GRACE_S)
        wire.close()
        with self._changed:
            del self._wires[rank]
            self._changed.notify_all()

    def _answer(self, rank: int, wire: Wire) -> None:
        call, payload_bytes, patience_s = wire.receive(None)
        payload = memoryview(bytearray(payload_bytes))
        wire.fill(payload)
        step = self._meet(rank, call, payload, patience_s)
        wire.send({}, [step.payloads[other] for other in range(self._size) if other != rank], patience_s)
        with self._changed:
            step.answered.add(rank)
            self._changed.notify_all()

    def _meet(self, rank: int, call: dict[str, Any], payload: Any, timeout: float) -> _Step:
        """The step that ``rank`` took part in, complete; `MeetingFailed` if it cannot be."""
        with self._changed:
            if self._failure is not None:
                raise MeetingFailed(self._failure)
            step = self._step
            step.calls[rank], step.payloads[rank] = call, payload
            self._look_for_absent_ranks()
            if len(step.calls) == self._size:
                self._complete(step)
            if not self._changed.wait_for(lambda: step.is_complete or self._failure, timeout):
                missing = _names(sorted(set(range(self._size)) - step.calls.keys()))
                self._fail(f"{call['operation']} timed out after {timeout:g} s: {missing} did not call it")
            if not step.is_complete:
                raise MeetingFailed(self._failure)
            return step

    def _complete(self, step: _Step) -> None:
        calls = [step.calls[rank] for rank in range(self._size)]
        if any(call != calls[0] for call in calls):
            said = "; ".join(f"rank {rank} called {_spell(call)}" for rank, call in enumerate(calls))
            self._fail(f"the ranks disagree: {said}")
            return
        step.is_complete = True
        self._step = _Step()
        self._changed.notify_all()

    def _note_departure(self, rank: int) -> None:
        with self._changed:
            self._gone.add(rank)
            self._look_for_absent_ranks()

    def _look_for_absent_ranks(self) -> None:
        """Fail the step that one rank waits in and another can no longer call."""
        waiting, absent = self._step.calls, sorted(self._gone - self._step.calls.keys())
        if waiting and absent:
            operation = next(iter(waiting.values()))["operation"]
            self._fail(f"{operation} cannot complete: {_names(absent)} closed its communicator or died")

    def _fail(self, reason: str) -> None:
        if self._failure is None:
            self._failure = reason
            for wire in self._wires.values():
                wire.shut_down(socket.SHUT_RD)  # wakes its thread, which delivers the answer
            self._changed.notify_all()


class Link:
    """Any other rank's side."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def exchange(self, call: dict[str, Any], payload: Any, sinks: Mapping[int, Any], timeout: float) -> float:
        started = time.perf_counter()
        try:
            with contextlib.suppress(ConnectionError):  # the answer that says why can still be read
                self._wire.send(call, [payload], timeout)
            answer, _, _ = self._wire.receive(timeout + FAILURE_GRACE_S)
            waited_s = time.perf_counter() - started
            if "failure" in answer:
                raise MeetingFailed(answer["failure"])
            for rank in sorted(sinks):
                self._wire.fill(sinks[rank])
        except TimeoutError:
            raise MeetingFailed(f"{call['operation']}: rank 0 gave no answer in {timeout:g} s") from None
        except OSError as error:
            raise MeetingFailed(
                f"{call['operation']} cannot complete: rank 0 closed its communicator or died"
            ) from error
        return waited_s

    def leave(self, reason: str, patience_s: float = 0.0) -> None:
        """Close the connection: rank 0 notices it and notifies the others."""
        self._wire.shut_down(socket.SHUT_RDWR)
        self._wire.close()

    def drop_descriptors(self) -> None:
        self._wire.close()


def meet(config: SocketsConfig) -> Hub | Link | None:
    """This rank's side of the meeting, once all ranks are there; ``None`` if there is one rank only."""
    if config.size == 1:
        return None
    deadline = time.monotonic() + config.connect_timeout
    try:
        return _gather(config, deadline) if config.rank == 0 else _join(config, deadline)
    except OSError as error:
        raise InitializationFailed(
            "sockets",
            error,
            f"rank {config.rank} of {config.size} could not meet the others at {config.path}: {error}",
            suggestion="start all ranks with the same fresh COBRE_SOCKETS_PATH, within the connect timeout",
        ) from error


def _gather(config: SocketsConfig, deadline: float) -> Hub:
    directory, wires = Path(config.path), dict[int, Wire]()
    directory.mkdir(mode=0o700)  # fails if it exists: another group's, or a stranger's
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(config.address)
            listener.listen(config.size)
            while len(wires) < config.size - 1:
                _admit(listener, wires, config, deadline)
    except BaseException as error:
        for wire in wires.values():
            with contextlib.suppress(OSError):
                wire.send({"failure": str(error)}, (), HANDSHAKE_S)
            wire.close()
        raise
    finally:
        Path(config.address).unlink(missing_ok=True)
        directory.rmdir()
    for wire in wires.values():
        with contextlib.suppress(OSError):  # whoever left again is named in the first collective
            wire.send({}, (), HANDSHAKE_S)
    return Hub(wires)


def _admit(listener: socket.socket, wires: dict[int, Wire], config: SocketsConfig, deadline: float) -> None:
    listener.settimeout(max(deadline - time.monotonic(), 0.001))
    absent = set(range(1, config.size)) - wires.keys()
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        names = _names(sorted(absent))
        raise TimeoutError(f"{names} did not join within {config.connect_timeout:g} s") from None
    wire = Wire(connection, config.chunk_bytes)
    try:
        who, _, _ = wire.receive(HANDSHAKE_S)
        if who["size"] == config.size and who["rank"] in absent:
            wires[who["rank"]] = wire
            return
        wire.send({"failure": f"{who} is no rank that {config.size} ranks wait for"}, (), HANDSHAKE_S)
    except OSError:
        pass  # it went away again; whoever is missing at the deadline is named then
    wire.close()


def _join(config: SocketsConfig, deadline: float) -> Link:
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(config.address)
            break
        except (FileNotFoundError, ConnectionRefusedError):  # rank 0 is not there yet
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
    wire = Wire(connection, config.chunk_bytes)
    try:
        wire.send({"rank": config.rank, "size": config.size}, (), HANDSHAKE_S)
        answer, _, _ = wire.receive(max(deadline - time.monotonic(), HANDSHAKE_S))
        if "failure" in answer:
            raise ConnectionError(answer["failure"])
    except BaseException:
        wire.close()
        raise
    return Link(wire)


def _names(ranks: Sequence[int]) -> str:
    return ", ".join(f"rank {rank}" for rank in ranks)


def _spell(call: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={value}" for name, value in call.items() if name != "operation")
    return f"{call['operation']}({arguments})"
