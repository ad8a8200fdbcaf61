"""``cobre run``: train the policy of a case, on this process, on several, or as one rank of a launched group."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from cobre import study
from cobre.cli.outcome import show_outcome, training_document
from cobre.cli.parser import Parser, positive_int
from cobre.cli.progress import Progress, SilentProgress, open_progress
from cobre.cli.response import Response, add_output_format, answer
from cobre.cli.wrapping import terminal_width, wrap_lines
from cobre.comm import GroupMember, create_communicator
from cobre.core.case import Case
from cobre.errors import CobreError
from cobre.io import ProblemReport
from cobre.sddp.result import TrainingResult

__all__ = ["main"]

DESCRIPTION = """\
Train the policy of a case and write it with its convergence history.

  cobre run CASE                        in this process, or as one rank of mpiexec, srun or cobre launch
  cobre run CASE -n 4                   on four processes of this machine
  cobre run CASE -n 4 --output results  the same bits, whatever the number of processes

One Ctrl-C (or SIGTERM) ends training after the running iteration and keeps its policy; a second one ends it at once.
"""

EPILOG = """\
exit status
  0 trained   1 the case is not valid   2 a folder or disk   3 a linear program had no solution   4 anything else
  130, 143    stopped by Ctrl-C or SIGTERM: the policy of the finished iterations is written, without _SUCCESS

files in the output folder
  policy/                        what `cobre.Policy.load` reads
  training/convergence.parquet   bounds and times, one row per iteration
  training/metadata.json         how it ended        training/timings.json   where the time went
  _SUCCESS                       written last: everything above is there
"""

BACKENDS = ("auto", "local", "shm", "tcp", "mpi")
SIGNAL_BASE = 128


def main(arguments: Sequence[str]) -> int:
    """Train and show; the exit status."""
    parser = Parser("cobre run", DESCRIPTION, EPILOG)
    parser.add_argument("case", metavar="CASE", help="folder of the case")
    parser.add_argument(
        "-n",
        "--workers",
        type=positive_int,
        metavar="N",
        help="start N processes (not inside a launched rank)",
    )
    parser.add_argument(
        "--backend", default="auto", metavar="B", help=f"how ranks talk: {', '.join(BACKENDS)} (default auto)"
    )
    parser.add_argument("--output", metavar="DIR", help="where results go (default CASE/output)")
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")
    add_output_format(parser)
    options = parser.parse_args(arguments)
    options.output = Path(options.output) if options.output else Path(options.case) / "output"
    if options.workers is None:
        return _as_one_rank(options)
    return _answer(options, comm=None)


def _as_one_rank(options: Any) -> int:
    """Join whatever started this process; alone if nothing did. Only rank 0 prints."""
    for name in study.TIMEOUT_VARIABLES:
        if os.environ.get(
            name.replace("TIMEOUT_SECS", "RANK")
        ):  # a variable of the others would ask for them
            os.environ.setdefault(name, str(study.COLLECTIVE_TIMEOUT_S))
    if options.backend != "auto":
        os.environ["COBRE_COMM_BACKEND"] = options.backend
    with create_communicator() as comm:
        if comm.rank == 0:
            return _answer(options, comm)
        options.quiet = True
        try:
            return _train(options, comm)[1].exit_code
        except CobreError as error:
            return error.exit_status


def _answer(options: Any, comm: GroupMember | None) -> int:
    results: list[TrainingResult] = []

    def work() -> Response:
        result, response = _train(options, comm)
        results.append(result)
        return response

    def show(response: Response) -> None:
        if not options.quiet:
            is_plain = comm is not None and comm.size > 1
            show_outcome(sys.stdout, results[0], options.output, is_plain=is_plain)

    return answer("run", options.output_format, work, show)


def _train(options: Any, comm: GroupMember | None) -> tuple[TrainingResult, Response]:
    warnings: list[ProblemReport] = []

    def load() -> Case:
        case, report = study.load_with_report(options.case)
        warnings.extend(report.warnings)
        return case

    case = load() if comm is None else study.on_first_rank(comm, load)
    if not options.quiet:
        width = terminal_width(sys.stderr)
        sys.stderr.writelines(wrap_lines(f"warning: {problem}", width) + "\n" for problem in warnings)
    with _progress(options, is_alone=comm is None or comm.size == 1) as progress:
        result = study.train(
            case,
            num_workers=options.workers or 1,
            backend=options.backend if comm is None else "auto",
            progress_callback=progress.advance,
            output=options.output,
            comm=comm,
        )
    return result, _response(options, result, warnings)


def _progress(options: Any, is_alone: bool) -> AbstractContextManager[Progress]:
    if options.quiet:
        return nullcontext(SilentProgress())
    # A launcher may give its ranks a terminal of its own making while its output goes to a file: Open MPI does.
    return open_progress(sys.stdout if options.output_format == "text" else sys.stderr, is_plain=not is_alone)


def _response(options: Any, result: TrainingResult, warnings: Sequence[ProblemReport]) -> Response:
    return Response(
        data={
            "output_directory": str(options.output),
            "training": training_document(result),
            "simulation": None,
        },
        summary=f"{result.iterations} iterations, lower bound {result.final_lower_bound:.10g}, "
        f"ended by {result.termination_reason}",
        exit_code=SIGNAL_BASE + result.stop_signal if result.stop_signal else 0,
        warnings=[problem.to_dict() for problem in warnings],
    )
