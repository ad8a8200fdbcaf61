"""The cases that a benchmark measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cobre.io.examples import write_example


def named_cases(paths: Sequence[str], folder: str) -> list[str]:
    """Those that the command line names; without any the example, written into ``folder``."""
    if paths:
        return list(paths)
    write_example(Path(folder) / "example")
    return [str(Path(folder) / "example")]
