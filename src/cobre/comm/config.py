"""`TcpConfig` and `ShmConfig`, and how the environment spells them.

Both refuse impossible values when they are made, all problems in one `InitializationFailed`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from operator import index
from typing import Any

from cobre.comm.hosts import everywhere_for, host_problems, is_loopback, is_taken, unbracketed
from cobre.errors import InitializationFailed, MissingConfiguration

__all__ = [
    "ShmConfig",
    "TcpConfig",
    "encoded_secret",
    "is_zero",
    "missing_if_begun",
    "shm_config_from",
    "tcp_config_from",
]

DEFAULT_PORT = 29500
LONGEST_SHM_NAME = 255
MOST_RANKS = 2**31 - 1

# Stands for a variable that is missing or malformed and whose problem is listed already.
_COMPLAINED_ABOUT: Any = object()


@dataclass(frozen=True)
class TcpConfig:
    """Where rank 0 listens and who this process is. ``port=0`` lets rank 0 take any free port."""

    coordinator: str
    rank: int
    size: int
    port: int = DEFAULT_PORT
    bind_addr: str | None = None
    secret: str | None = field(default=None, repr=False)
    connect_timeout: float = 30.0
    timeout: float = 60.0

    def __post_init__(self) -> None:
        problems = _group_problems(self)
        lowest = 1 if not problems and self.rank > 0 else 0  # only who listens can take any port
        problems += _integer_problems("port", self.port, lowest, 65535)
        problems += host_problems("coordinator", self.coordinator)
        if self.bind_addr is not None:
            problems += host_problems("bind_addr", self.bind_addr)
        if self.secret is not None and not isinstance(self.secret, str):
            problems.append(f"secret is a {type(self.secret).__name__}, not a string")
        elif self.secret is not None and not is_taken(encoded_secret, self.secret):
            problems.append("secret holds half of a surrogate pair, which no text has")
        _refuse("tcp", problems)
        if not self.secret and not all(map(is_loopback, _addresses(self))):
            raise MissingConfiguration(
                "tcp",
                ["COBRE_TCP_SECRET"],
                f"tcp over {', '.join(_addresses(self))} needs a shared secret: without one every program on the "
                "network could join",
                suggestion="give every rank the same COBRE_TCP_SECRET (or TcpConfig(secret=…)), "
                "or stay on 127.0.0.1",
            )


@dataclass(frozen=True)
class ShmConfig:
    """Name of the segment where the ranks of one machine meet, and who this process is."""

    name: str
    rank: int
    size: int
    connect_timeout: float = 30.0
    timeout: float = 60.0

    def __post_init__(self) -> None:
        _refuse("shm", [*_name_problems(self.name), *_group_problems(self)])


def tcp_config_from(environ: Mapping[str, str]) -> TcpConfig:
    """The `TcpConfig` that ``COBRE_TCP_*`` describe."""
    read = _Reader("tcp", environ)
    rank, size = read.integer("COBRE_TCP_RANK"), read.integer("COBRE_TCP_SIZE")
    coordinator = read.text("COBRE_TCP_COORDINATOR", needed=rank != 0)
    port = read.integer("COBRE_TCP_PORT", DEFAULT_PORT)
    host, port_here = _split_port(coordinator or "127.0.0.1", read.problems)
    bind_addr = read.text("COBRE_TCP_BIND_ADDR", needed=False)
    secret = read.text("COBRE_TCP_SECRET", needed=False)
    if rank == 0 and bind_addr is None and secret is not None:
        # All addresses: with a secret, other programs cannot join.
        bind_addr = everywhere_for(unbracketed(host)) if isinstance(host, str) else None
    fields: dict[str, Any] = {
        "coordinator": host,
        "rank": rank,
        "size": size,
        "port": port if port_here is None else port_here,
        "bind_addr": bind_addr,
        "secret": secret,
        **read.timeouts("COBRE_TCP"),
    }
    problems = [*_group_problems(_View(fields)), *_integer_problems("port", fields["port"], 1, 65535)]
    if host is not _COMPLAINED_ABOUT:
        problems += host_problems("coordinator", host)
    if bind_addr is not None:
        problems += host_problems("bind_addr", bind_addr)
    read.refuse(problems)
    return TcpConfig(**{**fields, "coordinator": unbracketed(host)})


def shm_config_from(environ: Mapping[str, str]) -> ShmConfig:
    """The `ShmConfig` that ``COBRE_SHM_*`` describe."""
    read = _Reader("shm", environ)
    fields: dict[str, Any] = {
        "name": read.text("COBRE_SHM_NAME") or _COMPLAINED_ABOUT,
        "rank": read.integer("COBRE_SHM_RANK"),
        "size": read.integer("COBRE_SHM_SIZE"),
        **read.timeouts("COBRE_SHM"),
    }
    read.refuse([*_name_problems(fields["name"]), *_group_problems(_View(fields))])
    return ShmConfig(**fields)


def missing_if_begun(prefix: str, needed: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Those of ``needed`` that are not set, if any variable with that prefix is; nothing otherwise."""
    if not any(environ.get(name) for name in environ if name.startswith(prefix)):
        return ()
    return tuple(name for name in needed if not environ.get(name))


def encoded_secret(secret: str) -> bytes:
    """The key that both sides prove to have. A variable may hold any bytes: they come back as they were."""
    return secret.encode("utf-8", "surrogateescape")


