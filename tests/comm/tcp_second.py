"""A second implementation of docs/guides/tcp-wire-protocol.md, written from that page and in Python only.

Slow, blocking and small: what it can do shows what the page says. ``cut`` is where it cuts its payloads.
"""

from __future__ import annotations

import hmac
import os
import socket
import struct
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

KINDS = {"b": 0, "i": 1, "u": 2, "f": 3, "c": 4, "V": 5}
OPERATIONS = {"sum": 0, "min": 1, "max": 2}
FOLDS = {"sum": np.add, "min": np.minimum, "max": np.maximum}
PRIME = 0x100000001B3
START = 0xCBF29CE484222325
NOBODY = 2**63 - 1
AHEAD = 64 * 1024
MOST_UNCONFIRMED = 4
PATIENCE_S = 60
BYTE_ORDER = {"little": 1, "big": 2}[sys.byteorder]


class Failed(Exception):
    """The other side sent a Failure, a Refusal or a Shutdown."""


@dataclass(frozen=True)
class Call:
    verb: int
    sequence: int = 0
    operation: int = OPERATIONS["sum"]
    root: int = 0
    count: int = 0
    total: int = 0
    counts: int = 0
    kind: int = KINDS["u"]
    swapped: int = 0
    itemsize: int = 1
    layout: int = 0

    LAYOUT = struct.Struct("!IBBBBIIQQQQ")
    ORDER = (
        *("sequence", "verb", "operation", "kind", "swapped", "itemsize"),
        *("root", "layout", "count", "total", "counts"),
    )

    def encode(self):
        return self.LAYOUT.pack(*(getattr(self, name) for name in self.ORDER))

    @classmethod
    def decode(cls, payload):
        return cls(**dict(zip(cls.ORDER, cls.LAYOUT.unpack(payload), strict=True)))

    def agrees_with(self, other):
        return replace(self, count=0) == replace(other, count=0) and (
            self.verb == 2 or self.count == other.count
        )


def of_type(dtype):
    """The fields of a call that describe an element."""
    return {
        "kind": KINDS[dtype.kind],
        "swapped": int(not dtype.isnative),
        "itemsize": dtype.itemsize,
        "layout": fnv(layout_bytes(dtype)) if dtype.kind == "V" else 0,
    }


def fnv(data):
    state = START
    for byte in data:
        state = (state ^ byte) * PRIME % 2**64
    return state


def layout_bytes(dtype):
    def number(value):
        return struct.pack("<Q", value)

    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return number(dtype.itemsize) + b"[" + b"".join(map(number, shape)) + layout_bytes(base)
    data = (
        number(dtype.itemsize) + number(ord(dtype.kind)) + number(int(not dtype.isnative and not dtype.names))
    )
    for name in dtype.names or ():
        field, offset = dtype.fields[name][:2]
        data += name.encode() + number(offset) + layout_bytes(field)
    return data


def hash_of(counts):
    state = START
    for count in counts:
        state = (state ^ count) * PRIME % 2**64
        state ^= state >> 29
    return state


