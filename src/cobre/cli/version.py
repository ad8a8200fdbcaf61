"""``cobre version``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import cobre
from cobre.cli.parser import Parser

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Print the version."""
    Parser("cobre version", "Show the version of Cobre.").parse_args(arguments)
    sys.stdout.write(f"cobre {cobre.__version__}\n")
    return 0
