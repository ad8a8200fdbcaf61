"""Cases and results below the roots, found for the list of resources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cobre.mcp.roots import Roots

__all__ = ["Found", "find"]

DEEPEST = 4
MOST_FOLDERS = 5000
MOST_FOUND = 50
SKIPPED = frozenset({"simulation", "checkpoint", "exports", "node_modules", "__pycache__"})


@dataclass(frozen=True)
class Found:
    """A folder with something in it."""

    kind: Literal["case", "output"]
    path: Path


def find(roots: Roots) -> list[Found]:
    """At most `MOST_FOUND` folders, sorted by path; links are not followed."""
    found: list[Found] = []
    for folder in _folders(roots):
        if (folder / "stages.json").is_file() and (folder / "system").is_dir():
            found.append(Found("case", folder))
        elif (folder / "training" / "metadata.json").is_file() or (
            folder / "simulation" / "metadata.json"
        ).is_file():
            found.append(Found("output", folder))
        if len(found) >= MOST_FOUND:
            break
    return sorted(found, key=lambda each: str(each.path))


def _folders(roots: Roots) -> Iterator[Path]:
    """Breadth first, so that what lies near the roots is found first."""
    waiting = [(folder, 0) for folder in roots.folders]
    count = 0
    while waiting and count < MOST_FOLDERS:
        folder, depth = waiting.pop(0)
        count += 1
        yield folder
        if depth < DEEPEST:
            waiting.extend((inner, depth + 1) for inner in _inner(folder))


def _inner(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith(".")
                and entry.name.isprintable()
            )
    except OSError:
        return []
    return [folder / name for name in names if name not in SKIPPED]
