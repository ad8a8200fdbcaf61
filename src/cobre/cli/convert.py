"""``cobre convert``: a case of the format of 0.5.1 as one of 0.18."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from cobre.cli.invocation import typed
from cobre.cli.parser import Parser
from cobre.cli.response import Response, answer, parser_of
from cobre.io.convert import convert_case

__all__ = ["main"]

DESCRIPTION = """\
Write a case in the format of the public Cobre 0.5.1 as one in the format of 0.18, with the same optimum. The old case
stays as it is. Where 0.18 cannot express the old case, a note says what is different now.
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre convert``."""
    return parser_of(
        "convert",
        DESCRIPTION,
        old=("OLD", "the folder of a case of 0.5.1"),
        new=("NEW", "the folder to make; it must not hold anything yet"),
    )


def main(arguments: Sequence[str]) -> int:
    """Convert a case."""
    options = build_parser().parse_args(arguments)

    def work() -> Response:
        files, notes = convert_case(Path(options.old), Path(options.new))
        return Response(
            {"source": options.old, "case": options.new, "files": files, "notes": notes},
            f"wrote {len(files)} files to {options.new}",
        )

    def show(response: Response) -> None:
        sys.stdout.write(f"{response.summary}\n")
        sys.stdout.writelines(f"  note: {note}\n" for note in response.data["notes"])
        sys.stdout.write(f"  next: {typed(f'run {shlex.quote(options.new)}')}\n")

    return answer("convert", options.output_format, work, show)
