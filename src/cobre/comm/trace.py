"""Timelines of collectives: what ``COBRE_COMM_TRACE=FILE`` leaves, and one file that Perfetto opens.

Each rank writes ``FILE.rank<r>``; the launcher merges them into FILE. For ranks that something else started::

    python -m cobre.comm.trace FILE

Open the result in https://ui.perfetto.dev or chrome://tracing: one track per rank, and arrows from the rank
that came last to those that waited for it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["VARIABLE", "RankTrace", "merge", "merging", "read_rank", "remove_old", "summary"]

VARIABLE = "COBRE_COMM_TRACE"
MAGIC = b"COBRETRC"
VERSION = 1
HEADER = struct.Struct("=8sIiiiqQ32s64s")
HEADER_BYTES = 4096
FAILED = 128
OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier")
RECORD = struct.Struct("=QQffIHBB")
"""begin_ns, bytes, duration_s, wait_s, sequence, size, communicator, operation: `TraceRecord` in
``native/comm/trace.hpp``."""


class RankTrace(NamedTuple):
    """One process's file. ``records`` are tuples as in `RECORD`, times on the machine's monotonic clock."""

    rank: int
    size: int
    pid: int
    backend: str
    host: str
    realtime_minus_monotonic_ns: int
    records: list[tuple[Any, ...]]


def read_rank(path: Path) -> RankTrace:
    """What one process wrote; a file of another kind is a `ValueError`."""
    data = path.read_bytes()
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        raise ValueError(f"{path} is no trace of a rank")
    _, version, rank, size, pid, offset, count, backend, host = HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"{path} is a trace of version {version}, not {VERSION}")
    whole = min(count, (len(data) - HEADER_BYTES) // RECORD.size)
    records = list(RECORD.iter_unpack(data[HEADER_BYTES : HEADER_BYTES + whole * RECORD.size]))
    return RankTrace(rank, size, pid, _text(backend), _text(host), offset, records)


def remove_old(path: Path) -> None:
    """Remove what an earlier run with the same FILE left, or its ranks would show up in the next."""
    for file in _rank_files(path):
        file.unlink(missing_ok=True)


def merge(path: Path) -> list[RankTrace]:
    """Merge ``path.rank*`` into ``path``; the traces that were found."""
    traces = sorted((read_rank(file) for file in _rank_files(path)), key=lambda t: (t.rank, t.pid))
    if traces:
        with path.open("w", encoding="utf-8") as file:
            file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            file.write(",\n".join(json.dumps(event) for event in _events(traces)))
            file.write("\n]}\n")
    return traces


def summary(traces: Sequence[RankTrace]) -> str:
    """One line: how much there is, and who kept the others waiting most."""
    collectives = sum(len(trace.records) for trace in traces)
    text = f"{len(traces)} ranks, {collectives} collectives"
    late: dict[int, float] = defaultdict(float)
    for last, others in _steps(_calls(traces)):
        late[last.rank] += sum(call.wait_us for call in others)
    if not late:
        return text
    rank = max(late, key=lambda each: late[each])
    return f"{text}; the others waited longest for rank {rank}: {late[rank] / 1e6:.3f} s in all"


@contextmanager
def merging(environ: Mapping[str, str]) -> Iterator[list[RankTrace]]:
    """Around ranks that run with ``environ``: nothing old stays, and afterwards the list holds what was merged."""
    traces: list[RankTrace] = []
    path = Path(environ.get(VARIABLE, ""))
    if not environ.get(VARIABLE):
        yield traces
        return
    remove_old(path)
    try:
        yield traces
    finally:
        traces.extend(merge(path))


class _Call(NamedTuple):
    """One rank's part in one collective, in microseconds from the first of all."""

    rank: int
    begin_us: float
    end_us: float
    wait_us: float
    bytes: int
    sequence: int
    size: int
    communicator: int
    operation: str
    is_failed: bool


