"""Which backend, and why: the ordered table, detection, and `create_communicator`.

Backends are named by module, not imported: a plain run never loads what it does not use.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cobre.comm.backend import Backend, refuse
from cobre.errors import (
    BackendError,
    BackendNotAvailable,
    CobreError,
    InitializationFailed,
    InvalidBackend,
    MissingConfiguration,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from cobre.comm.protocol import Communicator

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

_log = logging.getLogger("cobre.comm")


class BackendKind(StrEnum):
    """The built-in backends, and AUTO: let the environment decide."""

    AUTO = "auto"
    MPI = "mpi"
    TCP = "tcp"
    SHM = "shm"
    LOCAL = "local"


def create_communicator(backend: str | None = None, config: Any = None) -> Communicator:
    """The communicator that the arguments ask for, or else the environment.

    Without arguments ``COBRE_COMM_BACKEND`` and the backend's own variables decide. A ``config`` alone
    selects its backend. With arguments no variable is read, except that ``"auto"`` looks around by nature.
    """
    if backend is None and config is None:
        name = os.environ.get(VARIABLE, "").strip().lower() or BackendKind.AUTO
        chosen = _detect(os.environ) if name == BackendKind.AUTO else get_backend(name)
        return _open(chosen, _configure(chosen, os.environ))
    if backend == BackendKind.AUTO and config is None:
        chosen = _detect(os.environ)
        return _open(chosen, _configure(chosen, os.environ))
    if backend is None or backend == BackendKind.AUTO:
        return _open(_owner_of(config), config)
    chosen = get_backend(backend)
    _require_matching(chosen, config)
    return _open(chosen, config)


def available_backends() -> list[str]:
    """Names of the backends that can run here, best first."""
    return [record.name for record in all_backends() if record.unavailable() is None]


def get_backend(name: str) -> Backend:
    """The record of the backend called ``name``, available or not."""
    wanted = str(name).strip().lower()
    if wanted in BACKENDS:
        return _builtin(wanted)
    points = _third_parties()
    if wanted not in points:
        raise InvalidBackend(str(name), _names())
    try:
        return _load(points[wanted])
    except Exception as error:  # a stranger's import may raise anything; the user needs to know whose it was
        raise BackendNotAvailable(
            wanted,
            available_backends(),
            f"the {wanted} backend ({points[wanted].value}) cannot be loaded: {error}",
            suggestion=f"repair or uninstall the package that provides {wanted!r}",
        ) from error


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
        except Exception:  # somebody's broken package must not break a run that does not ask for it
            _log.warning("the backend %r cannot be loaded and is passed over", name, exc_info=True)


def _builtin(name: str) -> Backend:
    record: Backend = import_module(BACKENDS[name]).BACKEND
    return record


def _third_parties() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and not needed for a built-in by name

    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
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
    return record


def _detect(environ: Mapping[str, str]) -> Backend:
    """The first backend that the environment means."""
    for record in all_backends():
        detection = record.detect(environ)
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


def _configure(record: Backend, environ: Mapping[str, str]) -> Any:
    _require_available(record)
    return record.configure(environ)


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
    refusal = record.unavailable()
    if refusal is not None:
        refuse(record.name, refusal)


def _open(record: Backend, config: Any) -> Communicator:
    _require_available(record)
    if REPORT_VARIABLE in os.environ:
        from cobre.comm.launch.report import report_failures

        report_failures()
    try:
        return record.open(config)
    except BackendError:
        raise
    except (OSError, CobreError) as error:
        raise InitializationFailed(
            record.name,
            error,
            suggestion="see the cause above; every rank must be started with the same settings",
        ) from error
