"""The folders that a server may use, and the only way from the text of a caller to a path."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from cobre.errors import CobreError
from cobre.mcp.settings import LONGEST_ARGUMENT, MOST_FILE_MB, MOST_TEXT_MB

__all__ = ["Roots", "not_allowed", "read_regular"]

MOST_ENTRIES = 500_000
"""Files and folders that `Roots.check_tree` looks at."""
LONGEST_PART = 255
"""Bytes of the name of a file."""
TEXTS = (".json", ".csv")
"""Endings of files that take several times their size in memory."""
REMEDY = "give a path below the folders of this server, such as one of resources/list"


def not_allowed(message: str, suggestion: str = REMEDY, **context: object) -> CobreError:
    """The error to raise for what this server must not do."""
    return CobreError(message, kind="NotAllowed", context=context, suggestion=suggestion)


class Roots:
    """Folders that are resolved once, when the server starts.

    A caller names paths relative to the only root or, where there are several, beginning with the label of one; an
    absolute path works as well. Answers name them the same way, so that nothing tells where the roots are.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        found: list[Path] = []
        for folder in folders:
            resolved = Path(os.path.realpath(folder))
            if not resolved.is_dir():
                raise CobreError(f"{folder} is not a folder", suggestion="name existing folders")
            if resolved == Path("/"):
                raise CobreError(
                    "/ is not a folder to give to agents", suggestion="name the folder of your cases"
                )
            if resolved not in found:
                found.append(resolved)
        if not found:
            raise CobreError("there is no folder to work in", suggestion="name one with --allowed-dirs")
        self.folders = tuple(found)
        self._labels = _labels(found)

    def path(self, text: str) -> Path:
        """The resolved path that ``text`` means, which may not exist yet."""
        _check_text(text)
        given = Path(text)
        if not given.is_absolute():
            given = self._joined(given)
        resolved = _resolved(given)
        if resolved is None or not any(resolved.is_relative_to(folder) for folder in self.folders):
            raise not_allowed(f"{_quoted(text)} is not below a folder of this server", path=_quoted(text))
        if not self.shown(resolved).isprintable():
            raise not_allowed("the path leads to a name with control characters", path=_quoted(text))
        return resolved

    def folder(self, text: str) -> Path:
        """An existing folder, with nothing in it that leads outside."""
        found = self.path(text)
        if not found.is_dir():
            what = "is not a folder" if found.exists() else "does not exist"
            raise CobreError(
                f"{_quoted(text)} {what}",
                kind="MissingFile",
                context={"path": _quoted(text)},
                suggestion="give the path of a folder; resources/list shows cases and results",
            )
        self.check_tree(found)
        return found

    def new_path(self, text: str) -> Path:
        """A path to write to, whose folder exists or can be made below a root."""
        found = self.path(text)
        if found in self.folders:
            raise not_allowed(f"{_quoted(text)} is a root itself", "name something below it")
        for parent in (found, *found.parents):
            if parent.is_dir():
                break
            if os.path.lexists(parent) and parent != found:
                raise not_allowed(f"{_quoted(text)} lies below a file", "name a folder")
        return found

    def check_inside(self, path: Path, what: str) -> None:
        """Raise unless ``path``, which a case names, is below a root; ``what`` is the field that names it."""
        resolved = _resolved(path)
        if resolved is None or not any(resolved.is_relative_to(folder) for folder in self.folders):
            raise not_allowed(
                f"{what} points outside the folders of this server",
                "name a folder below that of the case",
                field=what,
            )

    def check_readable(self, path: Path, what: str) -> None:
        """Raise unless ``path``, which may be missing, and all below it may be read; ``what`` is the field with it."""
        self.check_inside(path, what)
        resolved = Path(os.path.realpath(path))
        if resolved.is_dir():
            self.check_tree(resolved)
        elif resolved.exists():
            self._checked(resolved)

    def check_tree(self, folder: Path, *, may_have_links: bool = True) -> None:
        """Raise if a link below ``folder`` leads outside the roots, or something is neither file nor folder.

        Results are not written into a folder that has links: they would be written through them.
        """
        waiting, seen, count = [folder], {folder}, 0
        while waiting:
            for entry in _entries(waiting.pop()):
                count += 1
                if count > MOST_ENTRIES:
                    raise CobreError(
                        f"the folder has more than {MOST_ENTRIES} files",
                        kind="LimitExceeded",
                        suggestion="name a smaller folder",
                    )
                if entry.is_symlink() and not may_have_links:
                    raise not_allowed(
                        f"{self.shown(Path(entry.path))} is a link, and results are not written through links",
                        "remove the link, or name another folder",
                    )
                inner = self._checked_entry(entry)
                if inner is not None and inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)

    def _checked_entry(self, entry: os.DirEntry[str]) -> Path | None:
        """The folder to look into, if the entry is one."""
        if entry.is_dir(follow_symlinks=False):
            return Path(entry.path)
        if entry.is_file(follow_symlinks=False):
            self._check_size(entry.name, entry.path, entry.stat(follow_symlinks=False).st_size)
            return None
        return self._checked(Path(entry.path))

    def _checked(self, path: Path) -> Path | None:
        """The folder to look into, if ``path``, which is not plain folder or file, is a link to one."""
        if not path.is_symlink() and not path.is_file():
            raise not_allowed(
                f"{self.shown(path)} is neither a file nor a folder", "remove it from the folder"
            )
        target = _resolved(path)
        if target is None or not any(target.is_relative_to(folder) for folder in self.folders):
            raise not_allowed(
                f"the link {self.shown(path)} leads outside the folders of this server",
                "put a copy of the file in its place",
            )
        if target.exists() and not (target.is_dir() or target.is_file()):
            raise not_allowed(f"{self.shown(path)} leads to neither a file nor a folder")
        if target.is_file():
            self._check_size(target.name, str(path), target.stat().st_size)
        return target if target.is_dir() else None

    def _check_size(self, name: str, path: str, size: int) -> None:
        most = MOST_TEXT_MB if name.endswith(TEXTS) else MOST_FILE_MB
        if size > most * 1_000_000:
            raise CobreError(
                f"{self.shown(Path(path))} has {size // 1_000_000} MB, more than the {most} MB that this server reads",
                kind="LimitExceeded",
                context={"max_file_mb": most},
                suggestion="look at it with the commands of Cobre",
            )

    def shown(self, path: Path) -> str:
        """The name of a path in answers."""
        for folder in sorted(self.folders, key=lambda each: -len(each.parts)):
            if path.is_relative_to(folder):
                inner = path.relative_to(folder)
                return str(Path(self._labels[folder]) / inner)
        return path.name

    def hide(self, text: str) -> str:
        """``text`` with the paths of the roots in the way that answers name them."""
        for folder in sorted(self.folders, key=lambda each: -len(str(each))):
            label = self._labels[folder]
            text = text.replace(f"{folder}/", f"{label}/" if label else "").replace(str(folder), label or ".")
        return text

    def _joined(self, given: Path) -> Path:
        if len(self.folders) == 1:
            return self.folders[0] / given
        by_label = {label: folder for folder, label in self._labels.items()}
        first = given.parts[0] if given.parts else ""
        if first not in by_label:
            labels = ", ".join(sorted(by_label))
            raise not_allowed(
                f"{_quoted(str(given))} does not begin with one of {labels}",
                f"begin the path with one of {labels}",
            )
        return by_label[first].joinpath(*given.parts[1:])


