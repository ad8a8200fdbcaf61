"""``cobre doctor``: what works here, what does not, and what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from cobre.cli import import_or_end
from cobre.cli.parser import Parser
from cobre.cli.table import open_console, show
from cobre.comm.backend import Finding
from cobre.comm.doctor import examine, find_leftovers

__all__ = ["main"]

DESCRIPTION = """\
Look at everything that running several ranks on this machine depends on: versions, CPUs and quota, memory and
/dev/shm, kernel limits, ports, each backend with the libraries and launchers it finds, half-set environments, and
what killed runs left behind. Each problem comes with its remedy. Exit status 0: no problem; 1: at least one.
"""

MARKS = {"ok": ("green", "ok"), "note": ("yellow", "note"), "problem": ("bold red", "problem")}


def build_parser() -> Parser:
    """Describe the options of ``cobre doctor``."""
    parser = Parser("cobre doctor", DESCRIPTION)
    parser.add_argument(
        "--clean", action="store_true", help="remove what dead runs left; never what is in use"
    )
    parser.add_argument("--json", action="store_true", help="the findings as JSON on stdout")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Examine, clean if asked, show."""
    options = build_parser().parse_args(arguments)
    import_or_end("cobre._native")  # here, and not by a backend while Ctrl-C would be a traceback
    removed = (
        [left.path for left in find_leftovers() if not left.is_in_use and left.remove()]
        if options.clean
        else []
    )
    findings = examine()
    if options.json:
        document = {"findings": [finding._asdict() for finding in findings], "removed": removed}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _show(findings, removed)
    return int(any(finding.level == "problem" for finding in findings))


def _show(findings: Sequence[Finding], removed: Sequence[str]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = open_console()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    subject = None
    for finding in findings:
        style, word = MARKS[finding.level]
        name = finding.subject if finding.subject != subject else ""
        subject = finding.subject
        table.add_row(Text(word, style=style), name, Text(finding.text))
        if finding.remedy:
            table.add_row("", "", Padding(Text(f"fix: {finding.remedy}", style="italic"), (0, 0, 0, 2)))
    show(console, table)
    for path in removed:
        console.print(Text(f"removed {path}"))
    problems = sum(finding.level == "problem" for finding in findings)
    console.print(Text(f"{problems} problems" if problems != 1 else "1 problem", style="bold"))
