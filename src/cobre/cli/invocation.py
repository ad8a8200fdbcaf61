"""How to type a command so that it works here."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

__all__ = ["typed"]


def typed(arguments: str) -> str:
    """``cobre ARGUMENTS`` as this reader can type it: with the path of the program where it is not on PATH."""
    program = Path(sys.argv[0])
    if program.name != "cobre":  # python -m cobre, or a program that calls `main`
        return f"python -m cobre {arguments}"
    found = shutil.which("cobre")
    is_found = found is not None and Path(found).resolve() == program.resolve()
    return f"{'cobre' if is_found else program} {arguments}"
