"""The progress of a long command: a live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from cobre.cli.figures import duration, money
from cobre.cli.wrapping import screen_width
from cobre.sddp.events import ProgressEvent
from cobre.study.gap import gap_column
from cobre.study.remaining import RemainingTime

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Progress", "SilentProgress", "open_progress"]

FULL_WIDTH = 102
"""Columns of a plain line with time left and rate; on a narrower terminal the mean cost is left out."""
LINE_INTERVAL_S = 5.0
"""Seconds between plain lines, except before the second one: the log of a long run stays readable."""
BAR_WIDTHS = (10, 24)
"""Characters of a bar on a terminal of 80 columns, and on a wide one."""
WIDE = 110


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
        self._width = screen_width(stream)
        self._is_narrow = (self._width or FULL_WIDTH) < FULL_WIDTH
        self._last_line_at = float("-inf")
        self._pending: ProgressEvent | None = None
        self._phase: str | None = None
        self._pace = Pace()

    def advance(self, event: ProgressEvent) -> None:
        """Print a line, unless one was printed just now; then it waits for `close`."""
        if event.worker_id != 0:
            return
        if self._phase != event.phase:
            self.close()
            self._phase, self._last_line_at = event.phase, float("-inf")
            if event.phase == "training":
                self._write("iteration", "lower bound", "mean cost", "gap", "time")
        self._pace.learn(event)
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
            text = f"simulated {_scenarios(event)}  {elapsed}"
            self._stream.write(text + self._hint(event, len(text)) + "\n")
        else:
            lower, mean = money(event.lower_bound), money(_mean_cost(event, event.upper_bound))
            self._write(str(event.iteration), lower, mean, gap_column(event.gap_estimate), elapsed, event)
        self._stream.flush()

    def _write(
        self,
        iteration: str,
        lower: str,
        mean: str,
        gap: str,
        elapsed: str,
        event: ProgressEvent | None = None,
    ) -> None:
        middle = "" if self._is_narrow else f"{mean:>20}  "
        text = f"{iteration:>9}  {lower:>20}  {middle}{gap:>8}  {elapsed}"
        self._stream.write(text + ("" if event is None else self._hint(event, len(text))) + "\n")

    def _hint(self, event: ProgressEvent, used: int) -> str:
        """Time left and rate, if they are known and fit."""
        left = self._pace.left_s(event)
        if left is None or left <= 0.0:
            return ""
        text = f", {_left(event, left)}, {self._pace.rate(event)}"
        return text if self._width is None or used + len(text) <= self._width else ""


class Pace:
    """How fast a run is, and how long it will take."""

    def __init__(self) -> None:
        self._remaining = RemainingTime()
        self._durations: deque[float] = deque(maxlen=10)
        self._n_learnt = 0

    def learn(self, event: ProgressEvent) -> None:
        """Note how long an iteration took."""
        if event.iteration_time_ms is not None:
            self._remaining.learn(event.iteration_time_ms / 1000)
            self._durations.append(event.iteration_time_ms / 1000)
            self._n_learnt += 1

    def left_s(self, event: ProgressEvent) -> float | None:
        """Seconds that are left at most; None where nothing limits them."""
        if event.phase == "simulation":
            if not event.scenarios_complete:
                return None
            return event.wall_time_ms / 1000 * (event.scenarios_total / event.scenarios_complete - 1.0)
        if event.iteration is None or not self._n_learnt:
            return None
        found = (
            [] if event.time_limit_s is None else [max(0.0, event.time_limit_s - event.wall_time_ms / 1000)]
        )
        if event.iteration_limit is not None:
            earlier = event.iteration - self._n_learnt  # iterations of a run that is continued
            found.append(self._remaining.until(event.iteration_limit - earlier))
        return min(found, default=None)

    def rate(self, event: ProgressEvent) -> str:
        """Iterations, or scenarios, in a second; for slow ones the seconds of each."""
        if event.phase == "simulation":
            each = event.wall_time_ms / 1000 / max(1, event.scenarios_complete)
        else:
            each = sum(self._durations) / max(1, len(self._durations))
        if each <= 0.0:
            return "-"
        return f"{1 / each:.1f}/s" if each < 1.0 else f"{duration(each)} each"


class LiveProgress:
    """One line that changes in place: count, bar, time, what is left, rate, bound, gap and cost, as many as fit."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._console = Console(file=stream, highlight=False)
        self._is_ascii = "utf" not in (self._console.encoding or "").lower()
        self._pace = Pace()
        self._event: ProgressEvent | None = None
        self._event_at = 0.0
        self._live = Live(
            self,
            console=self._console,
            refresh_per_second=8,
            transient=True,
        )

    def advance(self, event: ProgressEvent) -> None:
        """Draw the newest state at the next tick."""
        if event.worker_id != 0:
            return
        self._pace.learn(event)
        self._event, self._event_at = event, time.monotonic()

    def __rich__(self) -> Text:
        """The line as it is now: time goes on between two iterations."""
        if self._event is None:
            return self._text("starting …" if not self._is_ascii else "starting ...", style="dim")
        line = self._text(no_wrap=True)
        for part, style in self._parts(self._event, time.monotonic() - self._event_at):
            if len(line) + len(part) <= self._console.width:
                line.append(part, style=style)
        return line

    def _parts(self, event: ProgressEvent, since_s: float) -> list[tuple[str, str]]:
        """What there is to say and its style, the most important first."""
        left = self._pace.left_s(event)
        times = [(f"  {duration(event.wall_time_ms / 1000 + since_s)}", "")]
        if left is not None and left > 0.0:
            times.append((f", {_left(event, max(0.0, left - since_s))}", ""))
        times.append((f"  {self._pace.rate(event)}", "dim"))
        if event.iteration is None or event.lower_bound is None or event.upper_bound is None:
            share = event.scenarios_complete / max(1, event.scenarios_total)
            return [(f"simulated {_scenarios(event)}", "bold"), self._bar(share), *times]
        limit, gap = event.iteration_limit, gap_column(event.gap_estimate)
        parts = [(f"iteration {event.iteration}" + (f"/{limit}" if limit else ""), "bold")]
        if limit:
            parts.append(self._bar(event.iteration / limit))
        parts += [*times, (f"  lower {event.lower_bound:,.0f}", "")]
        if gap != "-":
            parts.append((f"  gap {gap}", "cyan"))
        parts.append((f"  mean cost {_mean_cost(event, event.upper_bound):,.0f}", ""))
        return parts

    def _bar(self, share: float) -> tuple[str, str]:
        width = BAR_WIDTHS[self._console.width >= WIDE]
        filled = round(min(1.0, share) * width)
        full, empty = ("#", "-") if self._is_ascii else ("━", "─")
        return f" {full * filled}{empty * (width - filled)}", "green"

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def _left(event: ProgressEvent, seconds: float) -> str:
    """Rules other than a limit may end training sooner; all scenarios of a simulation are run."""
    text = duration(seconds) if seconds >= 60 else f"{max(1, round(seconds))} s"
    return f"about {text} left" if event.phase == "simulation" else f"up to {text} left"


def _mean_cost(event: ProgressEvent, of_iteration: float) -> float:
    """Of the trajectories that the gap is about; one iteration has too few, and their mean bounds nothing."""
    return of_iteration if event.gap_estimate is None else event.gap_estimate.mean_cost


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