class _Reader:
    """Reads variables and remembers everything that is wrong, so that one error can say it all."""

    def __init__(self, backend: str, environ: Mapping[str, str]) -> None:
        self.backend = backend
        self.environ = environ
        self.missing: list[str] = []
        self.problems: list[str] = []

    def text(self, variable: str, *, needed: bool = True) -> str | None:
        value = self.environ.get(variable) or None
        if value is None and needed:
            self.missing.append(variable)
        return value

    def integer(self, variable: str, default: int | None = None) -> Any:
        text = self.text(variable, needed=default is None)
        if text is None:
            return _COMPLAINED_ABOUT if default is None else default
        try:
            return _whole_number(text)
        except ValueError:
            self.problems.append(f"{variable}={text!r} is not a whole number")
            return _COMPLAINED_ABOUT

    def seconds(self, variable: str, default: float, unit: float) -> float:
        text = self.text(variable, needed=False)
        if text is None:
            return default
        try:
            value = _decimal_number(text) * unit
        except ValueError:
            value = math.nan
        if math.isfinite(value) and value > 0:
            return value
        self.problems.append(f"{variable}={text!r} is not a positive number")
        return default

    def timeouts(self, prefix: str) -> dict[str, float]:
        return {
            "connect_timeout": self.seconds(f"{prefix}_CONNECT_TIMEOUT_MS", 30.0, 0.001),
            "timeout": self.seconds(f"{prefix}_TIMEOUT_SECS", 60.0, 1.0),
        }

    def refuse(self, problems: Sequence[str]) -> None:
        if self.missing:
            also = f" (and {'; '.join(self.problems)})" if self.problems else ""
            names = ", ".join(self.missing)
            raise MissingConfiguration(
                self.backend,
                self.missing,
                f"the {self.backend} backend needs {names}, not set{also}",
                suggestion=f"set {names} on every rank, or start the ranks with a launcher that does",
            )
        _refuse(self.backend, [*self.problems, *problems])


def is_zero(text: str) -> bool:
    """Whether a variable holds the whole number 0."""
    try:
        return _whole_number(text) == 0
    except ValueError:
        return False


def _whole_number(text: str) -> int:
    """Digits, and a minus so that the error can say what is below which limit.

    Nothing else that Python reads as a number: ``+1``, `` 1``, ``1_0``, foreign digits.
    """
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError(text)
    return int(text)  # ValueError beyond some thousand digits


def _decimal_number(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?", text):
        raise ValueError(text)
    return float(text)


class _View:
    """Attribute access to fields that are not a config yet."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)


def _refuse(backend: str, problems: Sequence[str]) -> None:
    if problems:
        text = "; ".join(problems)
        raise InitializationFailed(
            backend,
            ValueError(text),
            f"the {backend} settings are malformed: {text}",
            suggestion="correct these values; all of them are listed",
        )


def _integer_problems(name: str, value: Any, low: int, high: int) -> list[str]:
    if value is _COMPLAINED_ABOUT:
        return []
    try:
        number = index(value)
    except (TypeError, ValueError):  # ValueError: an array of several
        return [f"{name}={value!r} is not a whole number"]
    if number < low:
        return [f"{name}={number} is below {low}"]
    return [f"{name}={number} is above {high}"] if number > high else []


def _group_problems(config: Any) -> list[str]:
    problems = _integer_problems("size", config.size, 1, MOST_RANKS)
    problems += _integer_problems("rank", config.rank, 0, MOST_RANKS)
    known = config.rank is not _COMPLAINED_ABOUT and config.size is not _COMPLAINED_ABOUT
    if not problems and known and config.rank >= config.size:
        problems.append(f"rank={config.rank} is not below size={config.size}")
    for name in ("connect_timeout", "timeout"):
        value = getattr(config, name)
        if not _is_positive(value):
            problems.append(f"{name}={value!r} is not a positive number of seconds")
    return problems


def _is_positive(value: Any) -> bool:
    """Whether ``value`` is a number of Python's or NumPy's, finite and above zero."""
    try:
        return isinstance(value, Real) and 0 < float(value) < math.inf
    except OverflowError:  # an int beyond every float
        return False


def _name_problems(name: Any) -> list[str]:
    if name is _COMPLAINED_ABOUT:
        return []
    if not isinstance(name, str) or not name.isprintable():
        return [f"name={name!r} is not a string of printable characters"]
    if not name.startswith("/") or "/" in name[1:] or "\0" in name or name in ("/", "/.", "/.."):
        return [f"name={name!r} is not '/' followed by a name without '/'"]
    if len(name.encode()) - 1 > LONGEST_SHM_NAME:
        return [f"name={name!r} is longer than {LONGEST_SHM_NAME} bytes"]
    return []


def _addresses(config: TcpConfig) -> list[str]:
    """Where the ranks meet and where rank 0 listens, if it says so; one rank alone opens no socket."""
    if config.size == 1:
        return []
    return [config.coordinator, *([config.bind_addr] if config.bind_addr else [])]


def _split_port(text: str, problems: list[str]) -> tuple[Any, int | None]:
    """``host``, ``host:port``, ``[v6]:port`` or a bare v6 address."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return text, None
    try:
        number = _whole_number(port)
    except ValueError:
        number = -1
    if number >= 0 and host:
        return host, number
    problems.append(f"COBRE_TCP_COORDINATOR={text!r} is not host, host:port or [v6]:port")
    return _COMPLAINED_ABOUT, None
