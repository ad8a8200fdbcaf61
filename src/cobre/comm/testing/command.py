"""``python -m cobre.comm.testing``: the kit as a program, inside ranks or starting them."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cobre.comm.launch import RankResult, first_failure, run_ranks
from cobre.comm.limits import read_limits
from cobre.comm.protocol import Communicator
from cobre.comm.selection import create_communicator, get_backend
from cobre.comm.testing.catalogue import CHECKS
from cobre.comm.testing.checks import Check
from cobre.comm.testing.expectations import Failure
from cobre.comm.testing.runner import choose, run_checks, supervised
from cobre.comm.testing.sequences import digest
from cobre.errors import BackendError, CommError, InvalidBackend, WorkerError

__all__ = ["main"]

DESCRIPTION = """\
Check that a backend keeps the communication contract: exact bytes, rank order, errors, life cycle.

Inside ranks that something else starts, the environment says which backend to check:
  python -m cobre.comm.testing
With -n it starts the ranks itself; if the batch fails, each check runs again on its own to find the culprit:
  python -m cobre.comm.testing -n 4 --backend NAME
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if every promise was kept."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = options.only.split(",") if options.only else None
    if (options.size is None) != (options.backend is None):
        parser.error("-n and --backend go together: how many ranks, of which backend")
    try:
        chosen = choose(names, options.size or 1, huge=options.huge)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        _print_list()
        return 0
    try:
        return _start(options, chosen) if options.size is not None else _check_here(options, names)
    except (BackendError, CommError) as error:
        print(error, file=sys.stderr)
        return error.exit_status


def _check_here(options: argparse.Namespace, names: Sequence[str] | None) -> int:
    """The checks or the digest in this process, which is one rank."""
    with create_communicator() as comm:
        if options.digest:
            text = digest(comm, options.seed)
            if comm.rank == 0:
                print(text)
        else:
            _run_here(comm, options, names)
    return 0


def _run_here(comm: Communicator, options: argparse.Namespace, names: Sequence[str] | None) -> None:
    """Run the checks in this rank; a `Failure` goes on, so that the backend sees how this rank leaves."""
    _require_some(choose(names, comm.size, huge=options.huge), comm.size)
    passed = 0

    def report(check: Check, seconds: float) -> None:
        nonlocal passed
        passed += 1
        if comm.rank == 0:
            print(f"{check.name:<45}{1000 * seconds:9.1f} ms", flush=True)

    failed = 0
    try:
        if names is None:
            _print_digest(comm, options)
        run_checks(
            comm,
            names,
            seed=options.seed,
            limits=_limits(comm.backend, os.environ),
            huge=options.huge,
            deadline_s=options.deadline,
            report=report,
        )
    except Failure as failure:
        failed = 1
        print(failure, file=sys.stderr, flush=True)
        raise
    finally:
        if comm.rank == 0:
            print(f"{passed} passed, {failed} failed", flush=True)


def _print_digest(comm: Communicator, options: argparse.Namespace) -> None:
    with supervised("the digest", comm.rank, options.deadline):
        text = digest(comm, options.seed)
    if comm.rank == 0:
        print(f"{'digest':<45}{text}", flush=True)


def _start(options: argparse.Namespace, chosen: Sequence[Check]) -> int:
    """Launch all checks together, and one by one where that fails or is asked for."""
    _require_some(chosen, options.size)
    if not options.singly:
        names = [check.name for check in chosen] if options.only else None
        if _launch(options, names, echo=True) is None:
            return 0
        if options.digest:
            return 1
        print("the batch failed; each check on its own:", flush=True)
    failed = 0
    for check in chosen:
        reason = _launch(options, [check.name], echo=False)
        failed += reason is not None
        print(f"{check.name:<45}{'ok' if reason is None else 'FAILED: ' + reason}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    if failed or options.singly:
        return int(failed > 0)
    print("each check passes on its own: in the batch, one disturbs another", file=sys.stderr)
    return 1


def _launch(options: argparse.Namespace, names: Sequence[str] | None, *, echo: bool) -> str | None:
    """``None`` if all ranks passed, else why the first one failed."""
    argv = ["-m", "cobre.comm.testing", "--seed", str(options.seed), "--deadline", str(options.deadline)]
    argv += ["--only", ",".join(names)] if names is not None else []
    argv += [flag for flag in ("--huge", "--digest") if getattr(options, flag[2:])]
    count = len(names) if names else len(CHECKS)
    try:
        results = run_ranks(
            options.backend, options.size, argv, timeout=options.deadline * (1 + count), echo=echo
        )
    except WorkerError as error:
        return error.message
    failure = first_failure(results)
    return None if failure is None else _reason(failure, results)


def _reason(failure: RankResult, results: Sequence[RankResult]) -> str:
    """A rank's message about its own failure, not about the loss of another rank."""
    lines = [line for result in (failure, *results) for line in result.output.splitlines()]
    told = [line for line in lines if line.startswith("rank ") and " failed: " in line]
    own = [line for line in told if "CollectiveFailed" not in line]
    hung = [f"rank {result.rank} hung" for result in results if "Timeout (" in result.output]
    return [*own, *hung, *told, f"rank {failure.rank} ended with {failure.exit_code}"][0]


def _require_some(chosen: Sequence[Check], size: int) -> None:
    """Refuse a run without any check: the named ones need another number of ranks."""
    if not chosen:
        ranks = "one rank" if size == 1 else f"{size} ranks"
        raise CommError(
            f"none of these checks applies to {ranks}", suggestion="see --list for what each needs"
        )


def _limits(backend: str, environ: Mapping[str, str]) -> dict[str, int]:
    """The internal sizes of the backend under test; none are known of one that is not registered."""
    try:
        return read_limits(backend, get_backend(backend).limits, environ)
    except InvalidBackend:
        return {}


def _print_list() -> None:
    for check in CHECKS:
        ranks = "one rank" if check.max_size == 1 else "2 ranks and more" if check.min_size == 2 else ""
        notes = ", ".join(filter(None, (ranks, "closes" * check.closes, "huge" * check.huge)))
        print(f"{check.name:<45}{check.promise}{f' [{notes}]' if notes else ''}")


def _from(least: float, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """An argparse type: a finite number that is at least ``least``."""

    def read(text: str) -> Any:
        number = convert(text)
        if not least <= number < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least}")
        return number

    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cobre.comm.testing",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="show every check and the promise behind it")
    parser.add_argument("--only", metavar="NAME[,NAME]", help="run these checks instead of all")
    parser.add_argument(
        "--seed", type=_from(0, int), default=0, metavar="N", help="seed of all data (default 0)"
    )
    parser.add_argument("--huge", action="store_true", help="also move payloads over 4 GiB")
    parser.add_argument(
        "--digest",
        action="store_true",
        help="print only the SHA-256 of a fixed run: equal on every backend of this size",
    )
    parser.add_argument(
        "-n", type=_from(1, int), metavar="N", dest="size", help="start N ranks and check in them"
    )
    parser.add_argument("--backend", metavar="NAME", help="the backend to start with -n")
    parser.add_argument("--singly", action="store_true", help="with -n: one launch per check")
    parser.add_argument(
        "--deadline",
        type=_from(0.1, float),
        default=60.0,
        metavar="S",
        help="a check that takes longer ends its rank with a traceback (default 60)",
    )
    return parser
