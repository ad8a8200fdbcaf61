"""``cobre summary``: the outcome of a finished run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cobre import study
from cobre.cli.outcome import comparable_bound, show_record, simulation_document, simulation_summary
from cobre.cli.parser import Parser
from cobre.cli.planner_page import show_simulation
from cobre.cli.response import Response, answer, parser_of
from cobre.cli.wrapping import screen_width, wrap_lines
from cobre.study import Results

__all__ = ["main"]

DESCRIPTION = """\
Show the outcome of a finished run: bounds, gap, how it ended and where the time went; and of its simulation: cost,
risk, supply, prices and storage. Give the folder of the results or that of the case.
"""
UNFINISHED = "the simulation was stopped before its end"


def build_parser() -> Parser:
    """Describe the options of ``cobre summary``."""
    return parser_of("summary", DESCRIPTION, folder=("DIR", "folder of results, or of a case that was run"))


def main(arguments: Sequence[str]) -> int:
    """Read and show."""
    options = build_parser().parse_args(arguments)

    def work() -> Response:
        results = study.load_results(Path(options.folder))
        training, simulation = results.training, results.simulation
        return Response(
            {
                "output_directory": str(results.folder),
                "training": None if training is None else training.metadata,
                "simulation": None if simulation is None else simulation_document(simulation),
            },
            _sentence(results),
            result=results,
        )

    return answer("summary", options.output_format, work, lambda response: _show(response.result))


def _sentence(results: Results) -> str:
    parts = []
    if results.training is not None:
        metadata = results.training.metadata
        ending = "" if results.training.is_complete else "; it did not end by itself"
        bound = metadata["final_lower_bound"]
        parts.append(f"{metadata['iterations']} iterations, lower bound {bound:.10g}{ending}")
    if results.simulation is not None:
        parts.append(simulation_summary(results.simulation))
    elif results.has_unfinished_simulation:
        parts.append(UNFINISHED)
    return "; ".join(parts)


def _show(results: Results) -> None:
    training, simulation = results.training, results.simulation
    if training is not None:
        outcome = {**training.metadata, "timings": training.timings}
        show_record(sys.stdout, outcome, training.convergence.to_pydict(), training.folder)
        if not training.is_complete:
            sys.stdout.write("this run was stopped before its end: there is no _SUCCESS\n")
    if simulation is None and not results.has_unfinished_simulation:
        return
    if training is not None:
        sys.stdout.write("\n")
    if simulation is None or not simulation.is_complete:
        sys.stdout.write(f"{UNFINISHED}: its tables are not complete\n")
        return
    if training is not None and not simulation.is_of_case(training.metadata.get("case_digest")):
        text = "the data of the case has changed since the training: its bound and the costs below are not comparable"
        sys.stdout.write(wrap_lines(text, screen_width(sys.stdout)) + "\n")
    bound = None if training is None else comparable_bound(training.metadata, simulation)
    show_simulation(sys.stdout, simulation, bound)
