"""Text from cases and files on its way to a language model: always data, never long, never with control characters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from cobre.draw.text import visible
from cobre.errors import CobreError
from cobre.mcp.roots import Roots

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "clean", "error_text", "name"]

LONGEST_NAME = 200
LONGEST_TEXT = 2000
MOST_ERRORS = 20
DEEPEST = 50
"""Objects in objects; what is deeper is left out."""


def name(text: object) -> str:
    """A name of a case, a plant or a file."""
    return visible(str(text), LONGEST_NAME)


def clean(value: Any, roots: Roots, longest: int = LONGEST_NAME, depth: int = 0) -> Any:
    """``value`` as JSON holds it: every text short, printable and without the paths of the roots, no NaN."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        lines = roots.hide(value[: 4 * longest]).split("\n")
        return "\n".join(visible(line, longest) for line in lines)[:longest]
    if depth > DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {name(key): clean(each, roots, longest, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each, roots, longest, depth + 1) for each in value]
    return clean(value.item() if hasattr(value, "item") else str(value), roots, longest, depth + 1)


def error_text(error: CobreError, roots: Roots) -> str:
    """What happened and what to do, for a model to read; the last line is ``to_dict()`` as JSON, for programs."""
    document = clean(error.to_dict(), roots, LONGEST_TEXT)
    problems = document.get("errors")
    if isinstance(problems, list) and len(problems) > MOST_ERRORS:
        document["errors"] = problems[:MOST_ERRORS]
        document["errors_left_out"] = len(problems) - MOST_ERRORS
    fix = f"\n  fix: {document['suggestion']}" if document["suggestion"] else ""
    return f"{document['message']}{fix}\n{json.dumps(document, allow_nan=False)}"
