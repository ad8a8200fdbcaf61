"""``cobre schema export``: JSON Schemas of the files of a case."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cobre import study
from cobre.cli.parser import Parser
from cobre.cli.response import Response, add_output_format, answer
from cobre.io.schemas import export_schemas

__all__ = ["main"]

DESCRIPTION = """\
Write one JSON Schema per file of the case format into a folder (default: schemas), and event.schema.json for the
lines of training/events.jsonl and of --output-format json-lines. Editors use them to check JSON files
while they are written: put "$schema": "path/to/hydros.schema.json" first in the file. A Parquet file is described as
a list of rows.
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre schema``."""
    parser = Parser("cobre schema", DESCRIPTION)
    parser.add_argument("action", choices=["export"], help="what to do")
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default="schemas", help="where to (default: schemas)"
    )
    add_output_format(parser)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Write the schemas."""
    options = build_parser().parse_args(arguments)

    def work() -> Response:
        written = export_schemas(Path(options.folder), {"event": study.event_schema()})
        names = [str(path) for path in written]
        return Response({"files": names}, f"wrote {len(names)} schemas to {options.folder}")

    return answer(
        "schema",
        options.output_format,
        work,
        _show,
    )


def _show(response: Response) -> None:
    sys.stdout.write(f"{response.summary}\n")
