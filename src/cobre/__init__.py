"""Cobre: collectives that give the same bits everywhere, and the SDDP solver on top of them.

The names a user types are resolved when first used, so that importing this costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = (
    False  # type checkers know the name; importing typing for it would cost more than all the rest
)
if TYPE_CHECKING:
    from cobre import comm, errors
    from cobre.errors import (
        BackendError,
        CobreError,
        CommError,
        IOError,
        SolverError,
        ValidationError,
        WorkerError,
    )
    from cobre.study import (
        Case,
        CaseLoader,
        Policy,
        ProgressEvent,
        Results,
        SimulationResult,
        TrainingResult,
        WorkerInfo,
        load_case,
        load_results,
        simulate,
        simulate_async,
        train,
        train_async,
        validate,
    )

__all__ = [
    "BackendError",
    "Case",
    "CaseLoader",
    "CobreError",
    "CommError",
    "IOError",
    "Policy",
    "ProgressEvent",
    "Results",
    "SimulationResult",
    "SolverError",
    "TrainingResult",
    "ValidationError",
    "WorkerError",
    "WorkerInfo",
    "comm",
    "errors",
    "load_case",
    "load_results",
    "simulate",
    "simulate_async",
    "train",
    "train_async",
    "validate",
]

_SUBMODULES = ("comm", "errors")
_STUDY = (
    "Case",
    "CaseLoader",
    "Policy",
    "ProgressEvent",
    "Results",
    "SimulationResult",
    "TrainingResult",
    "WorkerInfo",
    "load_case",
    "load_results",
    "simulate",
    "simulate_async",
    "train",
    "train_async",
    "validate",
)


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in _STUDY:
        return getattr(import_module("cobre.study"), name)
    if name in __all__:
        return getattr(import_module("cobre.errors"), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("pycobre")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
