"""Checks of dated entries of ``initial_conditions.json``: releases and commitments before the study."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cobre.io.problems import Place, Problems

FILE = "initial_conditions.json"


@dataclass(frozen=True)
class Window:
    """One entry: a value on the days from the first until before the last."""

    owner: int
    start: dt.date
    end: dt.date
    value: float


def check_windows(windows: Sequence[Window], name: str, noun: str, problems: Problems) -> bool:
    """Report entries that are empty or overlap; whether there are none."""
    before = len(problems.errors)
    ordered = sorted(windows, key=lambda each: (each.owner, each.start))
    for each in ordered:
        if each.end <= each.start:
            problems.error(
                "OutOfRange",
                Place(FILE, f"{noun} {each.owner}", f"{name}.end_date", str(each.end)),
                f"end_date {each.end} is not after start_date {each.start}",
                "end_date is the first day after the entry",
            )
    for first, second in pairwise(ordered):
        if first.owner == second.owner and second.start < first.end:
            problems.error(
                "OutOfRange",
                Place(FILE, f"{noun} {second.owner}", f"{name}.start_date", str(second.start)),
                f"the entry from {second.start} on overlaps the one from {first.start} to {first.end}",
                "let every day be in one entry",
            )
    return len(problems.errors) == before


def days_covered(windows: Sequence[Window], start: dt.date, end: dt.date) -> int:
    """How many of the days from ``start`` until before ``end`` are in one of the windows, which do not overlap."""
    return sum(max(0, (min(each.end, end) - max(each.start, start)).days) for each in windows)
