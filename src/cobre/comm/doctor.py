"""What works on this machine, what does not, and what to do: the findings behind ``cobre doctor``."""

from __future__ import annotations

import os
import platform
import resource
import socket
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

from cobre._machine import cpu_quota, usable_cpus
from cobre.comm.backend import Backend, Detection, Finding, Leftover, Unavailable
from cobre.comm.config import DEFAULT_PORT
from cobre.comm.memory import NO_LIMIT, available_memory
from cobre.comm.plugins import Trouble
from cobre.comm.selection import (
    BACKENDS,
    BackendKind,
    all_backends,
    chosen_in,
    detection_of,
    not_askable,
    not_joinable,
    refusal_of,
)

__all__ = ["examine", "find_leftovers"]

PACKAGES = ("numpy", "cloudpickle", "rich", "mpi4py", "matplotlib")
FEWEST_FILES = 256
FEWEST_PROCESSES = 256
SCARCE_MEMORY = 256 << 20
MIB = 1 << 20

_BROKEN: Unavailable | None = Unavailable("its record cannot be asked", "repair its package")
T = TypeVar("T")


def examine() -> list[Finding]:
    """Everything there is to say, in the order in which a person would ask."""
    survey = _Survey()
    parts: tuple[Callable[[], Iterator[Finding]], ...] = (
        _versions,
        _cpus,
        _memory,
        _kernel,
        _ports,
        lambda: _backends(survey),
        lambda: _environment(survey),
        lambda: _leftovers(survey),
    )
    findings = [finding for part in parts for finding in part()]
    return [*findings, *survey.problems()]


def find_leftovers() -> list[Leftover]:
    """What runs of any backend left on this machine, or are using just now."""
    return _Survey().leftovers()


class _Survey:
    """The backends, asked one by one; a third party's that is broken becomes one problem, however often it is asked."""

    def __init__(self) -> None:
        self._troubles: dict[str, Trouble] = {}
        self.records = list(all_backends(self._hear))

    def ask(self, record: Backend, question: Callable[[], T], otherwise: T) -> T:
        """What the record answers, or ``otherwise`` if a third party's raises."""
        try:
            return question()
        except (Exception, SystemExit) as error:
            if record.name in BACKENDS:
                raise
            self._hear(not_askable(record, error))
            return otherwise

    def leftovers(self) -> list[Leftover]:
        """Of all backends."""
        return [left for record in self.records for left in self.ask_all(record, record.leftovers)]

    def ask_all(self, record: Backend, question: Callable[[], list[T]]) -> list[T]:
        """The list that the record answers; none from a third party's that raises, or whose answer is no list."""
        nothing: list[T] = []
        return self.ask(record, lambda: list(question()), nothing)

    def problems(self) -> Iterator[Finding]:
        """What is wrong with the records themselves."""
        for trouble in self._troubles.values():
            yield Finding("problem", trouble.name, trouble.text, trouble.remedy)

    def _hear(self, trouble: Trouble) -> None:
        self._troubles.setdefault(trouble.name, trouble)


def _versions() -> Iterator[Finding]:
    python = (
        f"Python {platform.python_version()}, {platform.system()} {platform.release()} {platform.machine()}"
    )
    yield Finding("ok", "versions", f"cobre {version('pycobre')}, {python}")
    installed = []
    for name in PACKAGES:
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    yield Finding("ok", "versions", ", ".join(installed))


def _cpus() -> Iterator[Finding]:
    allowed, total, quota = len(os.sched_getaffinity(0)), os.cpu_count() or 1, cpu_quota()
    text = f"{usable_cpus()} usable: {allowed} of {total} by affinity"
    if quota is None:
        yield Finding("ok", "cpus", f"{text}, no quota")
    elif quota >= allowed:
        yield Finding("ok", "cpus", f"{text}, quota of {quota:g}")
    else:
        remedy = "use no more ranks than that, or raise the container's CPU limit (docker run --cpus)"
        yield Finding("note", "cpus", f"{text}, but a quota of {quota:g}", remedy)


def _memory() -> Iterator[Finding]:
    available, source = available_memory()
    if available >= NO_LIMIT:
        yield Finding("note", "memory", "how much is free cannot be read here")
    elif available < SCARCE_MEMORY:
        remedy = "end what uses it, or raise the limit named here"
        yield Finding("problem", "memory", f"{available / MIB:,.0f} MiB are free ({source})", remedy)
    else:
        yield Finding("ok", "memory", f"{available / MIB:,.0f} MiB are free ({source})")


