"""Tables that all ranks write together into one file.

Each of several ranks appends its scenarios to part files of its own; then the parts are joined, each table by one rank.
The rows of a table and their groups do not depend on how scenarios were split.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from cobre.core.arrow import arrow_schema
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import SIMULATION_TABLES
from cobre.files import unwritable
from cobre.io.write.folder import PARTS
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.parquet import GroupedFile

DATA = "data.parquet"


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


class WholeFiles:
    """The same for a rank that is alone: it writes the tables themselves, while it computes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, GroupedFile] = {}

    def append(self, schema: TableSchema, rows: pa.Table) -> None:
        """Add rows at the end of a table."""
        if rows.num_rows:
            if schema.name not in self._files:
                self._files[schema.name] = GroupedFile(table_path(self._folder, schema), schema)
            self._files[schema.name].append(rows)

    def close(self) -> None:
        """Give the tables their names."""
        for name in list(self._files):
            self._files.pop(name).close()

    def abandon(self) -> None:
        """Remove the unfinished files after an error."""
        for name in list(self._files):
            self._files.pop(name).abandon()


def table_path(folder: Path, schema: TableSchema) -> Path:
    """The file that has the rows of all scenarios."""
    root = folder / FOLDER
    return root / schema.name / DATA if schema in SIMULATION_TABLES else root / f"{schema.name}.parquet"


def join_parts(folder: Path, schema: TableSchema) -> None:
    """Make the file of a table of the parts of all ranks, unless it has no rows."""
    parts = sorted((folder / FOLDER / PARTS / schema.name).glob("*.arrow"))
    if not parts:
        return
    target = table_path(folder, schema)
    joined = GroupedFile(target, schema)
    try:
        for part in parts:
            with pa.OSFile(str(part)) as file, pa.ipc.open_stream(file) as batches:
                for batch in batches:
                    joined.append(batch)
    except OSError as error:
        joined.abandon()
        raise unwritable(target, error) from error
    joined.close()


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
