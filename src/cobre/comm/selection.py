"""Chooses a backend: the ordered table, detection, and `create_communicator`.

Backends are named by module, not imported: a plain run never loads what it does not use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from cobre.comm.backend import Backend, Detection, LaunchedGroup, Unavailable, refuse
from cobre.comm.plugins import ENTRY_POINT_GROUP, Tell, Trouble, find_plugins, load_plugin, one_line, warn
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
    "chosen_in",
    "create_communicator",
    "detected",
    "detection_of",
    "get_backend",
    "launched_group",
    "not_askable",
    "not_joinable",
    "refusal_of",
    "refusal_or_broken",
    "require_available",
    "require_joinable",
]

VARIABLE = "COBRE_COMM_BACKEND"
DEFAULT_FOR_MANY = "shm"
"""The default of several ranks on one machine."""

REPORT_VARIABLE = "COBRE_LAUNCH_REPORT"
"""Set by our launcher, to which a rank then reports the exception that ends it."""
BACKENDS: Mapping[str, str] = {
    "mpi": "cobre.comm.backends.mpi",
    "tcp": "cobre.comm.backends.tcp",
    "shm": "cobre.comm.backends.shm",
    "local": "cobre.comm.backends.local",
}
"""Name to module, in order of priority; third parties come before ``local``, which always fits."""

_BROKEN = Unavailable("its record cannot be asked", "repair or uninstall the package that provides it")
_T = TypeVar("_T")


class BackendKind(StrEnum):
    """The built-in backends, and AUTO: let the environment decide."""

    AUTO = "auto"
    MPI = "mpi"
    TCP = "tcp"
    SHM = "shm"
    LOCAL = "local"


_RESERVED = (*BACKENDS, BackendKind.AUTO)


def create_communicator(
    backend: str | None = None, config: Any = None, *, collective_timeout: float | None = None
) -> GroupMember:
    """The communicator that the arguments ask for, or else the environment.

    Without arguments ``COBRE_COMM_BACKEND`` and the backend's own variables decide. A ``config`` alone
    selects its backend. With arguments no variable is read, except that ``"auto"`` looks around by nature.
    ``collective_timeout`` is how many seconds a collective waits for other ranks where the environment decides
    and does not say.
    """
    if backend is None and config is None:
        return _from_environment(chosen_in(os.environ), collective_timeout)
    name = BackendKind.AUTO if backend is None else _normal(backend)
    if name == BackendKind.AUTO:
        if config is None:
            return _from_environment(name, collective_timeout)
        return _open(_owner_of(config), config)
    chosen = get_backend(name)
    _require_matching(chosen, config)
    return _open(chosen, config)


def chosen_in(environ: Mapping[str, str]) -> str:
    """The name in ``COBRE_COMM_BACKEND``; ``auto`` if there is none."""
    return _normal(environ.get(VARIABLE, "")) or BackendKind.AUTO


def launched_group(environ: Mapping[str, str]) -> tuple[Backend, LaunchedGroup] | None:
    """The group of several ranks that some launcher announces to this process, and its backend; or ``None``."""
    for record in all_backends():
        group = record.launched_group(environ)
        if group is not None and group.has_several_ranks:
            return record, group
    return None


def require_joinable(record: Backend, group: LaunchedGroup) -> None:
    """Raise `BackendNotAvailable` if this process was started as a rank of a backend that cannot run here.

    Going on alone would do the whole work once per rank, all into the same files.
    """
    refusal = refusal_or_broken(record)
    if refusal is not None:
        reason, remedy = not_joinable(record, group, refusal)
        raise BackendNotAvailable(record.name, available_backends(), reason, suggestion=remedy)


def not_joinable(record: Backend, group: LaunchedGroup, refusal: Unavailable) -> Unavailable:
    """What to say of a rank whose backend cannot run here."""
    return Unavailable(
        f"a launcher started {group.described}, but this one cannot join them over {record.name}: {refusal.reason}",
        f"{refusal.remedy}; or start the ranks with cobre launch; or set {VARIABLE}=local if each is to run alone",
    )


def available_backends() -> list[str]:
    """Names of the backends that can run here, best first."""
    return [record.name for record in all_backends() if refusal_or_broken(record) is None]


def get_backend(name: str) -> Backend:
    """The record of the backend called ``name``, available or not."""
    wanted = _normal(name)
    if wanted in BACKENDS:
        return _builtin(wanted)
    points = find_plugins(_RESERVED, warn)
    if wanted not in points:
        names = _names(points)
        # Here one has to be named: auto is for those who look into the environment first.
        suggestion = f"choose {', '.join(names)}" if wanted == BackendKind.AUTO else ""
        raise InvalidBackend(str(name), names, suggestion=suggestion)
    try:
        return load_plugin(points[wanted])
    except (Exception, SystemExit) as error:  # a third party's import may raise anything; name its package
        trouble = _not_loadable(points[wanted], error)
        raise BackendNotAvailable(
            wanted, available_backends(), trouble.text, suggestion=trouble.remedy
        ) from error


def _normal(name: str) -> str:
    return str(name).strip().lower()


def _names(points: Collection[str]) -> list[str]:
    names = [name for name in BACKENDS if name != BackendKind.LOCAL]
    return [*names, *points, BackendKind.LOCAL.value]


def all_backends(tell: Tell = warn) -> Iterator[Backend]:
    """Every record that loads, available or not, in order of priority; ``tell`` gets those that do not."""
    points = find_plugins(_RESERVED, tell)
    for name in _names(points):
        if name in BACKENDS:
            yield _builtin(name)
            continue
        try:
            record = load_plugin(points[name])
        except (
            Exception,
            SystemExit,
        ) as error:  # a broken package must not break a run that does not ask for it
            tell(_not_loadable(points[name], error))
        else:
            yield record


def _not_loadable(point: EntryPoint, error: BaseException) -> Trouble:
    name = point.name.lower()
    text = f"the backend {name!r} ({point.value}) cannot be loaded: {one_line(error)}"
    return Trouble(name, text, f"repair or uninstall the package that provides {name!r}")


def _builtin(name: str) -> Backend:
    record: Backend = import_module(BACKENDS[name]).BACKEND
    return record


def _asked(record: Backend, question: Callable[[], _T], otherwise: _T) -> _T:
    """A record's answer; a third party's that raises is skipped, one of ours is raised."""
    try:
        return question()
    except (Exception, SystemExit) as error:
        if record.name in BACKENDS:
            raise
        warn(not_askable(record, error))
        return otherwise


def not_askable(record: Backend, error: BaseException) -> Trouble:
    """What to say of a record whose function raised."""
    text = f"the backend {record.name!r} cannot be asked and is passed over: {one_line(error)}"
    return Trouble(record.name, text, _BROKEN.remedy)


def refusal_of(record: Backend) -> Unavailable | None:
    """Why a backend cannot run here, or ``None``; an answer that is neither is a `TypeError`."""
    refusal = record.unavailable()
    if refusal is not None and not isinstance(refusal, Unavailable):
        raise TypeError(
            f"unavailable() of {record.name!r} returned a {type(refusal).__name__}, not an Unavailable"
        )
    return refusal


def detection_of(record: Backend, environ: Mapping[str, str]) -> Detection:
    """What a backend says about an environment; an answer that is none is a `TypeError`."""
    detection = record.detect(environ)
    if not isinstance(detection, Detection):
        raise TypeError(f"detect() of {record.name!r} returned a {type(detection).__name__}, not a Detection")
    return detection


def detected(record: Backend, environ: Mapping[str, str]) -> Detection:
    """What a backend says about an environment; a third party's that raises does not fit it."""
    return _asked(record, partial(detection_of, record, environ), Detection(fits=False))