class Rank:
    """A worker, or rank 0 of two; the same steps either way."""

    def __init__(self, rank, size, port, *, secret="", cut=1000):
        self.rank, self.size, self._cut, self._sequence = rank, size, cut, 0
        self._secret, self.neighbours = secret.encode(), None
        self._connection = self._kept = None
        self._unconfirmed = []
        try:
            if rank == 0:
                self._listen(port)
            else:
                self._join(port)
        except BaseException:
            if self._connection is not None:
                self._connection.close()
            raise

    def _prove(self, label, first, second):
        return hmac.digest(self._secret, label + first + second, "sha256")

    def _join(self, port):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        theirs, mine = self._expect(0x0B), os.urandom(32)
        self._put(0x0C, mine + self._prove(b"cobre tcp worker", theirs, mine))
        assert hmac.compare_digest(self._expect(0x0C), self._prove(b"cobre tcp rank 0", mine, theirs))
        self._put(0x08, struct.pack("!IIHBBQ", self.rank, self.size, 2, BYTE_ORDER, 0, 4711))
        size, self.neighbours = struct.unpack("!II", self._expect(0x09))
        assert size == self.size

    def _listen(self, port):
        assert self.size == 2
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen()
            listener.settimeout(PATIENCE_S)
            self._connection, _ = listener.accept()
        self._connection.settimeout(PATIENCE_S)
        mine = os.urandom(32)
        self._put(0x0B, mine)
        said = self._expect(0x0C)
        theirs, proof = said[:32], said[32:]
        assert hmac.compare_digest(proof, self._prove(b"cobre tcp worker", mine, theirs))
        self._put(0x0C, self._prove(b"cobre tcp rank 0", theirs, mine))
        rank, size, version, order, zero, _ = struct.unpack("!IIHBBQ", self._expect(0x08))
        assert (rank, size, version, order, zero) == (1, 2, 2, BYTE_ORDER, 0)
        self._put(0x09, struct.pack("!II", 2, 1))

    def _put(self, tag, payload=b""):
        self._connection.sendall(struct.pack("!IB", len(payload) + 1, tag) + payload)

    def _get(self):
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        length, tag = struct.unpack("!IB", self._take(5))
        return tag, self._take(length - 1)

    def _take(self, count):
        data = bytearray()
        while len(data) < count:
            part = self._connection.recv(count - len(data))
            if not part:
                raise Failed("the stream has ended")
            data += part
        return bytes(data)

    def _expect(self, tag):
        got, payload = self._get()
        while got == 0x12:
            got, payload = self._get()
        if got == 0x10:
            raise Failed(payload.partition(b"\0")[0].decode())
        if got == 0x0D:
            raise Failed(f"refused {payload[0]}: {payload[1:].decode()}")
        if got == 0x0A:
            raise Failed("shutdown")
        assert got == tag, (got, tag)
        return payload

    def _contribute(self, call, tag, out):
        """Send call and payload; the call as it was sent."""
        holds_back = self.rank > 0 and self.size > 2 and len(out) > AHEAD
        if holds_back or len(self._unconfirmed) == MOST_UNCONFIRMED:
            self._hear_confirmations()
        self._sequence += 1
        call = replace(call, sequence=self._sequence)
        self._put(0x0E, call.encode())
        prefix = bytes([call.operation]) if tag == 0x03 else b""
        first = out[:AHEAD] if holds_back else out
        self._put(tag, prefix + first[: self._cut])
        self._continue(first[self._cut :])
        if holds_back:
            self._kept = self._get()  # Proceed, or the Call that comes without it
            self._continue(out[AHEAD:])
        return call

    def _continue(self, out):
        for begin in range(0, len(out), self._cut):
            self._put(0x0F, out[begin : begin + self._cut])

    def _step(self, call, tag_out, out, tag_in, n_bytes_in):
        """Send our call and payload, and get theirs."""
        call = self._contribute(call, tag_out, out)
        self._hear_confirmations()
        assert Call.decode(self._expect(0x0E)).agrees_with(call)
        data = self._expect(tag_in)
        if tag_in == 0x03:
            assert data[0] == call.operation
            data = data[1:]
        while len(data) < n_bytes_in:
            data += self._expect(0x0F)
        assert len(data) == n_bytes_in
        return data

    def _hear_confirmations(self):
        for call in self._unconfirmed:
            assert Call.decode(self._expect(0x0E)).agrees_with(call)
            assert self._expect(0x05) == b""
        self._unconfirmed.clear()

    def barrier(self, verb=1):
        mine, theirs = (0x07, 0x06) if self.rank == 0 else (0x06, 0x07)
        self._step(Call(verb), mine, b"", theirs, 0)

    def split_local(self):
        self.barrier(verb=6)

    def allgatherv(self, send, counts):
        """All parts, one behind the other."""
        call = Call(2, count=send.size, total=sum(counts), counts=hash_of(counts), **of_type(send.dtype))
        tags = (0x02, 0x01) if self.rank == 0 else (0x01, 0x02)
        before, behind = sum(counts[: self.rank]), sum(counts[self.rank + 1 :])
        width = send.dtype.itemsize
        data = self._step(call, tags[0], send.tobytes(), tags[1], (before + behind) * width)
        parts = np.frombuffer(data, send.dtype)
        return np.concatenate([parts[:before], send, parts[before:]])

    def allreduce(self, send, op, call=None):
        call = call or Call(3, operation=OPERATIONS[op], count=send.size, **of_type(send.dtype))
        tag_in = 0x03 if self.size == 2 else 0x04
        got = np.frombuffer(self._step(call, 0x03, send.tobytes(), tag_in, send.nbytes), send.dtype)
        if self.size > 2:
            return got
        return FOLDS[op](send, got) if self.rank == 0 else FOLDS[op](got, send)

    def broadcast(self, buf, root):
        call = Call(4, root=root, count=buf.size, **of_type(buf.dtype))
        is_mine = root == self.rank
        if is_mine and buf.nbytes <= AHEAD:
            self._unconfirmed.append(self._contribute(call, 0x05, buf.tobytes()))
            return buf
        data = self._step(call, 0x05, buf.tobytes() if is_mine else b"", 0x05, 0 if is_mine else buf.nbytes)
        return buf if is_mine else np.frombuffer(data, buf.dtype)

    def create_shared_region(self, count, dtype, *, can=True):
        """The lowest rank that cannot have it, or NOBODY."""
        mine = np.array([NOBODY if can else self.rank], np.int64)
        call = Call(5, operation=1, count=count, **of_type(np.dtype(dtype)))
        return int(self.allreduce(mine, "min", call)[0])

    def contribute_and_die(self, send, missing):
        """Into an allreduce (sum), all but the last ``missing`` bytes; then the connection ends."""
        call = Call(3, count=send.size, **of_type(send.dtype))
        self._contribute(call, 0x03, send.tobytes()[: send.nbytes - missing])
        self._connection.close()

    def fail(self, text, fix):
        self._put(0x10, text.encode() + b"\0" + fix.encode())
        self._connection.close()

    def close(self):
        self._put(0x0A)
        self._connection.close()
