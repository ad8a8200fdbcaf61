"""Backends of other packages: found by their entry points, and passed over with one line if they are broken."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cobre._process import needs_whole_end
from cobre.comm.backend import Backend, LaunchVariables

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINT_GROUP", "Tell", "Trouble", "find_plugins", "load_plugin", "one_line", "warn"]

ENTRY_POINT_GROUP = "cobre.comm.backends"
ENTRY_POINTS = "entry_points.txt"

_log = logging.getLogger("cobre.comm")
_warned: set[str] = set()


class Trouble(NamedTuple):
    """What is wrong with an installed backend, in one line with its cause, and what to do about it."""

    name: str
    text: str
    remedy: str


Tell = Callable[[Trouble], None]


def warn(trouble: Trouble) -> None:
    """Into the log: one line, once per process. The traceback of what is being handled is for those who debug."""
    if trouble.text not in _warned:
        _warned.add(trouble.text)
        _log.warning("%s", trouble.text)
    _log.debug("%s", trouble.text, exc_info=True)


def one_line(error: BaseException) -> str:
    """An exception's type and message in one line.

    >>> one_line(ImportError("no ring\\n today"))
    'ImportError: no ring today'
    """
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def find_plugins(reserved: Collection[str], tell: Tell) -> dict[str, EntryPoint]:
    """Entry points by the name of their backend; ``reserved`` names are not for others to take."""
    found: dict[str, EntryPoint] = {}
    if not _may_have_plugins():
        return found
    from importlib.metadata import entry_points  # slow, and slower with every installed package

    try:
        points = entry_points(group=ENTRY_POINT_GROUP)
    except Exception as error:  # one damaged package makes Python's own search fail
        text = f"installed packages cannot be searched for backends: {one_line(error)}"
        tell(Trouble("packages", text, "reinstall the damaged package: python -m pip check may name it"))
        return found
    for point in points:
        name = point.name.lower()
        if name in reserved:
            text = f"{point.value} may not take the built-in name {name!r} and is passed over"
            tell(Trouble(name, text, f"uninstall the package that provides {point.value}"))
        elif found.setdefault(name, point).value != point.value:
            first = found[name].value
            text = f"{first} and {point.value} are both named {name!r}; the first is used"
            tell(Trouble(name, text, "uninstall one of the two packages"))
    return found


def _may_have_plugins() -> bool:
    """Whether Python's search may find a backend: false if no installed package mentions the group.

    True wherever packages are kept in another way than as folders of metadata beside the modules.
    """
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return len(finders) != 1 or any(map(_mentions_backends, sys.path))


def _mentions_backends(place: str) -> bool:
    if place.endswith(".egg"):
        return True
    try:
        with os.scandir(place or os.curdir) as entries:
            return any(
                entry.name.endswith(".egg")
                or (
                    entry.name.endswith((".dist-info", ".egg-info"))
                    and _is_mentioned(Path(entry.path, ENTRY_POINTS))
                )
                for entry in entries
            )
    except FileNotFoundError:  # many a place in sys.path is not there
        return False
    except OSError:  # an archive, or one that may not be read
        return True


def _is_mentioned(path: Path) -> bool:
    try:
        return ENTRY_POINT_GROUP.encode() in path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):  # most have none, and older metadata are a file
        return False


def load_plugin(point: EntryPoint) -> Backend:
    """The record of an entry point, checked. Raises whatever importing it raises."""
    needs_whole_end()
    record = point.load()
    if not isinstance(record, Backend):
        raise TypeError(f"{point.value} is a {type(record).__name__}, not a cobre.comm.backend.Backend")
    if record.name != point.name.lower():
        raise ValueError(f"{point.value} calls itself {record.name!r} but is registered as {point.name!r}")
    if record.config_type is not None and not isinstance(record.config_type, type):
        raise TypeError(f"config_type of {point.value} is {record.config_type!r}, not a class")
    if not all(isinstance(names, LaunchVariables) for names in record.launch_variables):
        raise TypeError(f"launch_variables of {point.value} are not all LaunchVariables")
    return record
