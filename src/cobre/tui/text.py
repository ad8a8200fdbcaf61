"""Words, numbers and bars of the views."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size

from cobre.core import wording
from cobre.tui.plot import Cell, Row, short_number

__all__ = ["act", "bar", "duration", "line", "percent", "safe", "short"]


def safe(text: object, width: int = 60) -> str:
    """``text`` as characters that a terminal shows: no control characters, no marks that turn the direction."""
    shown = "".join(character if character.isprintable() else "?" for character in str(text)[: 4 * width])
    return shown if cell_len(shown) <= width else set_cell_size(shown, width - 3) + "..."


def line(*parts: str | tuple[str, str]) -> Row:
    """A row of words; a tuple has a style."""
    return [Cell(part) if isinstance(part, str) else Cell(*part) for part in parts]


def bar(share: float | None, width: int, *, is_ascii: bool) -> str:
    """A bar that is filled up to ``share``, which is from 0 to 1.

    >>> bar(0.5, 8, is_ascii=True), bar(None, 4, is_ascii=True)
    ('####----', '    ')
    """
    if share is None:
        return " " * width
    filled = round(min(1.0, max(0.0, share)) * width)
    full, empty = ("#", "-") if is_ascii else ("█", "░")
    return full * filled + empty * (width - filled)


def short(value: object) -> str:
    """A number in few characters, or a dash."""
    return short_number(float(value)) if isinstance(value, int | float) else "-"


def percent(share: float | None) -> str:
    """Two decimals.

    >>> percent(0.1234), percent(None)
    ('12.34 %', '-')
    """
    return "-" if share is None else f"{100.0 * share:.2f} %"


def duration(seconds: float) -> str:
    """Short, in the unit that fits.

    >>> duration(0.36), duration(5), duration(75), duration(7322)
    ('360 ms', '5.0 s', '1 min 15 s', '2 h 02 min')
    """
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else wording.duration(seconds)


def act(control: Mapping[str, Any], folder: Path | None = None) -> str:
    """What was done to a run, in a few words; a path inside ``folder`` is relative to it.

    >>> arguments = {"rule": "iteration_limit", "values": {"limit": 150}}
    >>> act({"action": "set_rule", "arguments": arguments, "iteration": 248})
    'set_rule iteration_limit.limit = 150 after iteration 248'
    >>> act({"action": "pause", "iteration": 1})
    'pause after iteration 1'
    """
    words = [str(control.get("action"))]
    arguments = control.get("arguments")
    if control.get("action") == "set_rule" and isinstance(arguments, Mapping):
        values = arguments.get("values")
        pairs = values.items() if isinstance(values, Mapping) else ()
        words.append(", ".join(f"{arguments.get('rule')}.{name} = {value}" for name, value in pairs))
    words.append(f"after iteration {control.get('iteration')}" if control.get("iteration") else "done")
    outcome = control.get("outcome")
    path = outcome.get("path") if isinstance(outcome, Mapping) else None
    if isinstance(path, str) and folder is not None and Path(path).is_relative_to(folder.absolute()):
        path = str(Path(path).relative_to(folder.absolute()))
    return " ".join(word for word in words if word) + (f": {path}" if path else "")
