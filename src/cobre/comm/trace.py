"""Timelines of collectives: what ``COBRE_COMM_TRACE=FILE`` leaves, and one file that Perfetto opens.

Each rank writes ``FILE.rank<r>``; the launcher merges them into FILE. For ranks that something else started::

    python -m cobre.comm.trace FILE

Open the result in https://ui.perfetto.dev or chrome://tracing: one track per rank, and arrows from those
that waited to the rank that came last.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cobre.comm.timeline import RankTrace, events_of, summary

__all__ = ["VARIABLE", "RankTrace", "merge", "merging", "read_rank", "remove_old", "summary"]

VARIABLE = "COBRE_COMM_TRACE"
MAGIC = b"COBRETRC"
VERSION = 2
HEADER = struct.Struct("=8sIiiiqQ32s64s")
HEADER_BYTES = 4096
BLOCK_BYTES = 32 * 1024
RECORD = struct.Struct("=QQffIHBB")
"""`TraceRecord` in ``native/comm/trace.hpp``."""


def read_rank(path: Path) -> RankTrace:
    """What one process wrote; a file of another kind is a `ValueError`."""
    data = path.read_bytes()
    if len(data) < HEADER_BYTES + BLOCK_BYTES or data[:8] != MAGIC:
        raise ValueError(f"{path} is no trace of a rank")
    _, version, rank, size, pid, offset, count, backend, host = HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"{path} is a trace of version {version}, not {VERSION}")
    # The block behind the header holds the newest records, those behind it are full.
    newest, full = data[HEADER_BYTES:][:BLOCK_BYTES], data[HEADER_BYTES + BLOCK_BYTES :]
    in_blocks, rest = divmod(count * RECORD.size, BLOCK_BYTES)
    used = full[: in_blocks * BLOCK_BYTES] + newest[:rest]
    records = list(RECORD.iter_unpack(used[: len(used) // RECORD.size * RECORD.size]))
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
            file.write(",\n".join(json.dumps(event) for event in events_of(traces)))
            file.write("\n]}\n")
    return traces


@contextmanager
def merging(environ: MutableMapping[str, str]) -> Iterator[list[RankTrace]]:
    """Around ranks that run with ``environ``: nothing old stays, and afterwards the list holds what was merged.

    The file gets its whole path, because ranks may change their folder. A file that cannot be written is reported on
    stderr: how the ranks ended is more important.
    """
    traces: list[RankTrace] = []
    if not environ.get(VARIABLE):
        yield traces
        return
    path = Path(environ[VARIABLE]).absolute()
    environ[VARIABLE] = str(path)
    with _reporting(path):
        remove_old(path)
    try:
        yield traces
    finally:
        with _reporting(path):
            traces.extend(merge(path))


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        if sys.stderr is not None:
            sys.stderr.write(f"cobre: the trace {path} cannot be merged: {reason}\n")


def _rank_files(path: Path) -> Iterator[Path]:
    prefix = f"{path.name}.rank"
    for file in path.parent.iterdir() if path.parent.is_dir() else ():
        if file.name.startswith(prefix) and file.name[len(prefix) :].replace("-", "").isdigit():
            yield file


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")


def main(arguments: Sequence[str]) -> int:
    """``python -m cobre.comm.trace FILE``."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m cobre.comm.trace FILE    (merges FILE.rank* into FILE)\n")
        return 4
    path = Path(arguments[0])
    traces: list[RankTrace] = []
    try:
        traces = merge(path)
    except (OSError, ValueError) as error:
        sys.stderr.write(
            f"{path} cannot be merged: {error}\n  fix: see that it can be written, and remove what is no trace\n"
        )
        return 4
    if not traces:
        sys.stderr.write(
            f"there is no {os.fspath(path)}.rank*\n  fix: run with COBRE_COMM_TRACE={path} first\n"
        )
        return 4
    sys.stdout.write(f"{path}: {summary(traces)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
