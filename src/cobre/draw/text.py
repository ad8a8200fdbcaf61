"""Names from data as text: whatever they contain, they are shown and never obeyed."""

from __future__ import annotations

import html
import unicodedata

KEPT_FORMATS = "\u200c\u200d"
"""Joiners inside words and emoji."""
LONGEST = 200


def visible(text: str, limit: int = LONGEST) -> str:
    """``text`` in at most ``limit`` characters, without characters that hide, break or reorder what stands beside it.

    >>> visible("a\\x00b\\u202ec"), visible("abcdef", 4)
    ('a�b�c', 'abc…')
    """
    beginning = text[: limit + 1]
    if beginning.isprintable():
        return cut(beginning, limit)
    return cut("".join(each if _is_shown(each) else "\ufffd" for each in beginning), limit)


def cut(text: str, limit: int) -> str:
    """The first characters of ``text``, with an ellipsis if there are more."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def fitted(text: str, width: float) -> str:
    """``text`` made visible and cut so that it needs about ``width`` times the width of a small letter at most.

    >>> fitted("LOWER_RESERVOIR_2", 12.0), fitted("reservoir", 12.0), fitted("上游水库上游水库", 12.0)
    ('LOWER_RE…', 'reservoir', '上游水库上…')
    """
    shown = visible(text)
    widths = [_width(each) for each in shown]
    if sum(widths) <= width:
        return shown
    used, n = _width("…"), 0
    while used + widths[n] <= width:
        used, n = used + widths[n], n + 1
    return f"{shown[:n]}…"


def _width(character: str) -> float:
    """About how wide a character is in a font without serifs: a small letter is 1."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.8
    if character in "mwMW@%…—\ufffd":
        return 1.6
    return 1.2 if character.isupper() or not character.isascii() else 1.0


def escape(text: str) -> str:
    """For the text of an element and for an attribute in quotes.

    >>> escape("<b a='1'>")
    '&lt;b a=&#x27;1&#x27;&gt;'
    """
    return html.escape(text)


def name(text: str, limit: int = LONGEST) -> str:
    """A name from data as HTML: its direction of writing does not spread to what follows."""
    return f"<bdi>{escape(visible(text, limit))}</bdi>"


def _is_shown(character: str) -> bool:
    category = unicodedata.category(character)
    return category not in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in KEPT_FORMATS
