"""The functions that every front door calls. Composes `cobre.io` and `cobre.sddp`; computes nothing itself."""

from __future__ import annotations

from cobre._lazy import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from cobre.core.case import Case
    from cobre.io.fitted import FitResult
    from cobre.sddp.events import ProgressEvent
    from cobre.sddp.policy import Policy
    from cobre.sddp.result import TrainingResult, WorkerInfo
    from cobre.study.asynchronous import simulate_async, train_async
    from cobre.study.cases import CaseLoader, configured, load_case, load_with_report, validate
    from cobre.study.control import Control
    from cobre.study.event_types import event_schema
    from cobre.study.fitting import fit
    from cobre.study.output import POLICY_FOLDER
    from cobre.study.ranks import COLLECTIVE_TIMEOUT_S, on_first_rank
    from cobre.study.results import Results, SimulationResult, load_results, read_results
    from cobre.study.run_log import event_line
    from cobre.study.run_state import IterationState, RunState
    from cobre.study.running import RunPlan, RunResult, idle_workers, run_case
    from cobre.study.runs import AttachedRun, EventFile, StartedRun, attach, start_run
    from cobre.study.simulation import simulate
    from cobre.study.starting import Restart
    from cobre.study.training import train
    from cobre.study.training_metadata import metadata_of

__all__ = [
    "COLLECTIVE_TIMEOUT_S",
    "POLICY_FOLDER",
    "AttachedRun",
    "Case",
    "CaseLoader",
    "Control",
    "EventFile",
    "FitResult",
    "IterationState",
    "Policy",
    "ProgressEvent",
    "Restart",
    "Results",
    "RunPlan",
    "RunResult",
    "RunState",
    "SimulationResult",
    "StartedRun",
    "TrainingResult",
    "WorkerInfo",
    "attach",
    "configured",
    "event_line",
    "event_schema",
    "fit",
    "idle_workers",
    "load_case",
    "load_results",
    "load_with_report",
    "metadata_of",
    "on_first_rank",
    "read_results",
    "run_case",
    "simulate",
    "simulate_async",
    "start_run",
    "train",
    "train_async",
    "validate",
]

_HOMES = {
    "cobre.core.case": ("Case",),
    "cobre.io.fitted": ("FitResult",),
    "cobre.sddp.events": ("ProgressEvent",),
    "cobre.sddp.policy": ("Policy",),
    "cobre.sddp.result": ("TrainingResult", "WorkerInfo"),
    "cobre.study.asynchronous": ("simulate_async", "train_async"),
    "cobre.study.cases": ("CaseLoader", "configured", "load_case", "load_with_report", "validate"),
    "cobre.study.control": ("Control",),
    "cobre.study.event_types": ("event_schema",),
    "cobre.study.fitting": ("fit",),
    "cobre.study.output": ("POLICY_FOLDER",),
    "cobre.study.ranks": ("COLLECTIVE_TIMEOUT_S", "on_first_rank"),
    "cobre.study.results": ("Results", "SimulationResult", "load_results", "read_results"),
    "cobre.study.run_log": ("event_line",),
    "cobre.study.run_state": ("IterationState", "RunState"),
    "cobre.study.runs": ("AttachedRun", "EventFile", "StartedRun", "attach", "start_run"),
    "cobre.study.running": ("RunPlan", "RunResult", "idle_workers", "run_case"),
    "cobre.study.simulation": ("simulate",),
    "cobre.study.starting": ("Restart",),
    "cobre.study.training": ("train",),
    "cobre.study.training_metadata": ("metadata_of",),
}
__getattr__ = lazy_names(__name__, {name: home for home, names in _HOMES.items() for name in names})
