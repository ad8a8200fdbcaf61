"""Cobre: collectives that give the same bits everywhere, and the SDDP solver on top of them.

The names a user types are resolved when first used, so that importing this costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

from cobre._lazy import TYPE_CHECKING, lazy_names

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
        Control,
        FitResult,
        Policy,
        ProgressEvent,
        Results,
        SimulationResult,
        TrainingResult,
        WorkerInfo,
        attach,
        fit,
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
    "Control",
    "FitResult",
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
    "attach",
    "comm",
    "errors",
    "fit",
    "load_case",
    "load_results",
    "simulate",
    "simulate_async",
    "train",
    "train_async",
    "validate",
]

_HOMES = {
    **dict.fromkeys(__all__, "cobre.study"),
    **dict.fromkeys((name for name in __all__ if name.endswith("Error")), "cobre.errors"),
    "comm": "",
    "errors": "",
}
_resolve = lazy_names(__name__, _HOMES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("pycobre")
    return _resolve(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
