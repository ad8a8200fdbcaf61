"""What a person sees while a long command works: a live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from cobre.cli.figures import duration, money
from cobre.cli.gap import gap_column
from cobre.cli.remaining import RemainingTime
from cobre.cli.wrapping import screen_width
from cobre.sddp.events import ProgressEvent

__all__ = ["Progress", "SilentProgress", "open_progress"]

FULL_WIDTH = 78
"""Columns of a plain line; on a narrower terminal the mean cost is left out."""
LINE_INTERVAL_S = 0.5
"""Plain lines come no more often than this, beside the first: a log of a long run stays readable."""


class Progress(Protocol):
    """Told of every iteration of every worker."""

    def advance(self, event: ProgressEvent) -> None:
        """Show what is new."""


class SilentProgress:
    """For ``--quiet`` and for ranks that do not speak."""

    def advance(self, event: ProgressEvent) -> None:
        """Nothing."""


class LineProgress:
    """Lines that a file or a pipe can keep, all columns aligned."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_narrow = (screen_width(stream) or FULL_WIDTH) < FULL_WIDTH
        self._last_line_at = float("-inf")
        self._pending: ProgressEvent | None = None
        self._phase: str | None = None

    def advance(self, event: ProgressEvent) -> None:
        """Print a line, unless one was printed just now; then it waits for `close`."""
        if event.worker_id != 0:
            return
        if self._phase != event.phase:
            self.close()
            self._phase, self._last_line_at = event.phase, float("-inf")
        if self._last_line_at == float("-inf") and event.phase == "training":
            self._write("iteration", "lower bound", "mean cost", "gap", "time")
        now = time.monotonic()
        if now - self._last_line_at < LINE_INTERVAL_S:
            self._pending = event
            return
        self._print(event)
        self._last_line_at = now

    def close(self) -> None:
        """The last iteration is always shown."""
        if self._pending is not None:
            self._print(self._pending)

    def _print(self, event: ProgressEvent) -> None:
        self._pending = None
        elapsed = duration(event.wall_time_ms / 1000)
        if event.lower_bound is None or event.upper_bound is None:
            self._stream.write(f"simulated {_scenarios(event)}  {elapsed}\n")
        else:
            lower, mean = money(event.lower_bound), money(_mean_cost(event, event.upper_bound))
            self._write(str(event.iteration), lower, mean, gap_column(event.gap_estimate), elapsed)
        self._stream.flush()

    def _write(self, iteration: str, lower: str, mean: str, gap: str, elapsed: str) -> None:
        middle = "" if self._is_narrow else f"{mean:>20}  "
        self._stream.write(f"{iteration:>9}  {lower:>20}  {middle}{gap:>8}  {elapsed}\n")


class LiveProgress:
    """One line that changes in place: iteration, bound, gap, time, what is left and cost, as many as fit."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._console = Console(file=stream, highlight=False)
        self._remaining = RemainingTime()
        self._live = Live(
            Text("starting …", style="dim"),
            console=self._console,
            refresh_per_second=8,
            transient=True,
        )

    def advance(self, event: ProgressEvent) -> None:
        """Draw the newest state."""
        if event.worker_id != 0:
            return
        if event.iteration_time_ms is not None:
            self._remaining.learn(event.iteration_time_ms / 1000)
        line = self._text(no_wrap=True)
        for part, style in self._parts(event):
            if len(line) + len(part) <= self._console.width:
                line.append(part, style=style)
        self._live.update(line)

    def _parts(self, event: ProgressEvent) -> list[tuple[str, str]]:
        """What there is to say and its style, the most important first."""
        elapsed = f"  {duration(event.wall_time_ms / 1000)}"
        if event.iteration is None or event.lower_bound is None or event.upper_bound is None:
            left = event.wall_time_ms * (event.scenarios_total / max(1, event.scenarios_complete) - 1.0)
            to_go = f", about {duration(left / 1000)} to go"
            return [(f"simulated {_scenarios(event)}", "bold"), (elapsed, ""), (to_go, "")]
        limit, gap = _iteration_limit(event), gap_column(event.gap_estimate)
        parts = [(f"iteration {event.iteration}" + (f"/{limit}" if limit else ""), "bold")]
        parts.append((f"  lower {money(event.lower_bound)}", ""))
        if gap != "-":
            parts.append((f"  gap {gap}", "cyan"))
        parts.append((elapsed, ""))
        if limit:
            left = max(1, round(self._remaining.until(limit)))
            parts.append((f", up to about {duration(left) if left >= 60 else f'{left} s'} to go", ""))
        parts.append((f"  mean cost {money(_mean_cost(event, event.upper_bound))}", ""))
        return parts

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def _mean_cost(event: ProgressEvent, of_iteration: float) -> float:
    """Of the trajectories that the gap is about; one iteration has too few, and their mean bounds nothing."""
    return of_iteration if event.gap_estimate is None else event.gap_estimate.mean_cost


def _iteration_limit(event: ProgressEvent) -> int:
    """How many iterations there will be at most; 0 if nobody knows."""
    if event.iteration is None or not event.scenarios_complete:
        return 0
    return event.iteration * event.scenarios_total // event.scenarios_complete


def _scenarios(event: ProgressEvent) -> str:
    return f"{event.scenarios_complete:,} of {event.scenarios_total:,} scenarios"


@contextmanager
def open_progress(stream: TextIO, *, is_plain: bool = False) -> Iterator[Progress]:
    """The kind of progress that fits ``stream``; plain lines where ``is_plain`` asks for them."""
    if stream.isatty() and not is_plain:
        with LiveProgress(stream) as live:
            yield live
        return
    lines = LineProgress(stream)
    try:
        yield lines
    finally:
        lines.close()
