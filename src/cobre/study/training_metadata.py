"""What a training run was asked for, how large it was and what it did, under the names of the public layout."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from cobre.core.case import Case
from cobre.sddp.hosts import distribution
from cobre.sddp.journal import PHASES, TrainingLog
from cobre.sddp.result import TrainingResult
from cobre.sddp.solver_tables import solve_totals
from cobre.sddp.stopping import iteration_limit

CONVERGED = ("bound_stalling", "simulation")
"""Stopping rules that look at bounds or costs, not at a budget."""


def training_metadata(case: Case, result: TrainingResult) -> dict[str, Any]:
    """Groups of facts as plain data."""
    found = {
        "software": "cobre",
        "software_version": version("pycobre"),
        "solver": "highs",
        "solver_version": version("highspy"),
        "configuration": _configuration(case),
        "problem_dimensions": _dimensions(case),
        "convergence": {
            "achieved": result.termination_reason in CONVERGED,
            "final_gap_percent": result.history["gap_percent"][-1],
            "termination_reason": result.termination_reason,
        },
        "bounds": {
            "final_lower_bound": result.final_lower_bound,
            "final_upper_bound": result.final_upper_bound,
            "final_upper_bound_std": result.history["upper_bound_std"][-1],
            "final_upper_bound_kind": result.history["upper_bound_kind"][-1],
        },
    }
    if result.log is not None:
        found["row_pool"] = _cuts(result, result.log)
        found["solve_stats"] = _solves(result.log)
        found["distribution"] = distribution(result.log.backend, result.log.hosts)
    return found


def _configuration(case: Case) -> dict[str, Any]:
    training = case.config.training
    return {
        "seed": training.tree_seed,
        "max_iterations": iteration_limit(training.stopping_rules),
        "forward_passes": training.forward_passes,
        "stopping_mode": "all" if training.stop_when_all else "any",
        "policy_mode": "fresh",
    }


def _dimensions(case: Case) -> dict[str, int]:
    system = case.system
    return {
        "num_stages": case.horizon.n_stages,
        "num_hydros": len(system.hydros),
        "num_thermals": len(system.thermals),
        "num_buses": len(system.buses),
        "num_lines": len(system.lines),
    }


def _cuts(result: TrainingResult, log: TrainingLog) -> dict[str, int]:
    active = result.history["cuts_active"]
    return {
        "total_generated": result.total_cuts,
        "total_active": active[-1],
        "peak_active": max(active),
        "cuts_active": active[-1],
        "rows_in_lp_total": int(log.rows.sum()),
        "rows_in_lp_solve_count": sum(log.solves()),
        "total_loaded": 0,
    }


def _solves(log: TrainingLog) -> dict[str, float]:
    by_phase = {phase: solve_totals(log.counters[:, place].sum(axis=0)) for place, phase in enumerate(PHASES)}
    return {
        **solve_totals(log.counters.sum(axis=(0, 1))),
        "forward_solve_seconds": by_phase["forward"]["solve_seconds"],
        "backward_solve_seconds": by_phase["backward"]["solve_seconds"],
        "parallelism": len(log.hosts),
    }
