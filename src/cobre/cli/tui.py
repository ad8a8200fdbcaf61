"""``cobre tui``: watch a run in the terminal, and steer it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from cobre.cli import import_or_end
from cobre.cli import main as run_command
from cobre.cli.parser import Parser
from cobre.errors import CobreError

__all__ = ["main", "open_ui", "script"]

DESCRIPTION = """\
Watch a run: its bounds, where its time goes, cuts, memory and communication; pause it, change its stopping rules,
take a snapshot of its policy. Leaving never disturbs it. Press ? for the keys.

  cobre tui CASE                                       the run of a case, live or finished
  cobre tui DIR                                        that of an output folder
  cobre run CASE --output-format json-lines | cobre tui -    a run on another machine, through a pipe
  cobre tui --replay convergence.parquet               a recording: that table, or events.jsonl
  cobre run CASE --tui                                 start a run and watch it
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre tui``."""
    parser = Parser("cobre tui", DESCRIPTION)
    parser.add_argument(
        "target", metavar="DIR", nargs="?", help="folder of a run or of its case; - reads a pipe"
    )
    parser.add_argument(
        "--replay", metavar="FILE", help="events.jsonl or convergence.parquet of an earlier run"
    )
    parser.add_argument("--against", metavar="DIR", help="overlay the bounds of another run (key o)")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    parser.add_argument(
        "--no-color", action="store_true", help="use no colours (so does the variable NO_COLOR)"
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Parse and show."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if (options.target is None) == (options.replay is None):
        parser.error("name a folder, - for a pipe, or --replay FILE")
    ui = open_ui(no_color=options.no_color)
    status: int = ui.show(
        options.target, replay=options.replay, against=options.against, is_ascii=options.ascii
    )
    return status


def script() -> int:
    """``cobre-tui …``: the same as ``cobre tui …``."""
    return run_command(["tui", *sys.argv[1:]])


def open_ui(*, no_color: bool = False) -> Any:
    """The module of the UI; an error that says how to install it where Textual is missing."""
    if no_color:
        os.environ["NO_COLOR"] = "1"
    try:
        return import_or_end("cobre.tui.main")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "textual":
            raise
        raise CobreError(
            "the terminal UI needs Textual, which is not installed",
            suggestion="pip install textual",
        ) from error
