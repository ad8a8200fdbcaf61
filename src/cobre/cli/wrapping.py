"""Lines that break between words where a terminal is narrow, and stay whole in a file or a pipe."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from itertools import groupby
from typing import TextIO

__all__ = ["harmless", "reflow", "screen_width", "terminal_width", "wrap_lines"]

LISTING = range(4, 8)
"""Indentation of lines that are no sentences, such as commands to type."""
CONTINUED = 4
"""How much further the rest of a line that is broken is indented where no column says it."""
KEPT = "\n\t\u200c\u200d"
"""Characters that do not print and are kept all the same; the last two join letters and emoji."""
COLUMNS = re.compile(r"(?<=\S) {2,}(?=\S)")


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal behind ``stream``; None if it is none.

    For lines that programs may look for: the COLUMNS that a shell or readline exported says nothing about a pipe.
    """
    return shutil.get_terminal_size().columns if stream.isatty() else None


def screen_width(stream: TextIO) -> int | None:
    """Like `terminal_width`, for whole screens: COLUMNS is heard either way, as for tables."""
    return shutil.get_terminal_size().columns if os.environ.get("COLUMNS") else terminal_width(stream)


def wrap_lines(text: str, width: int | None, hanging: int = 2) -> str:
    """``text`` with long lines broken between words; what follows is indented by ``hanging`` more than its line.

    A word longer than the line, such as a path, stays whole. Names are shown and never obeyed: see `harmless`.

    >>> print(wrap_lines("  fix: use one of several words", 16))
      fix: use one
        of several
        words
    """
    text = harmless(text)
    if width is None:
        return text
    return "\n".join(_wrap(line, width, hanging) for line in text.split("\n"))


def harmless(text: str) -> str:
    """``text`` without characters that a terminal obeys, such as escape sequences and marks that reorder a line.

    >>> harmless("hydro 0 (\x1b[31mred\x07): no bus")
    'hydro 0 (?[31mred?): no bus'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each in KEPT else "?" for each in text)


def reflow(text: str, width: int) -> str:
    """The text of a help page for a screen of ``width`` columns.

    Sentences are filled anew where they do not fit. Rows of two columns keep their columns, and lines that are
    indented like a listing stay lines.
    """
    blocks = [list(lines) for _, lines in groupby(text.split("\n"), key=_indentation)]
    return "\n".join(_fit(lines, width) for lines in blocks)


def _fit(lines: list[str], width: int) -> str:
    """Consecutive lines of one indentation."""
    if max(map(len, lines)) <= width:
        return "\n".join(lines)
    indent = _indentation(lines[0])
    gaps = [gap for line in lines if (gap := COLUMNS.search(line))]
    if gaps:
        second = max(gap.end() for gap in gaps)
        return "\n".join(_fit_row(line, second, width) for line in lines)
    if indent in LISTING:
        return wrap_lines("\n".join(lines), width, CONTINUED)
    return _wrap(" " * indent + " ".join(line.strip() for line in lines), width, 0)


def _fit_row(line: str, second: int, width: int) -> str:
    """A row whose second column begins at ``second``; it gets lines of its own where little room is left for it."""
    indent, gap = _indentation(line), COLUMNS.search(line)
    if len(line) <= width or gap is None or second <= width // 2:
        return _wrap(line, width, second - indent)
    rest = " " * (indent + CONTINUED) + line[gap.end() :]
    return f"{line[: gap.start()]}\n{_wrap(rest, width, 0)}"


def _indentation(line: str) -> int:
    """-1 for a blank line."""
    return len(line) - len(line.lstrip()) if line.strip() else -1


def _wrap(line: str, width: int, hanging: int) -> str:
    if len(line) <= width:
        return line
    indent = " " * max(0, _indentation(line))
    return textwrap.fill(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
