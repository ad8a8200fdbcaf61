"""Layer 1: are the files there, and is nothing there that will not be read?"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from cobre.io.problems import Problems
from cobre.io.read import is_there
from cobre.io.read.catalogue import PATHS, REQUIRED

FOLDERS = ("", "system", "scenarios", "constraints")
DATA_SUFFIXES = (".json", ".parquet", ".csv")


def check_files(folder: Path, problems: Problems) -> None:
    """Report required files that are missing and data files that the format does not know."""
    for path in PATHS:
        if is_there(folder / path):
            continue
        if (folder / path).exists():
            problems.error(
                "MissingFile",
                path,
                "is not a file but a folder or a device",
                f"put the data into a file named {path}",
                field=path,
                value=path,
            )
        elif path in REQUIRED:
            near = _misspelt(folder, path)
            problems.error(
                "MissingFile",
                path,
                f"is missing from {folder}" + (f", which has {near}" if near else ""),
                f"rename {near} to {path}" if near else f"add {path}; cobre init writes an example of it",
                field=path,
                value=path,
            )
    for path in unknown_files(folder):
        near_known = get_close_matches(path, PATHS, 1, 0.8)
        problems.warn(
            "SchemaViolation",
            path,
            "is no file of a case; it is not read",
            f"rename it to {near_known[0]} if that is meant" if near_known else "remove it from the case",
            field=path,
            value=path,
        )


def unknown_files(folder: Path) -> list[str]:
    """Data files in the case's folders that no reader knows."""
    found = []
    for name in FOLDERS:
        inside = folder / name
        if not inside.is_dir():
            continue
        for path in sorted(inside.iterdir()):
            relative = path.relative_to(folder).as_posix()
            if path.is_file() and path.suffix.lower() in DATA_SUFFIXES and relative not in PATHS:
                found.append(relative)
    return found


def _misspelt(folder: Path, path: str) -> str:
    inside = (folder / path).parent
    names = [each.name for each in inside.iterdir()] if inside.is_dir() else []
    near = get_close_matches(Path(path).name, names, 1, 0.8)
    return (Path(path).parent / near[0]).as_posix() if near else ""
