"""How ``cobre launch`` reports the end of a launch."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cobre.cli.wrapping import terminal_width, wrap_lines
from cobre.comm.launch.blame import RankResult
from cobre.comm.launch.kills import signal_name
from cobre.comm.launch.launcher import Ending
from cobre.comm.launch.output import Console
from cobre.comm.launch.restarts import could_not_start, outcome_of

__all__ = ["explain", "say"]

LAST_LINES = 30
TRACEBACK = "Traceback (most recent call last)"


def say(text: str, words: Sequence[str] = ()) -> None:
    """A message, broken between words where the terminal is narrow, and what a rank printed as it printed it."""
    if sys.stderr is not None:  # closed: there is no message, and the exit status stays
        sys.stderr.write(f"{wrap_lines(text, terminal_width(sys.stderr))}\n{''.join(words)}")


def explain(ending: Ending, size: int, console: Console, *, is_quiet: bool) -> None:
    """Who failed and how; its last words again unless they are still the last thing on display."""
    culprit = ending.culprit
    if culprit is None:
        return
    if ending.asked_to_end:
        say(f"cobre launch: ended by {ending.asked_to_end[0].name}")
        return
    words = _last_words(culprit)
    is_on_display = not is_quiet and _is_last_on_display(console, culprit, words)
    _blame(culprit, size, [] if is_on_display else words, is_on_display=is_on_display)
    if ending.explanation is not None:
        say(f"  likely: {ending.explanation.reason}\n  fix: {ending.explanation.remedy}")


def _blame(culprit: RankResult, size: int, words: Sequence[str], *, is_on_display: bool) -> None:
    who = culprit.who if culprit.rank is None else f"{culprit.who} of {size}"
    if culprit.alike:
        who += f" (or {' or '.join(map(str, culprit.alike))}, gone at the same time)"
    how = signal_name(culprit.exit_code) if culprit.exit_code < 0 else f"exit status {culprit.exit_code}"
    if _only_tells(culprit):
        text = f"cobre launch: no rank here failed by itself; {who} ended first, with {how}, and says why"
        say(text if is_on_display else f"{text}:", words)
    elif is_on_display:
        say(f"cobre launch: {who} failed with {how}")
    else:
        colon = ", its last words:" if words else ""
        say(f"cobre launch: {who} failed first, with {how}{colon}", words)


def _only_tells(culprit: RankResult) -> bool:
    """Whether the first failure here only reports a rank that ended normally, or one that failed on another machine."""
    return outcome_of(culprit) == "told" and not could_not_start(culprit)


def _last_words(culprit: RankResult) -> list[str]:
    """Its traceback if it has one, else its last lines."""
    if culprit.failure is not None and culprit.failure.traceback:
        return culprit.failure.traceback.splitlines(keepends=True)
    lines = culprit.output.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith(TRACEBACK)]
    return lines[starts[-1] :] if starts else lines[-LAST_LINES:]


def _is_last_on_display(console: Console, culprit: RankResult, words: Sequence[str]) -> bool:
    """Whether they can be read where they stand: whole, if they are a traceback, and with nothing behind them."""
    needed = len(words) if words and words[0].startswith(TRACEBACK) else 1
    return console.last_shown == culprit.rank and console.lines_in_a_row >= needed
