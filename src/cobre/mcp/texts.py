"""Text from cases and files on its way to a language model: always data, never long, never with control characters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from cobre.draw.text import visible
from cobre.errors import CobreError
from cobre.mcp.roots import Roots

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "clean", "error_text", "fitting", "name", "printable"]

LONGEST_NAME = 200
LONGEST_TEXT = 2000
MOST_ERRORS, LONGEST_ERRORS = 20, 20_000
DEEPEST = 50
"""Objects in objects; what is deeper is left out."""


def name(text: object) -> str:
    """A name of a case, a plant or a file."""
    return visible(str(text), LONGEST_NAME)


def clean(value: Any, roots: Roots, longest: int = LONGEST_NAME, depth: int = 0) -> Any:
    """``value`` as JSON holds it: every text short, printable and without the paths of the roots, no NaN.

    Texts longer than a name may have several lines.
    """
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        shown = roots.hide(value[: 4 * longest])
        return visible(shown, longest) if longest <= LONGEST_NAME else _lines(shown, longest)
    if depth > DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {name(key): clean(each, roots, longest, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each, roots, longest, depth + 1) for each in value]
    return clean(value.item() if hasattr(value, "item") else str(value), roots, longest, depth + 1)


def fitting(rows: list[Any], max_bytes: int) -> list[Any]:
    """As many of the first rows as fit into an answer."""
    size = 0
    for count, row in enumerate(rows):
        size += len(json.dumps(row)) + 1
        if size > max_bytes:
            return rows[:count]
    return rows


def printable(value: Any) -> Any:
    """A whole answer on its way out: no text has control characters or is very long, wherever it came from."""
    if isinstance(value, str):
        is_plain = len(value) <= LONGEST_TEXT and value.isprintable()
        return value if is_plain else _lines(value, LONGEST_TEXT)
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [printable(each) for each in value]
    return value


def _lines(text: str, longest: int) -> str:
    return "\n".join(visible(line, longest) for line in text[: longest + 1].split("\n"))[:longest]


def error_text(error: CobreError, roots: Roots) -> str:
    """What happened and what to do, for a model to read; the last line is ``to_dict()`` as JSON, for programs."""
    document = clean(error.to_dict(), roots, LONGEST_TEXT)
    problems = document.get("errors")
    if isinstance(problems, list) and len(problems) > MOST_ERRORS:
        document["errors"] = problems[:MOST_ERRORS]
        document["errors_left_out"] = len(problems) - MOST_ERRORS
    if isinstance(document.get("errors"), list):
        kept = fitting(document["errors"], LONGEST_ERRORS)
        document["errors_left_out"] = document.get("errors_left_out", 0) + len(document["errors"]) - len(kept)
        document["errors"] = kept
    fix = f"\n  fix: {document['suggestion']}" if document["suggestion"] else ""
    return f"{document['message']}{fix}\n{json.dumps(document, allow_nan=False)}"
