"""Which backend, and why: the ordered table, detection, and `create_communicator`.

Backends are named by module, not imported: a plain run never loads what it does not use.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from cobre.comm.backend import Backend, Detection, Unavailable, refuse
from cobre.comm.protocol import GroupMember
from cobre.errors import (
    BackendError,
    BackendNotAvailable,
    InitializationFailed,
    InvalidBackend,
    MissingConfiguration,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "BACKENDS",
    "ENTRY_POINT_GROUP",
    "BackendKind",
    "all_backends",
    "available_backends",
    "create_communicator",
    "get_backend",
]

VARIABLE = "COBRE_COMM_BACKEND"
DEFAULT_FOR_MANY = "shm"
"""What several ranks of one machine use unless somebody says otherwise."""

REPORT_VARIABLE = "COBRE_LAUNCH_REPORT"
"""Set by our launcher: it wants to know which exception ends a rank."""
ENTRY_POINT_GROUP = "cobre.comm.backends"

BACKENDS: Mapping[str, str] = {
    "mpi": "cobre.comm.backends.mpi",
    "tcp": "cobre.comm.backends.tcp",
    "shm": "cobre.comm.backends.shm",
    "local": "cobre.comm.backends.local",
}
"""Name to module, in order of priority; third parties come before ``local``, which always fits."""

_BROKEN: Unavailable | None = Unavailable(
    "its record cannot be asked", "repair or uninstall the package that provides it"
)
_log = logging.getLogger("cobre.comm")
_T = TypeVar("_T")


class BackendKind(StrEnum):
    """The built-in backends, and AUTO: let the environment decide."""

    AUTO = "auto"
    MPI = "mpi"
    TCP = "tcp"
    SHM = "shm"
    LOCAL = "local"


def create_communicator(backend: str | None = None, config: Any = None) -> GroupMember:
    """The communicator that the arguments ask for, or else the environment.

    Without arguments ``COBRE_COMM_BACKEND`` and the backend's own variables decide. A ``config`` alone
    selects its backend. With arguments no variable is read, except that ``"auto"`` looks around by nature.
    """
    if backend is None and config is None:
        return _from_environment(_normal(os.environ.get(VARIABLE, "")) or BackendKind.AUTO)
    name = BackendKind.AUTO if backend is None else _normal(backend)
    if name == BackendKind.AUTO:
        return _from_environment(name) if config is None else _open(_owner_of(config), config)
    chosen = get_backend(name)
    _require_matching(chosen, config)
    return _open(chosen, config)


def available_backends() -> list[str]:
    """Names of the backends that can run here, best first."""
    return [record.name for record in all_backends() if _refusal(record) is None]


def get_backend(name: str) -> Backend:
    """The record of the backend called ``name``, available or not."""
    wanted = _normal(name)
    if wanted in BACKENDS:
        return _builtin(wanted)
    points = _third_parties()
    if wanted not in points:
        # Here one has to be named: auto is for those who look into the environment first.
        suggestion = f"choose {', '.join(_names())}" if wanted == BackendKind.AUTO else ""
        raise InvalidBackend(str(name), _names(), suggestion=suggestion)
    try:
        return _load(points[wanted])
    except (Exception, SystemExit) as error:  # a stranger's import may raise anything; say whose it was
        raise BackendNotAvailable(
            wanted,
            available_backends(),
            f"the {wanted} backend ({points[wanted].value}) cannot be loaded: {error}",
            suggestion=f"repair or uninstall the package that provides {wanted!r}",
        ) from error


def _normal(name: str) -> str:
    return str(name).strip().lower()


def _names() -> list[str]:
    names = [name for name in BACKENDS if name != BackendKind.LOCAL]
    return [*names, *_third_parties(), BackendKind.LOCAL.value]


def all_backends() -> Iterator[Backend]:
    """Every record that loads, available or not, in order of priority."""
    for name in _names():
        if name in BACKENDS:
            yield _builtin(name)
            continue
        try:
            yield _load(_third_parties()[name])
        except (Exception, SystemExit):  # a broken package must not break a run that does not ask for it
            _log.warning("the backend %r cannot be loaded and is passed over", name, exc_info=True)


def _builtin(name: str) -> Backend:
    record: Backend = import_module(BACKENDS[name]).BACKEND
    return record


def _third_parties() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and not needed for a built-in by name

    found: dict[str, EntryPoint] = {}
    try:
        points = entry_points(group=ENTRY_POINT_GROUP)
    except Exception:  # one damaged package, of anybody, makes Python's own search fail
        _log.warning("installed packages cannot be searched for backends", exc_info=True)
        return found
    for point in points:
        name = point.name.lower()
        if name in BACKENDS or name == BackendKind.AUTO:
            _log.warning("%s may not take the built-in name %r and is passed over", point.value, name)
        elif found.setdefault(name, point).value != point.value:
            _log.warning(
                "%s and %s are both named %r; the first is used", found[name].value, point.value, name
            )
    return found


def _load(point: EntryPoint) -> Backend:
    record = point.load()
    if not isinstance(record, Backend):
        raise TypeError(f"{point.value} is a {type(record).__name__}, not a cobre.comm.backend.Backend")
    if record.name != point.name.lower():
        raise ValueError(f"{point.value} calls itself {record.name!r} but is registered as {point.name!r}")
    if record.config_type is not None and not isinstance(record.config_type, type):
        raise TypeError(f"config_type of {point.value} is {record.config_type!r}, not a class")
    return record


def _asked(record: Backend, question: Callable[[], _T], otherwise: _T) -> _T:
    """A record's answer; a stranger's that raises is passed over, one of ours is a bug to see."""
    try:
        return question()
    except (Exception, SystemExit):
        if record.name in BACKENDS:
            raise
        _log.warning("the backend %r cannot be asked and is passed over", record.name, exc_info=True)
        return otherwise


def _refusal(record: Backend) -> Unavailable | None:
    """Why a backend cannot run here, or ``None``."""

    def ask() -> Unavailable | None:
        refusal = record.unavailable()
        if refusal is not None and not isinstance(refusal, Unavailable):
            raise TypeError(
                f"unavailable() of {record.name!r} returned a {type(refusal).__name__}, not an Unavailable"
            )
        return refusal

    return _asked(record, ask, _BROKEN)


def _detection(record: Backend, environ: Mapping[str, str]) -> Detection:
    detection = record.detect(environ)
    if not isinstance(detection, Detection):
        raise TypeError(f"detect() of {record.name!r} returned a {type(detection).__name__}, not a Detection")
    return detection


def _detect(environ: Mapping[str, str]) -> Backend:
    """The first backend that the environment means."""
    for record in all_backends():
        detection = _asked(record, partial(_detection, record, environ), Detection(fits=False))
        if detection.missing:
            raise MissingConfiguration(
                record.name,
                detection.missing,
                f"the environment half describes the {record.name} backend: {', '.join(detection.missing)} not set",
                suggestion=f"set {', '.join(detection.missing)}, or unset every COBRE_{record.name.upper()}_* "
                "variable to run on one rank",
            )
        if detection.fits:
            return record
    raise AssertionError("local always fits")


def _from_environment(name: str) -> GroupMember:
    chosen = _detect(os.environ) if name == BackendKind.AUTO else get_backend(name)
    _require_available(chosen)
    return _open(chosen, _started(chosen, lambda: chosen.configure(os.environ)))


def _owner_of(config: Any) -> Backend:
    for record in all_backends():
        if record.config_type is not None and isinstance(config, record.config_type):
            return record
    raise TypeError(
        f"config is a {type(config).__name__}, which belongs to no backend\n"
        "  fix: pass TcpConfig(...), ShmConfig(...), or the configuration class of your backend"
    )


def _require_matching(record: Backend, config: Any) -> None:
    _require_available(record)
    wanted = record.config_type
    if config is None and wanted is not None:
        raise MissingConfiguration(
            record.name,
            ["config"],
            f"create_communicator({record.name!r}) was given no configuration, and explicit arguments read no "
            "environment",
            suggestion=f"pass config={wanted.__name__}(...), or set {VARIABLE}={record.name} with its variables "
            "and call create_communicator() without arguments",
        )
    if config is not None and (wanted is None or not isinstance(config, wanted)):
        needed = wanted.__name__ if wanted is not None else "no configuration"
        text = f"the {record.name} backend takes {needed}, not {type(config).__name__}"
        raise InitializationFailed(
            record.name,
            TypeError(text),
            text,
            suggestion="pass the configuration that belongs to the backend",
        )


def _require_available(record: Backend) -> None:
    refusal = _refusal(record)
    if refusal is not None:
        refuse(record.name, refusal)


def _open(record: Backend, config: Any) -> GroupMember:
    _require_available(record)
    if REPORT_VARIABLE in os.environ:
        from cobre.comm.report import report_failures

        report_failures()
    communicator = _started(record, lambda: record.open(config))
    if not isinstance(communicator, GroupMember):
        text = f"the {record.name} backend opened a {type(communicator).__name__}, which is no communicator"
        raise InitializationFailed(record.name, TypeError(text), text, suggestion="report this to its author")
    return communicator


def _started(record: Backend, start: Callable[[], _T]) -> _T:
    """What a chosen backend makes of its start; whatever it raises becomes a `BackendError`."""
    try:
        return start()
    except BackendError:
        raise
    except Exception as error:
        raise InitializationFailed(
            record.name,
            error,
            suggestion="see the cause above; every rank must be started with the same settings",
        ) from error
