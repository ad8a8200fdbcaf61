"""Merges the traces of several ranks on one clock: which rank waited for which, and the events of a timeline viewer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

__all__ = ["RankTrace", "events_of", "summary"]

FAILED = 128
OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier")
PROCESS = 1_000_000
"""The process of all tracks, far from any track's number: to Perfetto a thread with the number of its
process is the main one, and number 0 is none at all."""

ROUNDING = 2.0**-23
"""Durations are recorded as 32-bit floats, so one may seem to last a little into what came after it."""


MARGIN_NS = 2
"""Between things that must be told apart: viewers read microseconds as floats, and may lose a nanosecond."""


class RankTrace(NamedTuple):
    """What one process recorded, times on its machine's monotonic clock.

    ``records`` hold begin_ns, bytes, duration_s, wait_s, sequence, size, communicator and operation.
    """

    rank: int
    size: int
    pid: int
    backend: str
    host: str
    realtime_minus_monotonic_ns: int
    records: list[tuple[Any, ...]]


class _Call(NamedTuple):
    """One rank's part in one collective, in nanoseconds from the first of all. ``lane`` is 0 unless another thread of
    the rank was inside a collective of another communicator."""

    rank: int
    process: int
    lane: int
    begin_ns: int
    end_ns: int
    wait_ns: int
    bytes: int
    sequence: int
    size: int
    communicator: int
    operation: str
    is_failed: bool


def summary(traces: Sequence[RankTrace]) -> str:
    """One line: how much there is, and who kept the others waiting most."""
    collectives = sum(len(trace.records) for trace in traces)
    text = f"{len(traces)} rank{'s' * (len(traces) != 1)}, {collectives} collectives"
    late: dict[int, float] = defaultdict(float)
    for last, others in _steps(_calls(traces)):
        late[last.rank] += sum(call.wait_ns for call in others)
    if not late:
        return text
    rank = max(late, key=lambda each: late[each])
    return f"{text}; the others waited longest for rank {rank}: {late[rank] / 1e9:.3f} s in all"


def events_of(traces: Sequence[RankTrace]) -> Iterator[dict[str, object]]:
    """Chrome's trace events: a track per rank, a slice per collective, arrows from who waited to who came last."""
    calls = _calls(traces)
    name = f"cobre {traces[0].backend}, {traces[0].size} ranks"
    yield {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": PROCESS, "args": {"name": name}}
    for process, lane in sorted({(call.process, call.lane) for call in calls}):
        trace = traces[process]
        label = f"rank {trace.rank} (pid {trace.pid}, {trace.host})" + ", at the same time" * (lane > 0)
        track = {"ph": "M", **_track(traces, process, lane)}
        yield {**track, "name": "thread_name", "args": {"name": label}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": process}}
    for call in calls:
        yield from _slices(call, _track(traces, call.process, call.lane))
    for number, (last, call) in enumerate((last, call) for last, others in _steps(calls) for call in others):
        # Both ends lie where a collective begins: there no viewer can tie the arrow to anything else.
        arrow = {"name": "waits for", "cat": "flow", "id": number}
        yield {**arrow, "ph": "s", **_track(traces, call.process, call.lane), "ts": call.begin_ns / 1e3}
        yield {
            **arrow,
            "ph": "f",
            "bp": "e",
            **_track(traces, last.process, last.lane),
            "ts": last.begin_ns / 1e3,
        }


def _track(traces: Sequence[RankTrace], process: int, lane: int) -> dict[str, object]:
    return {"pid": PROCESS, "tid": lane * len(traces) + process + 1}


def _slices(call: _Call, track: dict[str, object]) -> Iterator[dict[str, object]]:
    details = {
        "rank": call.rank,
        "bytes": call.bytes,
        "wait_us": call.wait_ns / 1e3,
        "sequence": call.sequence,
        "communicator": call.communicator,
        "failed": call.is_failed,
    }
    duration = call.end_ns - call.begin_ns
    whole = {"ph": "X", **track, "ts": call.begin_ns / 1e3, "dur": duration / 1e3}
    yield {**whole, "name": call.operation, "cat": "collective", "args": details}
    shown = min(call.wait_ns, duration - 2 * MARGIN_NS)
    if shown > 0:  # near the start: waiting for the others is what comes first
        start = call.begin_ns + MARGIN_NS
        yield {**whole, "ts": start / 1e3, "dur": shown / 1e3, "name": "wait", "cat": "wait"}


def _calls(traces: Sequence[RankTrace]) -> list[_Call]:
    """Every record on the common clock, process by process."""
    # In integers: nanoseconds since 1970 do not fit a float.
    begins = [min(r[0] for r in t.records) + t.realtime_minus_monotonic_ns for t in traces if t.records]
    origin = min(begins, default=0)
    return [call for process, trace in enumerate(traces) for call in _calls_of(trace, process, origin)]


def _calls_of(trace: RankTrace, process: int, origin: int) -> list[_Call]:
    """In the order in which they began; they were recorded when they ended."""
    shift = trace.realtime_minus_monotonic_ns - origin
    calls: list[_Call] = []
    last_in: list[int] = []  # of each lane, the place of its last call
    for record in sorted(trace.records, key=lambda record: record[0]):
        begin, moved, duration_s, wait_s, sequence, size, communicator, operation = record
        begin_ns, duration, waited = begin + shift, round(duration_s * 1e9), round(wait_s * 1e9)
        lane = next(
            (lane for lane, at in enumerate(last_in) if _has_ended(calls[at], begin_ns)), len(last_in)
        )
        if lane < len(last_in) and calls[last_in[lane]].end_ns > begin_ns - MARGIN_NS:
            calls[last_in[lane]] = calls[last_in[lane]]._replace(end_ns=begin_ns - MARGIN_NS)
        last_in[lane : lane + 1] = [len(calls)]
        kind = OPERATIONS[operation % FAILED]
        where = (sequence, size, communicator, kind, operation >= FAILED)
        calls.append(_Call(trace.rank, process, lane, begin_ns, begin_ns + duration, waited, moved, *where))
    return [call._replace(wait_ns=min(call.wait_ns, call.end_ns - call.begin_ns)) for call in calls]


def _has_ended(call: _Call, now_ns: int) -> bool:
    return call.end_ns - (call.end_ns - call.begin_ns) * ROUNDING - 1 <= now_ns


def _steps(calls: Sequence[_Call]) -> Iterator[tuple[_Call, list[_Call]]]:
    """Each collective of several ranks: who entered it last, and the others. All ranks count theirs alike."""
    steps: dict[tuple[object, ...], list[_Call]] = defaultdict(list)
    for call in calls:
        if call.size > 1:
            steps[call.communicator, call.size, call.sequence, call.operation].append(call)
    for members in steps.values():
        last = max(members, key=lambda call: call.begin_ns)
        yield last, [call for call in members if call is not last]