def refusal_or_broken(record: Backend) -> Unavailable | None:
    """Why a backend cannot run here, or ``None``; of a third party's that raises, that it is broken."""
    broken: Unavailable | None = _BROKEN
    return _asked(record, partial(refusal_of, record), broken)


def _detect(environ: Mapping[str, str]) -> Backend:
    """The first backend that the environment means."""
    lacking: list[tuple[Backend, LaunchedGroup]] = []
    for record in all_backends():
        detection = detected(record, environ)
        if detection.missing:
            raise MissingConfiguration(
                record.name,
                detection.missing,
                f"the environment half describes the {record.name} backend: {', '.join(detection.missing)} not set",
                suggestion=f"set {', '.join(detection.missing)}, or unset every COBRE_{record.name.upper()}_* "
                "variable to run on one rank",
            )
        if detection.fits and record.name != BackendKind.LOCAL:
            return record
        group = record.launched_group(environ)
        if group is not None and group.has_several_ranks:
            lacking.append((record, group))
    for record, group in lacking:
        require_joinable(record, group)
    return _builtin(BackendKind.LOCAL)


def _from_environment(name: str, collective_timeout: float | None) -> GroupMember:
    chosen = _detect(os.environ) if name == BackendKind.AUTO else get_backend(name)
    require_available(chosen)
    environ = chosen.with_timeout(os.environ, collective_timeout)
    return _open(chosen, _started(chosen, lambda: chosen.configure(environ)))


def _owner_of(config: Any) -> Backend:
    for record in all_backends():
        if record.config_type is not None and isinstance(config, record.config_type):
            return record
    raise TypeError(
        f"config is a {type(config).__name__}, which belongs to no backend\n"
        "  fix: pass TcpConfig(...), ShmConfig(...), or the configuration class of your backend"
    )


def _require_matching(record: Backend, config: Any) -> None:
    require_available(record)
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


def require_available(record: Backend) -> None:
    """Raise `BackendNotAvailable` if a backend cannot run here, or is broken."""
    refusal = refusal_or_broken(record)
    if refusal is not None:
        refuse(record.name, refusal)


def _open(record: Backend, config: Any) -> GroupMember:
    require_available(record)
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