def _resolved(path: Path) -> Path | None:
    """The path without links; None for one that no file can have, or with a link that may not be read."""
    try:
        found = Path(os.path.realpath(path))
        is_too_long = len(os.fsencode(found)) >= LONGEST_ARGUMENT or _has_long_part(found)
    except (OSError, ValueError):
        return None
    return None if is_too_long else found


def _has_long_part(path: Path) -> bool:
    return any(len(os.fsencode(part)) > LONGEST_PART for part in path.parts)


def _labels(folders: Sequence[Path]) -> dict[Path, str]:
    """Empty for the only root; otherwise the name of the folder, numbered where two have the same."""
    if len(folders) == 1:
        return {folders[0]: ""}
    found: dict[Path, str] = {}
    for folder in folders:
        label, number = folder.name, 2
        while label in found.values():
            label, number = f"{folder.name}-{number}", number + 1
        found[folder] = label
    return found


def _check_text(text: str) -> None:
    if not text or len(text) > LONGEST_ARGUMENT:
        raise not_allowed(f"a path has 1 to {LONGEST_ARGUMENT} characters, this one has {len(text)}")
    if not text.isprintable():
        raise not_allowed("a path has no control characters, and this one does")
    if _has_long_part(Path(text)):
        raise not_allowed(f"a part of the path is longer than {LONGEST_PART} bytes")


def _quoted(text: str) -> str:
    """A path of the caller in a message, short."""
    return repr(text if len(text) <= 120 else f"{text[:119]}…")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise CobreError(
            f"a folder cannot be read: {error.strerror}",
            kind="MissingFile",
            suggestion="let the user of the server read it",
        ) from error


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The bytes of a regular file that is no link; an error if it has more than ``most_bytes``."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise not_allowed(f"{path.name} is not a file")
        if found.st_size > most_bytes:
            raise CobreError(
                f"{path.name} has {found.st_size} bytes, more than the {most_bytes} of an answer",
                kind="LimitExceeded",
                suggestion="ask for a part of it with a tool",
            )
        return os.read(descriptor, most_bytes + 1)
    finally:
        os.close(descriptor)
