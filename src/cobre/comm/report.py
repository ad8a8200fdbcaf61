"""What a rank sends to its launcher in addition to its output: results, events, and why it failed.

A pipe that the rank inherits; the variable names its descriptor and inode, so that a grandchild in which
that number means another file stays silent. Ranks that something else started have no such pipe and report nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from types import TracebackType
from typing import NamedTuple

from cobre.comm.selection import REPORT_VARIABLE as VARIABLE
from cobre.errors import CollectiveFailed, InitializationFailed

__all__ = [
    "HELD_SIGNALS",
    "VARIABLE",
    "Failure",
    "Inbox",
    "Message",
    "Outbox",
    "Tag",
    "above_standard",
    "failure_of",
    "report_error",
    "report_exit",
    "report_failures",
    "report_leaves",
]

HELD_SIGNALS = (signal.SIGINT,)
"""Blocked in a worker of `cobre.comm.run` until it can report what they do: an interrupt while Python starts would
print a traceback of the interpreter's own."""

HEADER = struct.Struct("!BQ")
READ_BYTES = 1 << 20


class Tag(IntEnum):
    """What a message holds."""

    FAILURE = 1
    EXCEPTION = 2
    RESULT = 3
    EVENT = 4
    END = 5
    """The interpreter ended in order: nothing killed it."""
    LEAVES = 6
    """Files that this rank, or a library of its, leaves if it is killed."""


class Message(NamedTuple):
    """One thing that a rank reported."""

    tag: Tag
    payload: bytes


class Failure(NamedTuple):
    """An exception that ended a rank; ``is_consequence`` if another rank's failure caused it."""

    kind: str
    is_consequence: bool
    traceback: str

    def to_bytes(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Failure:
        return cls(**json.loads(data))


def failure_of(error: BaseException) -> Failure:
    """How this exception is reported. One raised while handling another rank's failure is a consequence, too."""
    text = "".join(traceback.format_exception(error))
    return Failure(
        type(error).__name__,
        any(isinstance(e, (CollectiveFailed, InitializationFailed)) for e in _chain(error)),
        text,
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def above_standard(descriptor: int) -> int:
    """The same file under a number that is no child's stdin, stdout or stderr: where one of ours is closed, as under
    some daemons, the next file gets its number."""
    if descriptor > 2:
        return descriptor
    lifted = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return lifted


class Inbox:
    """The starter's end: reads whole messages as they come."""

    def __init__(self, read_end: int | None = None) -> None:
        if read_end is None:
            self.read_end, self.write_end = map(above_standard, os.pipe())
        else:
            self.read_end, self.write_end = read_end, -1
        os.set_blocking(self.read_end, False)
        self.messages: list[Message] = []
        self._data = bytearray()

    @property
    def address(self) -> str:
        """What the rank finds in `VARIABLE`."""
        return f"{self.write_end}:{os.fstat(self.write_end).st_ino}"

    @property
    def failure(self) -> Failure | None:
        """The last failure that was reported, if any."""
        told = [message.payload for message in self.messages if message.tag == Tag.FAILURE]
        return Failure.from_bytes(told[-1]) if told else None

    @property
    def leaves(self) -> list[str]:
        """Files that are to be removed once all ranks have ended."""
        told = [message.payload for message in self.messages if message.tag == Tag.LEAVES]
        return [path for payload in told for path in json.loads(payload)]

    @property
    def has_ended_in_order(self) -> bool:
        """Whether the rank reported it itself."""
        return self.holds(Tag.END)

    def holds(self, tag: Tag) -> bool:
        """Whether a message with this tag has come and was not taken yet."""
        return any(message.tag == tag for message in self.messages)

    def fileno(self) -> int:
        return self.read_end

    def close_write_end(self) -> None:
        """After the rank was started, which has its own copy."""
        os.close(self.write_end)

    def read(self) -> bool:
        """Take what is there; whether more may come."""
        while True:
            try:
                data = os.read(self.read_end, READ_BYTES)
            except BlockingIOError:
                return True
            except ConnectionResetError:
                return False
            if not data:
                return False
            self._data += data
            self._cut()

    def take(self, tag: Tag) -> list[bytes]:
        """Remove and return the payloads of all messages with this tag, in order."""
        taken = [message.payload for message in self.messages if message.tag == tag]
        self.messages = [message for message in self.messages if message.tag != tag]
        return taken

    def close(self) -> None:
        os.close(self.read_end)

    def _cut(self) -> None:
        start = 0
        while len(self._data) - start >= HEADER.size:
            tag, length = HEADER.unpack_from(self._data, start)
            end = start + HEADER.size + length
            if len(self._data) < end:
                break
            self.messages.append(Message(Tag(tag), bytes(self._data[start + HEADER.size : end])))
            start = end
        del self._data[:start]


class Outbox:
    """The rank's end. Messages from several threads stay whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._inode = os.fstat(descriptor).st_ino
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.has_failed = False
        os.set_inheritable(descriptor, False)

    @classmethod
    def from_environment(cls) -> Outbox | None:
        """The pipe that this process was given, if it was."""
        number, _, inode = os.environ.pop(VARIABLE, "").partition(":")
        try:
            found = os.fstat(int(number)).st_ino == int(inode)
        except (OSError, ValueError):
            return None
        return cls(int(number)) if found else None

    def send(self, tag: Tag, payload: bytes) -> None:
        """Waits while the pipe is full. Does nothing in a forked child, or when the launcher has closed the pipe.

        Also silent if the program closed the descriptor: the number may be another file by then.
        """
        if os.getpid() != self._pid:
            return
        self.has_failed |= tag == Tag.FAILURE
        data = memoryview(HEADER.pack(tag, len(payload)) + payload)
        with self._lock, contextlib.suppress(OSError):
            while data and os.fstat(self._descriptor).st_ino == self._inode:
                data = data[os.write(self._descriptor, data) :]


_outboxes: list[Outbox] = []


def report_failures() -> None:
    """From now on report to the launcher, if it listens, which exception ended this process, or that none did."""
    outbox = Outbox.from_environment()
    if outbox is None:
        return
    _outboxes.append(outbox)
    show = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        outbox.send(Tag.FAILURE, failure_of(error).to_bytes())
        show(kind, error, where)

    sys.excepthook = hook
    # Before the backend is opened, and so called after whatever that registers: it may still end the process.
    atexit.register(outbox.send, Tag.END, b"")


def report_error(error: BaseException) -> None:
    """Tell the launcher, if it listens, what ends this rank: for a program that shows the message, not a traceback."""
    for outbox in _outboxes:
        outbox.send(Tag.FAILURE, failure_of(error)._replace(traceback=f"cobre: {error}\n").to_bytes())


def report_leaves(find: Callable[[], Sequence[str]]) -> None:
    """Tell the launcher, if it listens, which files to remove should this rank be killed."""
    for outbox in _outboxes:
        outbox.send(Tag.LEAVES, json.dumps(list(find())).encode())


def report_exit(status: int) -> None:
    """Tell the launcher, if it listens, that this rank is about to end the job with ``status``.

    Not if a failure was reported before: that is the reason.
    """
    for outbox in _outboxes:
        if not outbox.has_failed:
            outbox.send(Tag.FAILURE, Failure(f"SystemExit({status})", False, "").to_bytes())
