"""Every exception Cobre raises on purpose, drawn as one tree.

::

    CobreError                       kind                     exit_status
    ├── CommError
    │   ├── CollectiveFailed         CommunicationFailed      4
    │   ├── InvalidBufferSize        CommunicationFailed      4
    │   ├── InvalidRoot              CommunicationFailed      4
    │   ├── InvalidCommunicator      CommunicationFailed      4
    │   └── AllocationFailed         CommunicationFailed      4
    ├── BackendError
    │   ├── BackendNotAvailable      IncompatibleSettings     4
    │   ├── InvalidBackend           IncompatibleSettings     4
    │   ├── MissingConfiguration     IncompatibleSettings     4
    │   └── InitializationFailed     CommunicationFailed      4
    ├── WorkerError                  WorkerFailed             4, or that of ``inner``
    ├── SolverError                  SolverFailure            3
    ├── IOError                      MissingFile, or another  2
    └── ValidationError              one of VALIDATION_KINDS  1

Each carries ``kind`` (a stable word a program may branch on), ``message`` (what happened, with the
values), ``context`` (those values as a dict), ``suggestion`` (what to do) and ``to_dict()``; each
survives ``pickle``. ``str(error)`` is the message, and the suggestion on a line of its own.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "KINDS",
    "VALIDATION_KINDS",
    "AllocationFailed",
    "BackendError",
    "BackendNotAvailable",
    "CobreError",
    "CollectiveFailed",
    "CommError",
    "IOError",
    "InitializationFailed",
    "InvalidBackend",
    "InvalidBufferSize",
    "InvalidCommunicator",
    "InvalidRoot",
    "MissingConfiguration",
    "SolverError",
    "ValidationError",
    "WorkerError",
]

VALIDATION_KINDS = (
    "MissingFile",
    "ParseError",
    "SchemaViolation",
    "TypeMismatch",
    "OutOfRange",
    "InvalidEnum",
    "DuplicateId",
    "MissingReference",
    "CoverageMismatch",
    "StageMismatch",
    "IncompatibleSettings",
    "PhysicalConstraint",
    "CapacityViolation",
    "PenaltyConsistency",
)
"""What can be wrong inside a case directory."""

KINDS = (
    *VALIDATION_KINDS,
    "CommunicationFailed",
    "WorkerFailed",
    "SolverFailure",
    "CheckpointFailed",
    "UnfinishedRun",
    "IncompatibleRuns",
    "NotAllowed",
    "LimitExceeded",
)
"""Every value ``CobreError.kind`` can have."""


class CobreError(Exception):
    """Base of everything Cobre raises on purpose. ``exit_status`` is what the command line ends with."""

    kind: str = "IncompatibleSettings"
    exit_status: int = 4
    is_shared: bool = False
    """Whether every rank of a group raises this very error together, so that none is left waiting."""

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        context: Mapping[str, Any] | None = None,
        suggestion: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.context: dict[str, Any] = dict(context or {})
        self.suggestion = suggestion
        if kind is not None:
            if kind not in KINDS:
                raise ValueError(f"unknown error kind {kind!r}; the known ones are {', '.join(KINDS)}")
            self.kind = kind

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.suggestion}" if self.suggestion else self.message

    def to_dict(self) -> dict[str, Any]:
        """This error as plain data that ``json.dumps`` accepts."""
        return {
            "type": type(self).__name__,
            "kind": self.kind,
            "message": self.message,
            "context": {key: _plain(value) for key, value in self.context.items()},
            "suggestion": self.suggestion,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # The state travels, not the constructor's arguments: a subclass may have any signature. It travels
        # after the object itself, so that an error may hold another that holds it.
        return _new, (type(self), self.args), _picklable(self.__dict__, set())


class UnusableInput(ValueError):
    """Something a user wrote that cannot be used: why, the part or number that shows it, what to do."""

    def __init__(self, message: str, value: Any, remedy: str) -> None:
        super().__init__(message)
        self.value = value
        self.remedy = remedy


def _new(cls: type[CobreError], args: tuple[Any, ...]) -> CobreError:
    error = cls.__new__(cls)
    error.args = args
    return error


def _picklable(value: Any, inside: set[int]) -> Any:
    """``value``, or text in place of those parts that cannot cross a process boundary.

    ``inside`` holds the containers being looked through: one that contains itself is left to text.
    """
    if value is None or type(value) in (str, int, float, bool, bytes):
        return value
    if isinstance(value, CobreError) and _can_travel(type(value)):
        return value
    if isinstance(value, dict | list | tuple):
        if id(value) in inside:
            return repr(value)
        inside = inside | {id(value)}
        if isinstance(value, dict):
            return {_picklable(key, inside): _picklable(item, inside) for key, item in value.items()}
        items = [_picklable(item, inside) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if not _can_travel(value):
        return RuntimeError(repr(value)) if isinstance(value, BaseException) else repr(value)
    return value


def _can_travel(value: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes, made in this line
    except Exception:  # whatever a foreign object raises here, the report must still arrive
        return False
    return True


def _plain(value: Any, inside: frozenset[int] = frozenset()) -> Any:
    if id(value) in inside:
        return "…"  # a container that contains itself
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has no word for the others
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, inside | {id(value)}) for key, item in value.items()}
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a NumPy scalar
        return _plain(value.item())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, inside | {id(value)}) for item in value]
    return str(value) or type(value).__name__


class CommError(CobreError):
    """A collective operation, a region or a communicator could not do what was asked."""

    kind = "CommunicationFailed"


class CollectiveFailed(CommError):
    """A collective cannot complete: a rank died, is missing, or called something else."""

    def __init__(
        self, operation: str, mpi_error_code: int = 0, message: str = "", *, suggestion: str = ""
    ) -> None:
        super().__init__(
            message or f"{operation} failed",
            context={"operation": operation, "mpi_error_code": mpi_error_code},
            suggestion=suggestion,
        )
        self.operation = operation
        self.mpi_error_code = mpi_error_code


class InvalidBufferSize(CommError):
    """A buffer, a count or a displacement does not fit the others. Nothing was sent."""

    def __init__(
        self, operation: str, expected: int, actual: int, message: str = "", *, suggestion: str = ""
    ) -> None:
        super().__init__(
            message or f"{operation} needs {expected} elements but got {actual}",
            context={"operation": operation, "expected": expected, "actual": actual},
            suggestion=suggestion,
        )
        self.operation = operation
        self.expected = expected
        self.actual = actual


class InvalidRoot(CommError):
    """The root of a broadcast is not a rank of this communicator. Nothing was sent."""

    def __init__(self, root: int, size: int, message: str = "", *, suggestion: str = "") -> None:
        super().__init__(
            message or f"root {root} is not one of the ranks 0..{size - 1}",
            context={"root": root, "size": size},
            suggestion=suggestion or f"pass a root between 0 and {size - 1}",
        )
        self.root = root
        self.size = size


class InvalidCommunicator(CommError):
    """The communicator (or region) was closed, or belongs to the parent of this forked process."""

    def __init__(self, message: str = "the communicator is closed", *, suggestion: str = "") -> None:
        super().__init__(message, suggestion=suggestion)


class AllocationFailed(CommError):
    """A shared region cannot be had: not enough memory, or an impossible size."""

    def __init__(self, requested_bytes: int, message: str = "", *, suggestion: str = "") -> None:
        super().__init__(
            message or f"cannot allocate {requested_bytes} bytes",
            context={"requested_bytes": requested_bytes},
            suggestion=suggestion,
        )
        self.requested_bytes = requested_bytes


class BackendError(CobreError):
    """No communicator could be made."""


class BackendNotAvailable(BackendError):
    """A known backend that cannot run here."""

    def __init__(
        self, requested: str, available: Sequence[str], message: str = "", *, suggestion: str = ""
    ) -> None:
        super().__init__(
            message or f"the {requested} backend is not available here",
            context={"requested": requested, "available": list(available)},
            suggestion=suggestion or (f"use one that is: {', '.join(available)}" if available else ""),
        )
        self.requested = requested
        self.available = list(available)


class InvalidBackend(BackendError):
    """A name that no backend has."""

    def __init__(
        self, requested: str, available: Sequence[str], message: str = "", *, suggestion: str = ""
    ) -> None:
        super().__init__(
            message or f"there is no backend named {requested!r}",
            context={"requested": requested, "available": list(available)},
            suggestion=suggestion or f"choose auto, {', '.join(available)}",
        )
        self.requested = requested
        self.available = list(available)


class InitializationFailed(BackendError):
    """A backend was chosen but did not start: malformed settings, or ranks that never met."""

    kind = "CommunicationFailed"

    def __init__(
        self,
        backend: str,
        source: BaseException | str | None = None,
        message: str = "",
        *,
        suggestion: str = "",
    ) -> None:
        super().__init__(
            message or f"the {backend} backend did not start: {source}",
            context={"backend": backend, "source": source},
            suggestion=suggestion,
        )
        self.backend = backend
        self.source = source


class MissingConfiguration(BackendError):
    """Settings that a backend needs are not there; ``missing_vars`` lists all of them."""

    def __init__(
        self, backend: str, missing_vars: Sequence[str], message: str = "", *, suggestion: str = ""
    ) -> None:
        super().__init__(
            message or f"the {backend} backend needs {', '.join(missing_vars)}",
            context={"backend": backend, "missing_vars": list(missing_vars)},
            suggestion=suggestion or f"set {', '.join(missing_vars)}",
        )
        self.backend = backend
        self.missing_vars = list(missing_vars)


class WorkerError(CobreError):
    """A rank ended badly: ``exit_code`` is negative for a signal, ``inner`` what it raised, if anything."""

    kind = "WorkerFailed"

    def __init__(
        self,
        rank: int,
        exit_code: int,
        inner: BaseException | None = None,
        message: str = "",
        *,
        suggestion: str = "",
    ) -> None:
        ending = f"signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
        reason = f"{type(inner).__name__}: {inner}" if inner is not None else ending
        super().__init__(
            message or f"rank {rank} failed: {reason}",
            context={"rank": rank, "exit_code": exit_code, "inner": inner},
            suggestion=suggestion,
        )
        self.rank = rank
        self.exit_code = exit_code
        self.inner = inner
        if isinstance(inner, CobreError):
            self.exit_status = (
                inner.exit_status
            )  # what went wrong counts, not how many processes worked on it


class SolverError(CobreError):
    """A linear program that should have an optimum has none, or the solver gave up."""

    kind = "SolverFailure"
    exit_status = 3

    def __init__(
        self,
        stage: int,
        iteration: int,
        solver_status: str,
        message: str = "",
        *,
        suggestion: str = "",
    ) -> None:
        super().__init__(
            message or f"stage {stage}, iteration {iteration}: the solver answered {solver_status}",
            context={"stage": stage, "iteration": iteration, "solver_status": solver_status},
            suggestion=suggestion,
        )
        self.stage = stage
        self.iteration = iteration
        self.solver_status = solver_status


class IOError(CobreError):  # the name in the upstream specification; `cobre.IOError`, never the builtin
    """A folder is absent, may not be read or written, or the disk is full."""

    kind = "MissingFile"
    exit_status = 2

    def __init__(
        self, path: str, message: str = "", *, suggestion: str = "", kind: str | None = None
    ) -> None:
        message = message or f"cannot use {path}"
        super().__init__(message, kind=kind, context={"path": path}, suggestion=suggestion)
        self.path = path


SHOWN_WARNINGS = 8
"""Of a wrong case, in the text of its error; all of them are in ``warnings``."""


class ValidationError(CobreError):
    """The case is wrong; ``errors`` holds every problem found, as dicts, and ``warnings`` those about the same files.

    A warning is often the cause: records in other units give a model that is not stationary.
    """

    kind = "SchemaViolation"
    exit_status = 1

    def __init__(
        self,
        message: str,
        *,
        kind: str = "SchemaViolation",
        context: Mapping[str, Any] | None = None,
        suggestion: str = "",
        errors: Sequence[Mapping[str, Any]] = (),
        warnings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        if kind not in VALIDATION_KINDS:
            raise ValueError(f"{kind!r} is no validation kind; those are {', '.join(VALIDATION_KINDS)}")
        super().__init__(message, kind=kind, context=context, suggestion=suggestion)
        self.errors = [dict(error) for error in errors]
        self.warnings = [dict(warning) for warning in warnings]

    def __str__(self) -> str:
        lines = [super().__str__()]
        for each in self.warnings[:SHOWN_WARNINGS]:
            place = ": ".join(str(each[key]) for key in ("file", "entity") if each.get(key))
            lines.append(f"warning: {place}: {each['message']}\n  fix: {each['remedy']}")
        more = len(self.warnings) - SHOWN_WARNINGS
        if more > 0:
            lines.append(f"warning: {more} more about the same files; cobre validate shows them")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            **super().to_dict(),
            "errors": [_plain(error) for error in self.errors],
            "warnings": [_plain(warning) for warning in self.warnings],
        }
