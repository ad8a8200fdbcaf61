"""``cobre init``: an example case to start from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from cobre.cli.invocation import typed
from cobre.cli.parser import Parser
from cobre.cli.response import Response, add_output_format, answer
from cobre.io.example import write_example

__all__ = ["main"]

DESCRIPTION = """\
Write a small but complete study into a new folder: three buses, two hydros on one river, three thermals and a wind
farm, twelve monthly stages with three blocks, random inflows, loads and wind. It trains in seconds.
"""


def main(arguments: Sequence[str]) -> int:
    """Write the example."""
    parser = Parser("cobre init", DESCRIPTION)
    parser.add_argument("folder", metavar="DIR", help="the folder to make; it must not hold anything yet")
    add_output_format(parser)
    options = parser.parse_args(arguments)

    def work() -> Response:
        files = write_example(Path(options.folder))
        return Response(
            {"case": options.folder, "files": files},
            f"wrote an example case of {len(files)} files to {options.folder}",
        )

    def show(response: Response) -> None:
        sys.stdout.write(f"{response.summary}\n  next: {typed(f'run {shlex.quote(options.folder)}')}\n")

    return answer("init", options.output_format, work, show)
