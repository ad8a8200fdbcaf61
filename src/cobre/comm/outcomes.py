"""The outcome of the workers of a `run`: events, results, or the failure to raise."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from typing import Any

from cobre.comm.launch.kills import Explanation, signal_name
from cobre.comm.launch.launcher import Ending
from cobre.comm.launch.process import RankProcess
from cobre.comm.report import Tag
from cobre.errors import WorkerError

__all__ = ["KEPT_LINES", "OnEvent", "deliver", "raise_failure", "result"]

OnEvent = Callable[[int, Any], None]

KEPT_LINES = 50


def deliver(rank: RankProcess, on_event: OnEvent | None) -> None:
    """Hand on what the rank has emitted since last time, in its order."""
    number = rank.rank or 0
    for data in rank.inbox.take(Tag.EVENT):
        if on_event is None:
            continue
        try:
            event = pickle.loads(data)  # noqa: S301 - from a process we started
        except Exception as error:
            raise WorkerError(
                number, 0, error, f"what rank {number} emitted cannot be rebuilt here: {error}"
            ) from error
        on_event(number, event)


def _load_exception(data: bytes) -> BaseException:
    """What a rank raised, or its description if it cannot be rebuilt here."""
    description, pickled = pickle.loads(data)  # noqa: S301 - from a process we started
    try:
        inner: BaseException = pickle.loads(pickled)  # noqa: S301
    except Exception:  # empty, or of a class that only the worker can import
        return RuntimeError(description)
    return inner


def raise_failure(ending: Ending) -> None:
    """Raise what the rank to blame ended with, if any failed."""
    culprit, asked_to_end = ending.culprit, ending.asked_to_end
    if culprit is None:
        return
    was_killed = len(asked_to_end) > 1 and culprit.exit_code == -signal.SIGKILL  # the user would not wait
    if was_killed or any(culprit.exit_code == -number for number in asked_to_end):
        # What it was asked to do is no failure of the rank.
        raise KeyboardInterrupt if asked_to_end[-1] == signal.SIGINT else SystemExit(128 + asked_to_end[-1])
    if culprit.was_ended or (culprit.failure is not None and culprit.failure.is_consequence):
        for (
            rank
        ) in ending.ranks:  # others may report a failure of a rank that left too early, without an error
            if rank.exit_code == 0 and not rank.inbox.holds(Tag.RESULT):
                raise _without_result(rank)
    [rank] = [rank for rank in ending.ranks if rank.rank == culprit.rank]
    number = culprit.rank or 0
    inner: BaseException | None = None
    for data in rank.inbox.take(Tag.EXCEPTION):
        inner = _load_exception(data)
    if inner is None:
        error = _without_exception(number, culprit.exit_code, ending.explanation)
        for line in culprit.output.splitlines()[-KEPT_LINES:]:
            error.add_note(line)
        raise error
    if culprit.failure is not None:
        inner.add_note(f"\nOn rank {number}:\n{culprit.failure.traceback.rstrip()}")
    raise WorkerError(number, culprit.exit_code, inner) from inner


def _without_exception(rank: int, exit_code: int, explanation: Explanation | None) -> WorkerError:
    """For a worker that ended without telling why."""
    if explanation is None:
        return WorkerError(rank, exit_code, None)
    message = f"rank {rank} failed: {signal_name(exit_code)}: {explanation.reason}"
    return WorkerError(rank, exit_code, None, message, suggestion=explanation.remedy)


def result(rank: RankProcess) -> Any:
    """What the rank returned."""
    results = rank.inbox.take(Tag.RESULT)
    if not results:
        raise _without_result(rank)
    number = rank.rank or 0
    try:
        return pickle.loads(results[-1])  # noqa: S301
    except Exception as error:
        raise WorkerError(
            number, 0, error, f"what rank {number} returned cannot be rebuilt here: {error}"
        ) from error


def _without_result(rank: RankProcess) -> WorkerError:
    number = rank.rank or 0
    return WorkerError(
        number,
        0,
        None,
        f"rank {number} ended without returning from its function",
        suggestion="return from the function instead of calling sys.exit() or os._exit()",
    )
