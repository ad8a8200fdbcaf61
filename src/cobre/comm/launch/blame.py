"""Which rank caused a failure: one that failed by itself, never one that only reports the failure of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cobre.comm.launch.process import RankProcess
from cobre.comm.report import Failure

__all__ = ["RankResult", "first_failure", "result_of", "text_of"]


@dataclass(frozen=True)
class RankResult:
    """How one rank ended.

    ``rank`` is ``None`` if one ``command`` started all ranks, as ``mpiexec`` does; it is then the only
    result. ``exit_code`` is negative for a signal, ``output`` is stdout and stderr as they came, and
    ``ended_after_s`` counts from the start of the launch. ``was_ended``: by the launcher, because another
    rank had failed. ``failure``: the exception that ended it, if it is a Python program that has a communicator.
    ``alike`` are ranks that were gone at the same time, so that it may have been one of them.
    """

    rank: int | None
    exit_code: int
    output: str
    ended_after_s: float
    was_ended: bool = False
    failure: Failure | None = field(default=None, repr=False)
    command: str = "the command"
    alike: tuple[int, ...] = ()

    @property
    def who(self) -> str:
        """For messages."""
        return self.command if self.rank is None else f"rank {self.rank}"

    @property
    def status(self) -> int:
        """The exit code as a shell reports it: 128 + n for signal n."""
        return 128 - self.exit_code if self.exit_code < 0 else self.exit_code


def text_of(lines: Iterable[bytes]) -> str:
    """Lines as they came, decoded."""
    return "".join(f"{line.decode(errors='replace')}\n" for line in lines)


def result_of(rank: RankProcess, started_at: float) -> RankResult:
    """The result of a process that has ended."""
    return RankResult(
        rank=rank.rank,
        exit_code=rank.exit_code or 0,
        output=text_of(rank.tail),
        ended_after_s=rank.ended_at - started_at,
        was_ended=rank.was_ended,
        failure=rank.inbox.failure,
        command=rank.command,
    )


def first_failure(results: Sequence[RankResult]) -> RankResult | None:
    """The failed rank to blame; ``None`` if none failed.

    First come ranks that a signal killed or that raised an exception of their own, then those that merely ended
    with a status, then those whose exception tells of another rank, then those that the launcher ended. Among
    equals, the first to end.
    """
    failed = [result for result in results if result.exit_code]
    return min(failed, key=lambda result: (_blame_order(result), result.ended_after_s), default=None)


def _blame_order(result: RankResult) -> int:
    if result.was_ended:
        return 3
    if result.failure is not None:
        return 2 if result.failure.is_consequence else 0
    return 0 if result.exit_code < 0 else 1
