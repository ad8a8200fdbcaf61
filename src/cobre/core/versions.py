"""Versions of installed packages: a run writes them into several files."""

from __future__ import annotations

from functools import cache

__all__ = ["version"]


@cache
def version(package: str) -> str:
    """Of an installed package; looked up once, because each search reads and parses a file."""
    from importlib.metadata import version as installed  # slow to import

    return installed(package)
