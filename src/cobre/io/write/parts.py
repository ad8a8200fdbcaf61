"""Tables that all ranks write together into one file.

Each rank appends its scenarios to part files of its own; then the parts are joined, each table by one rank. The rows of
the joined file and their groups do not depend on how scenarios were split.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from cobre.core.arrow import arrow_schema
from cobre.core.files import unwritable
from cobre.core.outputs import TableSchema
from cobre.io.write.folder import PARTS
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.parquet import ROWS_PER_GROUP, write_groups


class PartFiles:
    """Part files of one rank, streams of Arrow: ``.parts/TABLE/RANK.arrow``."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._root = folder / FOLDER / PARTS
        self._rank = rank
        self._streams: dict[str, tuple[pa.NativeFile, pa.ipc.RecordBatchStreamWriter]] = {}

    def append(self, schema: TableSchema, rows: pa.Table) -> None:
        """Add rows at the end of the part of a table."""
        try:
            if rows.num_rows:
                self._writer(schema).write_table(rows)
        except OSError as error:
            raise unwritable(self._root / schema.name, error) from error

    def close(self) -> None:
        """End the part files, so that they can be read."""
        for name, (file, writer) in self._streams.items():
            try:
                writer.close()
                file.close()
            except OSError as error:
                self.abandon()
                raise unwritable(self._root / name, error) from error
        self._streams.clear()

    def abandon(self) -> None:
        """Let go of the part files after an error; they cannot be used."""
        for file, _ in self._streams.values():
            with contextlib.suppress(OSError):
                file.close()
        self._streams.clear()

    def _writer(self, schema: TableSchema) -> pa.ipc.RecordBatchStreamWriter:
        if schema.name not in self._streams:
            path = self._root / schema.name / f"{self._rank:06d}.arrow"
            path.parent.mkdir(parents=True, exist_ok=True)
            file = pa.OSFile(str(path), "wb")
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._streams[schema.name] = (
                file,
                pa.ipc.new_stream(file, arrow_schema(schema), options=options),
            )
        return self._streams[schema.name][1]


def join_parts(folder: Path, schema: TableSchema, target: Path) -> None:
    """Make the file ``target`` of the parts of all ranks, unless the table has no rows."""
    parts = sorted((folder / FOLDER / PARTS / schema.name).glob("*.arrow"))
    if parts:
        write_groups(target, schema, _groups(parts))


def remove_parts(folder: Path) -> None:
    """Take the part files away once all are joined."""
    shutil.rmtree(folder / FOLDER / PARTS, ignore_errors=True)


@contextlib.contextmanager
def removing_unfinished(folder: Path) -> Iterator[None]:
    """After an error remove part files and files under temporary names; finished files stay, without the mark."""
    try:
        yield
    except BaseException:
        remove_parts(folder)
        for path in (folder / FOLDER).rglob(".*"):
            with contextlib.suppress(OSError):
                path.unlink()
        raise


def _groups(parts: list[Path]) -> Iterator[pa.Table]:
    """All rows in order, in tables of one contiguous piece with ``ROWS_PER_GROUP`` rows, the last one with the rest."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for part in parts:
        with pa.OSFile(str(part)) as file, pa.ipc.open_stream(file) as batches:
            for batch in batches:
                waiting.append(batch)
                n_waiting += batch.num_rows
                while n_waiting >= ROWS_PER_GROUP:
                    rows = pa.Table.from_batches(waiting)
                    yield rows.slice(0, ROWS_PER_GROUP).combine_chunks()
                    waiting = rows.slice(ROWS_PER_GROUP).to_batches()
                    n_waiting -= ROWS_PER_GROUP
    if n_waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()
