"""Training and simulating from a command line: on this process, on several, or as one rank of a launched group."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobre import study
from cobre._machine import usable_cpus
from cobre.cli import show_error
from cobre.cli.event_stream import EventStream
from cobre.cli.outcome import run_summary, show_run, simulation_document, training_document
from cobre.cli.parser import AUTO, json_object, positive_int, positive_int_or_auto, whole_number
from cobre.cli.progress import Progress, SilentProgress, open_progress
from cobre.cli.response import Response, add_output_format, answer
from cobre.cli.wrapping import terminal_width, wrap_lines
from cobre.comm import BackendKind, GroupMember, create_communicator
from cobre.comm.launch.restarts import started_again_since
from cobre.comm.report import report_error
from cobre.errors import CobreError, MissingConfiguration

if TYPE_CHECKING:
    from cobre.core.case import Case
    from cobre.io import ProblemReport
    from cobre.study import RunPlan, RunResult

__all__ = ["add_arguments", "execute"]

SIGNAL_BASE = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that training and simulating have in common."""
    parser.add_argument("case", metavar="CASE", help="folder of the case")
    parser.add_argument(
        "-n",
        "--workers",
        type=positive_int_or_auto,
        metavar="N",
        help="start N processes (not inside a launched rank); auto: one per processor",
    )
    parser.add_argument(
        "--threads",
        type=positive_int_or_auto,
        metavar="T",
        help="solve with T threads in each process; auto: what is free (default COBRE_THREADS, or 1)",
    )
    parser.add_argument(
        "--backend",
        default="auto",
        metavar="B",
        help=f"how ranks communicate: {', '.join(BackendKind)} (default auto)",
    )
    parser.add_argument("--output", metavar="DIR", help="where results go (default CASE/output)")
    parser.add_argument(
        "--scenarios", type=positive_int, metavar="N", help="simulate N scenarios (default: config.json)"
    )
    parser.add_argument(
        "--max-restarts",
        type=whole_number,
        default=0,
        metavar="R",
        help="start up to R times again from the last checkpoint if a worker is killed (default 0)",
    )
    parser.add_argument(
        "--config-overrides",
        type=json_object,
        metavar="JSON",
        help="settings laid over config.json: an object; objects in it merge, lists replace",
    )
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")
    parser.add_argument("--no-progress", action="store_true", help="show the outcome, and nothing before it")
    add_output_format(parser)


def execute(command: str, options: argparse.Namespace, plan: RunPlan) -> int:
    """Do what ``plan`` says and show it; the exit status. ``options`` are those of `add_arguments`, and ``policy``."""
    options.command, options.plan = command, plan
    options.stream = EventStream() if options.output_format == "json-lines" else None
    if options.workers == AUTO:
        options.workers = usable_cpus()
    options.output = Path(options.output) if options.output else Path(options.case) / "output"
    if options.workers is None:
        if options.max_restarts:
            raise CobreError(
                "--max-restarts needs -n N: only who started the workers can start them again",
                suggestion="add -n N, or use cobre launch --max-restarts R -n N cobre run CASE",
            )
        since = started_again_since(os.environ)
        if since is not None:
            options.resume = study.Restart(since, options.resume)
        return _as_one_rank(options)
    return _answer(options, comm=None)


def _as_one_rank(options: Any) -> int:
    """Join whatever started this process; alone if nothing did. Only rank 0 prints, unless it cannot be heard."""
    with _join(options) as comm:
        is_first = comm.rank == 0
        options.quiet = options.quiet or not is_first
        try:
            status = _answer(options, comm) if is_first else _run(options, comm).exit_code
        except CobreError as error:
            if not error.is_shared:
                raise  # this rank leaves the group as one that failed: the others may wait for it
            status = error.exit_status
            (show_error if is_first else report_error)(error)
        if status:
            comm.barrier()  # mpiexec ends all ranks when one has failed: not before rank 0 has told and written
        return status


def _join(options: Any) -> GroupMember:
    if options.backend != BackendKind.AUTO:
        os.environ["COBRE_COMM_BACKEND"] = options.backend
    try:
        return create_communicator(collective_timeout=study.COLLECTIVE_TIMEOUT_S)
    except MissingConfiguration as error:
        if options.backend != BackendKind.AUTO:
            error.suggestion = (
                f"add -n N to start N processes of this machine over {options.backend}, or start the ranks with "
                "cobre launch, which sets these variables"
            )
        raise


def _answer(options: Any, comm: GroupMember | None) -> int:
    is_own_failure = False

    def work() -> Response:
        nonlocal is_own_failure
        try:
            return _run(options, comm)
        except CobreError as error:
            is_own_failure = not error.is_shared
            raise

    def show(response: Response) -> None:
        if not options.quiet:
            is_plain = comm is not None and comm.size > 1
            show_run(sys.stdout, response.result, options.output, is_plain=is_plain)

    status = answer(options.command, options.output_format, work, show, options.stream)
    if comm is not None and is_own_failure:
        raise SystemExit(
            status
        )  # the error is printed as JSON already, and the other ranks may still wait for this one
    return status


def _run(options: Any, comm: GroupMember | None) -> Response:
    warnings: list[ProblemReport] = []

    def load() -> Case:
        case, report = study.load_with_report(options.case, options.config_overrides)
        warnings.extend(report.warnings)
        ranks = options.workers or (comm.size if comm else 1)
        warnings.extend(study.idle_workers(case, options.plan, ranks))
        return case

    case = load() if comm is None else study.on_first_rank(comm, load)
    speaks = not options.quiet and options.stream is None
    if speaks:
        width = terminal_width(sys.stderr)
        sys.stderr.writelines(wrap_lines(f"warning: {problem}", width) + "\n" for problem in warnings)
    with _progress(options, is_alone=comm is None or comm.size == 1) as progress:
        result = study.run_case(
            case,
            options.plan,
            num_workers=options.workers or 1,
            backend=options.backend if comm is None else "auto",
            progress_callback=progress.advance,
            output=options.output,
            policy=options.policy,
            comm=comm,
            resume=options.resume,
            on_note=_note if speaks else None,
            max_restarts=options.max_restarts,
            on_event=None if options.stream is None or (comm and comm.rank) else options.stream.print,
            warnings=[str(problem).partition("\n")[0] for problem in warnings],
            threads=options.threads,
        )
    return _response(options, result, warnings)


def _note(text: str) -> None:
    sys.stderr.write(wrap_lines(f"note: {text}", terminal_width(sys.stderr)) + "\n")


def _progress(options: Any, is_alone: bool) -> AbstractContextManager[Progress]:
    if options.quiet or options.no_progress or options.stream is not None:
        return nullcontext(SilentProgress())
    # A launcher may give its ranks a terminal of its own making while its output goes to a file: Open MPI does.
    return open_progress(
        sys.stdout if options.output_format == "human" else sys.stderr, is_plain=not is_alone
    )


def _response(options: Any, result: RunResult, warnings: Sequence[ProblemReport]) -> Response:
    return Response(
        data=_document(options.output, result) if options.output_format != "human" else {},
        summary=run_summary(result),
        exit_code=SIGNAL_BASE + result.stop_signal if result.stop_signal else 0,
        warnings=[problem.to_dict() for problem in warnings],
        result=result,
    )


def _document(output: Path, result: RunResult) -> dict[str, Any]:
    """What programs read; it counts the files of all scenarios, which people are not shown."""
    training, simulation = result.training, result.simulation
    return {
        "output_directory": str(output),
        "training": None if training is None else training_document(training),
        "simulation": None if simulation is None else simulation_document(simulation),
    }
