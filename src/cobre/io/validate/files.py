"""Layer 1: are the files there, and is nothing there that will not be read?"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from cobre.io.problems import Problems
from cobre.io.read.case_reader import is_there
from cobre.io.read.catalogue import PATHS, REQUIRED
from cobre.io.spelling import nearest

FOLDERS = ("system", "scenarios", "constraints")
NOTES = ("readme", "license", "changelog", "notes")
NOTE_SUFFIXES = (".md", ".rst")
TEXT_SUFFIXES = ("", ".txt", ".pdf", ".html")
"""Notes for people in the folder of a case: no warning. A spreadsheet is data whatever its name."""


def check_files(folder: Path, problems: Problems) -> None:
    """Report required files that are missing, and files and folders that the format does not know."""
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
                _renaming(near, path) if near else f"add {path}; cobre init writes an example of it",
                field=path,
                value=path,
            )
    for path in unknown_files(folder):
        remedy = _remedy(folder, path, _meant(path))
        problems.warn(
            "SchemaViolation", path, "is no file of a case; it is not read", remedy, field=path, value=path
        )
    for path in unknown_folders(folder):
        remedy = _remedy(folder, path, nearest(path, FOLDERS) or "")
        message = "is no folder of a case; nothing in it is read"
        problems.warn("SchemaViolation", path, message, remedy, field=path, value=path)


def _remedy(folder: Path, path: str, meant: str) -> str:
    """What to do with the unknown ``path``, which is perhaps ``meant`` to be another."""
    if not meant:
        return "keep it outside the case"
    if (folder / meant).exists():
        return f"keep it outside the case, or move its data into {meant}, which is read"
    return f"{_renaming(path, meant)} if that is meant"


def unknown_files(folder: Path) -> list[str]:
    """Files in the case's folders that no reader knows, apart from hidden ones, marks of a run and notes."""
    return [
        path.relative_to(folder).as_posix()
        for inside in (folder, *(folder / name for name in FOLDERS))
        for path in _entries(inside)
        if path.is_file() and path.relative_to(folder).as_posix() not in PATHS and not _is_note(path)
    ]


def unknown_folders(folder: Path) -> list[str]:
    """Folders inside those of the case, and beside them those that are named almost alike.

    Others beside them, such as results, are the planner's own affair.
    """
    inner = [path for name in FOLDERS for path in _entries(folder / name)]
    beside = [
        path
        for path in _entries(folder)
        if path.name not in FOLDERS and nearest(path.name, FOLDERS) is not None
    ]
    found = [path.relative_to(folder).as_posix() for path in (*beside, *inner) if path.is_dir()]
    return [path for path in found if path not in PATHS]


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if not each.name.startswith((".", "_")))


def _is_note(path: Path) -> bool:
    suffix = path.suffix.lower()
    return suffix in NOTE_SUFFIXES or (path.stem.lower() in NOTES and suffix in TEXT_SUFFIXES)


def _meant(path: str) -> str:
    """The file of the same folder with almost the same name, if there is one."""
    unknown = PurePosixPath(path)
    known = {PurePosixPath(each).stem: each for each in PATHS if PurePosixPath(each).parent == unknown.parent}
    near = nearest(unknown.name.split(".", 1)[0], known)
    return known[near] if near else ""


def _misspelt(folder: Path, path: str) -> str:
    """A file in the folder of ``path`` that may be it under another name."""
    wanted, known = Path(path), {Path(each).name for each in PATHS}
    unknown = {each.stem: each.name for each in _entries(folder / wanted.parent) if each.name not in known}
    near = nearest(wanted.stem, unknown)
    return (wanted.parent / unknown[near]).as_posix() if near else ""


def _renaming(path: str, meant: str) -> str:
    """How ``path`` becomes ``meant``: a spreadsheet does not become JSON by its name."""
    is_same_kind = PurePosixPath(path).suffix.lower() == PurePosixPath(meant).suffix
    return f"rename {path} to {meant}" if is_same_kind else f"write the data of {path} to {meant}"