def _rank_files(path: Path) -> Iterator[Path]:
    prefix = f"{path.name}.rank"
    for file in path.parent.iterdir() if path.parent.is_dir() else ():
        if file.name.startswith(prefix) and file.name[len(prefix) :].replace("-", "").isdigit():
            yield file


def _calls(traces: Sequence[RankTrace]) -> list[_Call]:
    """Every record on the common clock."""
    # In integers: nanoseconds since 1970 do not fit a float.
    begins = [t.records[0][0] + t.realtime_minus_monotonic_ns for t in traces if t.records]
    calls = []
    for trace in traces:
        shift = trace.realtime_minus_monotonic_ns - min(begins, default=0)
        for begin_ns, moved, duration, wait, sequence, size, communicator, operation in trace.records:
            begin, kind = (begin_ns + shift) / 1e3, OPERATIONS[operation % FAILED]
            end, waited = begin + duration * 1e6, min(wait, duration) * 1e6
            where = (sequence, size, communicator, kind, operation >= FAILED)
            calls.append(_Call(trace.rank, begin, end, waited, moved, *where))
    return calls


def _steps(calls: Sequence[_Call]) -> Iterator[tuple[_Call, list[_Call]]]:
    """Each collective of several ranks: who entered it last, and the others. All ranks count theirs alike."""
    steps: dict[tuple[object, ...], list[_Call]] = defaultdict(list)
    for call in calls:
        if call.size > 1:
            steps[call.communicator, call.size, call.sequence, call.operation].append(call)
    for members in steps.values():
        last = max(members, key=lambda call: call.begin_us)
        yield last, [call for call in members if call is not last]


def _events(traces: Sequence[RankTrace]) -> Iterator[dict[str, object]]:
    name = f"cobre {traces[0].backend}, {traces[0].size} ranks"
    yield {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": name}}
    for trace in traces:
        label = f"rank {trace.rank} (pid {trace.pid}, {trace.host})"
        track = {"ph": "M", "pid": 1, "tid": trace.rank}
        yield {**track, "name": "thread_name", "args": {"name": label}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": trace.rank}}
    calls = _calls(traces)
    for call in calls:
        yield from _slices(call)
    for number, (last, call) in enumerate((last, call) for last, others in _steps(calls) for call in others):
        # From the rank that entered last to the end of the collective on each other rank.
        arrow = {"name": "last to come", "cat": "flow", "id": number, "pid": 1}
        inside = max(call.begin_us, call.end_us - 0.001)
        yield {**arrow, "ph": "s", "tid": last.rank, "ts": round(last.begin_us, 3)}
        yield {**arrow, "ph": "f", "bp": "e", "tid": call.rank, "ts": round(inside, 3)}


def _slices(call: _Call) -> Iterator[dict[str, object]]:
    place = {"ph": "X", "pid": 1, "tid": call.rank, "ts": round(call.begin_us, 3)}
    details = {
        "bytes": call.bytes,
        "wait_us": round(call.wait_us, 3),
        "sequence": call.sequence,
        "communicator": call.communicator,
        "failed": call.is_failed,
    }
    duration = round(call.end_us - call.begin_us, 3)
    yield {**place, "name": call.operation, "cat": "collective", "dur": duration, "args": details}
    if call.wait_us > 0:  # drawn at the start: waiting for the others is what comes first
        yield {**place, "name": "wait", "cat": "wait", "dur": round(call.wait_us, 3)}


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")


def main(arguments: Sequence[str]) -> int:
    """``python -m cobre.comm.trace FILE``."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m cobre.comm.trace FILE    (merges FILE.rank* into FILE)\n")
        return 4
    path = Path(arguments[0])
    traces = merge(path)
    if not traces:
        sys.stderr.write(
            f"there is no {os.fspath(path)}.rank*\n  fix: run with COBRE_COMM_TRACE={path} first\n"
        )
        return 4
    sys.stdout.write(f"{path}: {summary(traces)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
