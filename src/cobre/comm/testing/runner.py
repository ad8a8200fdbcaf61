"""Runs checks inside the ranks of a communicator."""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from cobre.comm.protocol import Communicator
from cobre.comm.testing.catalogue import CHECKS
from cobre.comm.testing.checks import Check, Context, as_member
from cobre.comm.testing.expectations import Failure

__all__ = ["choose", "run_checks", "supervised"]

Report = Callable[[Check, float], None]


def choose(names: Sequence[str] | None, size: int, *, huge: bool = False) -> list[Check]:
    """The checks with these names (``None``: all that ``size`` ranks can run), those that close last.

    ``huge`` adds the huge ones; one that is named runs anyway. An unknown name is a `ValueError`.
    """
    if names is None:
        return [check for check in CHECKS if check.applies_to(size) and (huge or not check.huge)]
    known = {check.name for check in CHECKS}
    unknown = ", ".join(name for name in names if name not in known)
    if unknown:
        raise ValueError(f"no check is named {unknown}\n  fix: choose from {', '.join(sorted(known))}")
    return [check for check in CHECKS if check.name in names and check.applies_to(size)]


def run_checks(
    comm: Communicator,
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    limits: Mapping[str, int] | None = None,
    huge: bool = False,
    deadline_s: float | None = None,
    report: Report | None = None,
) -> int:
    """Collective: run the checks in this rank and return how many; the first broken promise raises `Failure`.

    After a failure this rank is out of step with the others: leave, as they will. A check that closes the
    communicator leaves it closed. ``report(check, seconds)`` follows each check; with ``deadline_s`` a check
    that takes longer ends the process with a traceback of every thread.
    """
    member, chosen = as_member(comm), choose(names, comm.size, huge=huge)
    closing: list[tuple[Check, Iterator[None], float]] = []
    for check in chosen:
        ctx = Context(check.name, seed, dict(limits or {}))
        start = time.perf_counter()
        with supervised(check.name, comm.rank, deadline_s):
            if check.phases is None:
                check.run(member, ctx)
            else:
                steps = check.phases(member, ctx)
                next(steps)
                closing.append((check, steps, time.perf_counter() - start))
                continue
        _tell(report, check, time.perf_counter() - start)
    if closing:
        with supervised(closing[0][0].name, comm.rank, deadline_s):
            comm.close()
    for check, steps, spent in closing:
        start = time.perf_counter()
        with supervised(check.name, comm.rank, deadline_s):
            next(steps, None)
        _tell(report, check, spent + time.perf_counter() - start)
    return len(chosen)


@contextmanager
def supervised(name: str, rank: int, deadline_s: float | None) -> Iterator[None]:
    """Turns what a check raises into a `Failure` that names it, and ends the process if it hangs."""
    if deadline_s is not None:
        faulthandler.dump_traceback_later(deadline_s, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    except Exception as error:
        text = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        failure = Failure(f"rank {rank}: {name} failed: {text}")
        failure.check = name
        raise failure from error
    finally:
        if deadline_s is not None:
            faulthandler.cancel_dump_traceback_later()


def _tell(report: Report | None, check: Check, seconds: float) -> None:
    if report is not None:
        report(check, seconds)
