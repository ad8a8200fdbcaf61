"""``cobre version``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import cobre
from cobre.cli.parser import Parser

__all__ = ["main"]


def build_parser() -> Parser:
    """Describe the options of ``cobre version``: it has none."""
    return Parser("cobre version", "Show the version of Cobre.")


def main(arguments: Sequence[str]) -> int:
    """Print the version."""
    build_parser().parse_args(arguments)
    sys.stdout.write(f"cobre {cobre.__version__}\n")
    return 0
