"""``cobre summary``: the outcome of a run, once more."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cobre import study
from cobre.cli.outcome import show_record
from cobre.cli.parser import Parser
from cobre.cli.response import Response, add_output_format, answer
from cobre.io.results import TrainingRecord

__all__ = ["main"]

DESCRIPTION = """\
Show the outcome of a finished run: bounds, gap, how it ended and where the time went. Give the folder of the results or
that of the case.
"""


def main(arguments: Sequence[str]) -> int:
    """Read and show."""
    parser = Parser("cobre summary", DESCRIPTION)
    parser.add_argument("folder", metavar="DIR", help="folder of results, or of a case that was run")
    add_output_format(parser)
    options = parser.parse_args(arguments)
    found: list[TrainingRecord] = []

    def work() -> Response:
        record = study.read_results(Path(options.folder))
        found.append(record)
        ending = "" if record.is_complete else "; it did not end by itself"
        bound = record.metadata["final_lower_bound"]
        return Response(
            {"output_directory": str(record.folder), "training": record.metadata, "simulation": None},
            f"{record.metadata['iterations']} iterations, lower bound {bound:.10g}{ending}",
        )

    def show(response: Response) -> None:
        record = found[0]
        outcome = {**record.metadata, "timings": record.timings}
        show_record(sys.stdout, outcome, record.convergence.to_pydict(), record.folder)
        if not record.is_complete:
            sys.stdout.write("this run was stopped before its end: there is no _SUCCESS\n")

    return answer("summary", options.output_format, work, show)
