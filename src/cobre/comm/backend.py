"""`Backend`: the record that describes a backend, so that nothing else needs per-backend code.

A backend is one module with a class and one `Backend` record. `selection` reads the record to
choose and open it; the launcher, the conformance kit and the benchmarks read it to start ranks.
A third party publishes its record under the entry-point group ``cobre.comm.backends``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from cobre.comm.launched import LaunchedGroup, LaunchVariables, read_launched_group
from cobre.comm.partition import contiguous_block
from cobre.comm.protocol import GroupMember
from cobre.errors import BackendNotAvailable, InitializationFailed

if TYPE_CHECKING:
    import re

__all__ = [
    "Backend",
    "Detection",
    "Finding",
    "LaunchVariables",
    "LaunchedGroup",
    "Leftover",
    "MeetingPoint",
    "Nodes",
    "RankCommand",
    "Startable",
    "StarterMessages",
    "Unavailable",
    "refuse",
]


class Unavailable(NamedTuple):
    """Why a backend cannot run here, and what the user can do about it."""

    reason: str
    remedy: str


def refuse(backend: str, unavailable: Unavailable) -> NoReturn:
    """Raise `BackendNotAvailable` for a backend whose record says that it cannot run here."""
    from cobre.comm.selection import available_backends  # at call time: selection imports this module

    raise BackendNotAvailable(
        backend, available_backends(), f"{backend}: {unavailable.reason}", suggestion=unavailable.remedy
    )


class Detection(NamedTuple):
    """What the environment says about a backend under ``auto``.

    ``fits``: take it. ``missing``: the environment means this backend but lacks these variables, which is
    an error rather than a reason to pass on. Neither: not meant.
    """

    fits: bool
    missing: tuple[str, ...] = ()


class RankCommand(NamedTuple):
    """One process to start: its arguments, and what to add to its environment.

    ``rank`` is ``None`` when this one command starts all ranks itself, as ``mpiexec`` does. ``leaves`` are
    files or directories that ranks which are killed may leave; the launcher removes them afterwards.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    rank: int | None
    leaves: tuple[str, ...] = ()


class Startable(Protocol):
    """What ranks can be started with: a `Backend`, or another library's collectives in a benchmark."""

    @property
    def name(self) -> str: ...
    @property
    def rank_commands(self) -> Callable[[Sequence[str], int], list[RankCommand]]: ...


class Nodes(NamedTuple):
    """This machine's part of a launch over several: it starts its block of the ``size`` ranks."""

    size: int
    nodes: int
    node_rank: int
    coordinator: str

    @property
    def ranks(self) -> range:
        """The ranks that run on this machine."""
        start, count = contiguous_block(self.size, self.node_rank, self.nodes)
        return range(start, start + count)


class MeetingPoint(NamedTuple):
    """Where the launchers of several machines connect between two attempts: the launcher of machine 0 listens."""

    host: str
    port: int
    listen_at: str
    """The address to listen at; empty for all."""
    secret: bytes


class Finding(NamedTuple):
    """One thing that ``cobre doctor`` looked at: ``level`` is ``ok``, ``note`` or ``problem``."""

    level: str
    subject: str
    text: str
    remedy: str = ""


class Leftover(NamedTuple):
    """Something of ours that a run may have left on this machine. ``remove()`` says whether it did."""

    path: str
    bytes: int
    is_in_use: bool
    owner: str
    remove: Callable[[], bool]


def _always_available() -> Unavailable | None:
    return None


class StarterMessages(NamedTuple):
    """What a starter such as ``mpiexec`` prints about ranks that failed, as patterns."""

    failed_call: re.Pattern[bytes]
    """A library call failed, and took the job with it: printed by the rank itself."""
    killed_rank: re.Pattern[str]
    """A rank, group 1, was ended by a signal, group 2."""
    signal: re.Pattern[str]
    """Some rank was ended by a signal, group 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A backend's record; the fields with a default are optional."""

    name: str
    """Lower-case word that ``COBRE_COMM_BACKEND`` takes."""

    detect: Callable[[Mapping[str, str]], Detection]
    """Does this environment mean this backend? Must be cheap and must not raise."""

    configure: Callable[[Mapping[str, str]], Any]
    """The configuration this environment describes (``None`` if it needs none). All problems at once, as
    `MissingConfiguration` or `InitializationFailed`."""

    open: Callable[[Any], GroupMember]
    """A communicator for a configuration. Failure: `InitializationFailed`, cause chained."""

    rank_commands: Callable[[Sequence[str], int], list[RankCommand]]
    """The processes that make ``size`` ranks of the command ``argv``; names, ports and secrets are fresh."""

    unavailable: Callable[[], Unavailable | None] = _always_available
    """``None``, or why it cannot run here."""

    config_type: type | None = None
    """Class of its configuration; ``None`` if it has none."""

    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Internal sizes in bytes (chunks, frames, segments) with their defaults. The conformance kit tests lengths
    around each, and shrinks them through ``COBRE_COMM_LIMITS`` to cross every boundary cheaply."""

    option_commands: Callable[[Sequence[str], int, Sequence[str]], list[RankCommand]] | None = None
    """As ``rank_commands``, with options for the starter that it uses (``mpiexec``); ``None`` if it uses none."""

    starter_messages: Callable[[], StarterMessages] | None = None
    """What that starter prints about ranks that failed; ``None`` if nothing is known about it."""

    launch_variables: tuple[LaunchVariables, ...] = ()
    """Where its ranks find their number and how many they are; the first that is set counts. They announce the
    backend: nothing else may list them."""

    timeout_variable: str = ""
    """Where its ranks read how many seconds a collective waits for the others; empty if they read none."""

    most_ranks: int | None = None
    """The largest group it can make, or ``None`` without such a limit."""

    node_commands: Callable[[Sequence[str], Nodes], list[RankCommand]] | None = None
    """This machine's ranks of a launch over several machines; ``None`` if it stays on one."""

    meeting_point: Callable[[Nodes], MeetingPoint] | None = None
    """Where launchers of several machines agree on how to start again; ``None`` if they cannot."""

    speed_limit: str = "memcpy"
    """What no collective of it can outrun: ``memcpy``, or ``loopback`` for one that goes through sockets."""

    leftovers: Callable[[], list[Leftover]] = list
    """What runs that were killed left on this machine."""

    diagnose: Callable[[], list[Finding]] = list
    """What ``cobre doctor`` should say about it beyond ``unavailable``."""

    @property
    def has_starter(self) -> bool:
        """Whether one command of its own starts all ranks, as ``mpiexec`` does."""
        return self.option_commands is not None

    def launched_group(self, environ: Mapping[str, str]) -> LaunchedGroup | None:
        """The group of this backend that a launcher announces to this process, or ``None``."""
        return read_launched_group(self.launch_variables, environ)

    def with_timeout(self, environ: Mapping[str, str], seconds: float | None) -> dict[str, str]:
        """``environ`` with so much time for a collective, unless it says how much itself."""
        if seconds is None or not self.timeout_variable or environ.get(self.timeout_variable):
            return dict(environ)
        return {**environ, self.timeout_variable: str(seconds)}

    def require_size(self, size: int) -> None:
        """Refuse more ranks than a group of this backend can have, before anything is started."""
        if self.most_ranks is not None and size > self.most_ranks:
            raise InitializationFailed(
                self.name,
                ValueError(f"size={size}"),
                f"{size} ranks are more than a group of the {self.name} backend can have: {self.most_ranks}",
                suggestion=f"start {self.most_ranks} ranks or fewer, or choose another backend",
            )
