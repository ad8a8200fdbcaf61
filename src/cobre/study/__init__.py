"""The product in a few verbs. Composes `cobre.io` and `cobre.sddp`; computes nothing itself."""

from __future__ import annotations

from cobre.sddp.events import ProgressEvent
from cobre.sddp.policy import Policy
from cobre.sddp.result import TrainingResult, WorkerInfo
from cobre.study.asynchronous import simulate_async, train_async
from cobre.study.results import Results, SimulationResult, load_results
from cobre.study.simulation import simulate
from cobre.study.training import (
    COLLECTIVE_TIMEOUT_S,
    POLICY_FOLDER,
    TIMEOUT_VARIABLES,
    CaseLoader,
    configured,
    load_case,
    load_with_report,
    metadata_of,
    on_first_rank,
    read_results,
    train,
    validate,
    write_results,
)

__all__ = [
    "COLLECTIVE_TIMEOUT_S",
    "POLICY_FOLDER",
    "TIMEOUT_VARIABLES",
    "CaseLoader",
    "Policy",
    "ProgressEvent",
    "Results",
    "SimulationResult",
    "TrainingResult",
    "WorkerInfo",
    "configured",
    "load_case",
    "load_results",
    "load_with_report",
    "metadata_of",
    "on_first_rank",
    "read_results",
    "simulate",
    "simulate_async",
    "train",
    "train_async",
    "validate",
    "write_results",
]
