"""Errors that nobody foresaw: most often a file that no program of ours wrote."""

from __future__ import annotations

import sys
import traceback

from cobre.draw.text import visible
from cobre.errors import CobreError, ValidationError

__all__ = ["unexpected"]

LONGEST_LINE = 500


def unexpected(error: Exception, what: str) -> CobreError:
    """The error to answer for ``error``; its text may hold anything, so that only standard error gets it."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    log = "\n".join(
        visible(line, LONGEST_LINE) for line in (f"cobre mcp: {what} failed unexpectedly", *lines)
    )
    sys.stderr.write(f"{log}\n")
    sys.stderr.flush()
    return ValidationError(
        f"{what} could not use what it found: {type(error).__name__}",
        kind="ParseError",
        context={"error": type(error).__name__},
        suggestion="a file is not as Cobre writes it, or this is a fault of the program: cobre_validate checks a case; "
        "results are written anew by another run; the log of the server has the details",
    )
