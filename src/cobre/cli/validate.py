"""``cobre validate``: everything that is wrong with a case, at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cobre import study
from cobre.cli.parser import Parser
from cobre.cli.response import Response, answer, parser_of
from cobre.cli.wrapping import harmless, terminal_width, wrap_lines
from cobre.io import ProblemReport, ValidationReport

__all__ = ["main"]

DESCRIPTION = """\
Check a case directory in five layers (files, schema, references, dimensions, semantics) and list every problem with
its file, entity, field, value and remedy. Exit status 0: the case can be run, perhaps with warnings; 1: it cannot;
2: there is no such folder, or it may not be read.
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre validate``."""
    return parser_of("validate", DESCRIPTION, case=("CASE", "folder of the case"))


def main(arguments: Sequence[str]) -> int:
    """Check and show."""
    options = build_parser().parse_args(arguments)

    def work() -> Response:
        report = study.validate(options.case)
        return Response(
            data={
                "case": options.case,
                "valid": report.valid,
                "layers_completed": list(report.layers_completed),
            },
            summary=_summary(report),
            exit_code=0 if report.valid else 1,
            errors=[problem.to_dict() for problem in report.errors],
            warnings=[problem.to_dict() for problem in report.warnings],
            result=report,
        )

    return answer("validate", options.output_format, work, lambda response: _show(options.case, response))


def _summary(report: ValidationReport) -> str:
    def count(number: int, noun: str) -> str:
        return f"{number} {noun}" + ("" if number == 1 else "s")

    state = "valid" if report.valid else "not valid"
    return f"{state}: {count(len(report.errors), 'error')}, {count(len(report.warnings), 'warning')}"


def _show(case: str, response: Response) -> None:
    report: ValidationReport = response.result
    rows = [("error", each) for each in report.errors] + [("warning", each) for each in report.warnings]
    if sys.stdout.isatty():
        _show_table(rows)
    else:
        for word, problem in rows:
            sys.stdout.write(wrap_lines(f"{word}: {problem}", terminal_width(sys.stdout)) + "\n")
    sys.stdout.write(harmless(f"{case} is {response.summary}\n"))


def _show_table(rows: Sequence[tuple[str, ProblemReport]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    styles = {"error": "bold red", "warning": "yellow"}
    for word, problem in rows:
        place = ": ".join(part for part in (problem.file, problem.entity) if part)
        text = Text(harmless(place), style="bold")
        text.append(harmless(f"\n{problem.message}"), style="not bold")
        text.append(harmless(f"\n  fix: {problem.remedy}"), style="not bold italic")
        table.add_row(Text(word, style=styles[word]), text)
    Console(highlight=False, soft_wrap=False).print(table)