def _kernel() -> Iterator[Finding]:
    yield from _limit("open files", resource.RLIMIT_NOFILE, FEWEST_FILES, "ulimit -n")
    yield from _limit("processes", resource.RLIMIT_NPROC, FEWEST_PROCESSES, "ulimit -u")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        remedy = "use Linux 5.3 or later, and let the sandbox pass pidfd_open"
        yield Finding("problem", "kernel", f"processes cannot be watched by descriptor: {error}", remedy)
    scope = _first_line(Path("/proc/sys/kernel/yama/ptrace_scope"))
    if scope not in (None, "0"):
        text = f"kernel.yama.ptrace_scope is {scope}: ranks may not read each other's memory"
        yield Finding(
            "note", "kernel", text, "none needed: long messages take one copy more; 0 would save it"
        )


def _limit(name: str, which: int, fewest: int, command: str) -> Iterator[Finding]:
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or soft >= fewest:
        amount = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft:,}"
        yield Finding("ok", "limits", f"{name}: {amount}")
    else:
        most = "" if hard == resource.RLIM_INFINITY else f" (up to {hard})"
        yield Finding(
            "problem", "limits", f"{name}: {soft}", f"raise it: {command} {max(fewest, 1024)}{most}"
        )


def _ports() -> Iterator[Finding]:
    for port, what in (
        (DEFAULT_PORT, f"port {DEFAULT_PORT}, the default of tcp"),
        (0, "a port of 127.0.0.1"),
    ):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                probe.listen()
            except OSError as error:
                remedy = (
                    "choose another COBRE_TCP_PORT"
                    if port
                    else "bring up the loopback interface: ip link set lo up"
                )
                level = "note" if port else "problem"
                yield Finding(level, "ports", f"{what} cannot be had: {error.strerror}", remedy)
            else:
                yield Finding("ok", "ports", f"{what}, is free" if port else f"{what} can be had")


def _backends(survey: _Survey) -> Iterator[Finding]:
    for record in survey.records:
        refusal = survey.ask(record, partial(refusal_of, record), _BROKEN)
        if refusal is None:
            yield Finding("ok", record.name, "available")
        elif refusal is not _BROKEN:
            yield Finding("note", record.name, f"not available: {refusal.reason}", refusal.remedy)
        yield from survey.ask_all(record, record.diagnose)


def _environment(survey: _Survey) -> Iterator[Finding]:
    for record in survey.records:
        missing = survey.ask(record, partial(detection_of, record, os.environ), Detection(fits=False)).missing
        if missing:
            text = f"the environment half describes {record.name}: {', '.join(missing)} not set"
            remedy = f"set {', '.join(missing)}, or unset every COBRE_{record.name.upper()}_* variable"
            yield Finding("problem", "environment", text, remedy)
    yield from _launcher(survey)
    wanted = chosen_in(os.environ)
    known = {record.name for record in survey.records} | {BackendKind.AUTO.value}
    if wanted not in known:
        remedy = f"choose one of {', '.join(sorted(known))}, or unset it"
        yield Finding("problem", "environment", f"COBRE_COMM_BACKEND={wanted} is no backend", remedy)
    for record in survey.records:
        refusal = survey.ask(record, partial(refusal_of, record), _BROKEN) if record.name == wanted else None
        if refusal is not None:
            text = f"COBRE_COMM_BACKEND={wanted}, but it cannot run here: {refusal.reason}"
            yield Finding("problem", "environment", text, f"{refusal.remedy}; or unset COBRE_COMM_BACKEND")
    ours = sorted(name for name in os.environ if name.startswith("COBRE_") and "SECRET" not in name)
    if ours:
        yield Finding("ok", "environment", ", ".join(f"{name}={os.environ[name]}" for name in ours))


def _launcher(survey: _Survey) -> Iterator[Finding]:
    """A problem if this process was started as one of several ranks of a backend that cannot run here."""
    if chosen_in(os.environ) != BackendKind.AUTO:
        return
    for record in survey.records:
        group = record.launched_group(os.environ)
        if group is None or not group.has_several_ranks:
            continue
        refusal = survey.ask(record, partial(refusal_of, record), _BROKEN)
        if refusal is not None:
            yield Finding("problem", "environment", *not_joinable(record, group, refusal))


def _leftovers(survey: _Survey) -> Iterator[Finding]:
    found = survey.leftovers()
    for leftover in found:
        text = f"{leftover.path}, {leftover.bytes / MIB:.1f} MiB, {leftover.owner}"
        if leftover.is_in_use:
            yield Finding("ok", "leftovers", f"left alone: {text}")
        else:
            yield Finding("problem", "leftovers", text, "cobre doctor --clean removes it")
    if not found:
        yield Finding("ok", "leftovers", "none")


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None
