"""Tools that write files of results: tables for other programs, and the report."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from mcp_types import ResourceLink
from pydantic import Field

from cobre.errors import CobreError
from cobre.mcp.limits import check_disk
from cobre.mcp.roots import not_allowed
from cobre.mcp.service import Service
from cobre.mcp.tools.base import Answer, Arguments, Result, repeatable
from cobre.mcp.tools.results import OUTPUT_DIR, EntityType, Filters, row_filter

__all__ = ["WRITING_TOOLS"]

SUFFIX = {"csv": ".csv", "json": ".jsonl", "arrow": ".arrow"}
MIME = {"csv": "text/csv", "json": "application/jsonl", "arrow": "application/vnd.apache.arrow.stream"}
FILE = Field(
    default=None,
    min_length=1,
    max_length=4096,
    description="Path of the file; its ending must fit. Default: in output_dir.",
)

OVERWRITE = Field(default=False, description="Replace the file that `file` names, if there is one.")


class ExportArguments(Arguments):
    """Which rows, and where to."""

    output_dir: str = OUTPUT_DIR
    format: Literal["csv", "json", "arrow"] = Field(
        description="json is one object per line; arrow is an IPC stream."
    )
    entity_type: EntityType = Field(description="The table.")
    filters: Filters = Field(default_factory=Filters, description="limit does not count here.")
    file: str | None = FILE
    overwrite: bool = OVERWRITE


class Export(Answer):
    """The file."""

    file_path: str
    rows: int
    size_bytes: int


def export_results(service: Service, arguments: ExportArguments) -> Result:
    """Write a table."""
    from cobre.files import write_atomically
    from cobre.study.queries.rows import pieces_of_rows, table_name
    from cobre.study.results import load_results

    results = load_results(service.roots.folder(arguments.output_dir))
    if results.simulation is None:
        raise CobreError(
            "this folder has no finished simulation",
            kind="MissingFile",
            suggestion="simulate first: cobre_run with phases simulation or both",
        )
    from cobre.io.simulation_results import SimulationFiles

    table, suffix = table_name(arguments.entity_type), SUFFIX[arguments.format]
    name = f"exports/{table.replace('/', '_')}{suffix}"
    target = _target(service, arguments, results.folder, name)
    wanted = row_filter(arguments.filters)
    counts: list[int] = []
    pieces = pieces_of_rows(SimulationFiles(results.folder), table, wanted)
    write_atomically(target, _encoded(pieces, arguments.format, counts))
    answer = Export(file_path=service.roots.shown(target), rows=sum(counts), size_bytes=target.stat().st_size)
    return Result(answer, [_link(service, target, MIME[arguments.format], answer.size_bytes)])


def _target(service: Service, arguments: ExportArguments | ReportArguments, results: Path, name: str) -> Path:
    """Where to write: ``name`` in the results, a new file, or one that may be replaced and has the same ending."""
    default, suffix = results / name, Path(name).suffix
    target = service.roots.new_path(str(default) if arguments.file is None else arguments.file)
    if arguments.file is None and target != Path(os.path.realpath(results)) / name:
        raise not_allowed(
            f"{service.roots.shown(default)} is or is behind a link, and nothing is written through links",
            "remove the link, or name a file",
        )
    if target.suffix != suffix:
        raise not_allowed(f"the name of this file must end with {suffix}", f"end its name with {suffix}")
    if target.exists() and not target.is_file():
        raise not_allowed("this is not the path of a file", "name a file")
    if target.exists() and arguments.file is not None and not arguments.overwrite:
        raise not_allowed(
            f"{service.roots.shown(target)} exists",
            "name another file, or pass overwrite: true to replace it",
        )
    check_disk(target.parent, service.settings.min_free_mb)
    return target


def _encoded(pieces: Iterator[Any], format_: str, counts: list[int]) -> Iterator[bytes]:
    """The bytes of the file, piece by piece."""
    import pyarrow as pa
    from pyarrow import csv

    is_first, stream = True, io.BytesIO()
    writer: Any = None
    for piece in pieces:
        counts.append(len(piece))
        if format_ == "csv":
            csv.write_csv(_without_formulas(piece), stream, csv.WriteOptions(include_header=is_first))
        elif format_ == "json":
            stream.write("".join(_line(row) for row in piece.to_pylist()).encode())
        else:
            writer = writer or pa.ipc.new_stream(stream, piece.schema)
            writer.write_table(piece)
        yield stream.getvalue()
        stream.seek(0)
        stream.truncate()
        is_first = False
    if writer is not None:
        writer.close()
        yield stream.getvalue()


def _line(row: dict[str, Any]) -> str:
    import json
    import math

    plain = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
    return json.dumps(plain, allow_nan=False) + "\n"


def _without_formulas(table: Any) -> Any:
    """Names that a spreadsheet would compute get an apostrophe in front."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = [
                f"'{text}" if text and text[0] in "=+-@\t\r" else text for text in table[place].to_pylist()
            ]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _link(service: Service, path: Path, mime_type: str, size: int) -> ResourceLink:
    shown = service.roots.shown(path)
    return ResourceLink(
        type="resource_link",
        uri=f"cobre://export/{quote(shown, safe='')}",
        name=path.name,
        mime_type=mime_type,
        size=size,
    )


class ReportArguments(Arguments):
    """Which run, and where to."""

    output_dir: str = OUTPUT_DIR
    compare: str | None = Field(
        default=None, min_length=1, max_length=4096, description="Another run to compare with."
    )
    file: str | None = FILE
    overwrite: bool = OVERWRITE


class Report(Answer):
    """The page."""

    file_path: str
    size_bytes: int


def write_page(service: Service, arguments: ReportArguments) -> Result:
    """Write the report."""
    from cobre.report import write_report
    from cobre.study.results import load_results

    folder = service.roots.folder(arguments.output_dir)
    other = None if arguments.compare is None else service.roots.folder(arguments.compare)
    target = _target(service, arguments, load_results(folder).folder, "report.html")
    write_report(folder, target, other)
    answer = Report(file_path=service.roots.shown(target), size_bytes=target.stat().st_size)
    return Result(answer, [_link(service, target, "text/html", answer.size_bytes)])


WRITING_TOOLS = (
    repeatable(
        "cobre_export_results",
        "Export a table",
        "Write the rows of a table of a simulation to a file, for data that is too large for an answer. A file of the "
        "default name is replaced as a whole.",
        ExportArguments,
        Export,
        export_results,
    ),
    repeatable(
        "cobre_report",
        "Write the report",
        "Write one HTML page with pictures of a run: convergence, costs, generation, prices, risk, storage and policy. "
        "It opens in any browser without a network.",
        ReportArguments,
        Report,
        write_page,
    ),
)
