"""``cobre init``: an example case to start from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from cobre.cli.invocation import typed
from cobre.cli.parser import Parser
from cobre.cli.response import Response, add_output_format, answer
from cobre.io.examples import TEMPLATES, write_example

__all__ = ["main"]

DESCRIPTION = """\
Write a complete study into a new folder, in the format of the public Cobre 0.18. The template small, the default, has
three buses, two hydros on one river, three thermals and a wind farm, twelve monthly stages with three blocks, random
inflows, loads and wind. It trains in seconds. --list shows the others.
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre init``."""
    parser = Parser("cobre init", DESCRIPTION)
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", help="the folder to make; it must not hold anything yet"
    )
    parser.add_argument(
        "--template", choices=[*TEMPLATES], default="small", help="which case to write (default: small)"
    )
    parser.add_argument("--list", action="store_true", help="list the templates and write nothing")
    add_output_format(parser)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Write a template, or list them."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.folder is None and not options.list:
        parser.error("the folder to make is missing")

    def work() -> Response:
        if options.list:
            described = {name: template.description for name, template in TEMPLATES.items()}
            return Response({"templates": described}, f"{len(TEMPLATES)} templates")
        files = write_example(Path(options.folder), options.template)
        return Response(
            {"case": options.folder, "template": options.template, "files": files},
            f"wrote an example case of {len(files)} files to {options.folder}",
        )

    def show(response: Response) -> None:
        if options.list:
            width = max(map(len, TEMPLATES))
            lines = (f"{name:<{width}}  {template.description}\n" for name, template in TEMPLATES.items())
            sys.stdout.writelines(lines)
            return
        sys.stdout.write(f"{response.summary}\n  next: {typed(f'run {shlex.quote(options.folder)}')}\n")

    return answer("init", options.output_format, work, show)
