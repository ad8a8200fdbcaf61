"""Internal sizes that a test may shrink: ``COBRE_COMM_LIMITS=chunk_bytes=4096,frame_bytes=512``.

Results never depend on them. They exist so that a test with a few kilobytes crosses the boundary
that a user would reach with gigabytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from cobre.errors import InitializationFailed

__all__ = ["VARIABLE", "read_limits"]

VARIABLE = "COBRE_COMM_LIMITS"
MOST_DIGITS = 18  # what surely fits the core's 64 bits


def read_limits(backend: str, defaults: Mapping[str, int], environ: Mapping[str, str]) -> dict[str, int]:
    """``defaults`` with what ``COBRE_COMM_LIMITS`` changes; names that other backends own are passed over."""
    limits, problems = dict(defaults), []
    for item in filter(None, environ.get(VARIABLE, "").split(",")):
        name, _, text = (part.strip() for part in item.partition("="))
        if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS or int(text) < 1:
            problems.append(
                f"{item.strip()!r} is not name=number of at least 1 and {MOST_DIGITS} digits at most"
            )
        elif name in limits:
            limits[name] = int(text)
    if problems:
        text = f"{VARIABLE} is malformed: {'; '.join(problems)}"
        raise InitializationFailed(backend, ValueError(text), text, suggestion=f"correct or unset {VARIABLE}")
    return limits
