"""What a person sees while a long command works: a live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from cobre.cli.figures import duration, money, percent
from cobre.sddp.events import ProgressEvent

__all__ = ["Progress", "SilentProgress", "open_progress"]

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
        self._last_line_at = float("-inf")
        self._pending: ProgressEvent | None = None

    def advance(self, event: ProgressEvent) -> None:
        """Print a line, unless one was printed just now; then it waits for `close`."""
        if event.worker_id != 0:
            return
        if self._last_line_at == float("-inf"):
            self._stream.write(
                f"{'iteration':>9}  {'lower bound':>20}  {'upper bound':>20}  {'gap':>8}  time\n"
            )
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
        self._stream.write(
            f"{event.iteration:>9}  {money(event.lower_bound):>20}  {money(event.upper_bound):>20}  "
            f"{percent(event.gap):>8}  {duration(event.wall_time_ms / 1000)}\n"
        )
        self._stream.flush()


class LiveProgress:
    """One line that changes in place: iteration, bounds, gap, time and what is left."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._live = Live(
            Text("starting …", style="dim"),
            console=Console(file=stream, highlight=False),
            refresh_per_second=8,
            transient=True,
        )

    def advance(self, event: ProgressEvent) -> None:
        """Draw the newest state."""
        if event.worker_id != 0:
            return
        limit = _iteration_limit(event)
        line = self._text(no_wrap=True, overflow="ellipsis")
        line.append(f"iteration {event.iteration}" + (f"/{limit}" if limit else ""), style="bold")
        line.append(f"  lower {money(event.lower_bound)}")
        line.append(f"  gap {percent(event.gap)}", style="cyan")
        line.append(f"  {duration(event.wall_time_ms / 1000)}")
        if limit:
            left_s = event.wall_time_ms / 1000 / event.iteration * (limit - event.iteration)
            line.append(f", at most {duration(left_s)} to go")
        line.append(f"  upper {money(event.upper_bound)}")
        self._live.update(line)

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def _iteration_limit(event: ProgressEvent) -> int:
    """How many iterations there will be at most; 0 if nobody knows."""
    return (
        event.iteration * event.scenarios_total // event.scenarios_complete if event.scenarios_complete else 0
    )


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
