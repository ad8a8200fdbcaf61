"""How training went, as ``training/metadata.json`` tells it: the keys of the public Cobre beside our own."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from cobre.core.case import Case
from cobre.core.config import IterationLimit
from cobre.sddp.hosts import distribution
from cobre.sddp.result import TrainingResult

CONVERGED = ("bound_stalling", "simulation")
"""Rules that end training because it has nothing more to gain."""


def metadata_of(result: TrainingResult) -> dict[str, Any]:
    """How training went, as plain data."""
    workers = result.workers or []
    return {
        "cobre_version": version("pycobre"),
        "iterations": result.iterations,
        "final_lower_bound": result.final_lower_bound,
        "final_upper_bound": result.final_upper_bound,
        "final_gap": result.final_gap,
        "gap_estimate": None if result.gap_estimate is None else asdict(result.gap_estimate),
        "simulated_cost": None if result.simulated_cost is None else asdict(result.simulated_cost),
        "termination_reason": result.termination_reason,
        "total_cuts": result.total_cuts,
        "wall_time_ms": result.history["wall_time_ms"][-1],
        "policy": result.policy.summary(),
        "workers": [
            {"rank": worker.rank, "wall_time_ms": worker.wall_time_ms, "backend": worker.backend}
            for worker in workers
        ],
    }


def file_metadata(case: Case, result: TrainingResult) -> dict[str, Any]:
    """The same for the file, where ``iterations`` is an object as in files of the public Cobre."""
    reason, history = result.termination_reason, result.history
    converged_at = result.iterations if reason in CONVERGED else None
    return {
        **metadata_of(result),
        "software": "cobre",
        "software_version": version("pycobre"),
        "solver": "highs",
        "solver_version": version("highspy"),
        "configuration": _configuration(case),
        "problem_dimensions": _dimensions(case),
        "iterations": {"completed": result.iterations, "converged_at": converged_at},
        "convergence": {
            "achieved": reason in CONVERGED,
            "final_gap_percent": history["gap_percent"][-1],
            "termination_reason": reason,
        },
        "row_pool": _cuts(result),
        "bounds": {
            "final_lower_bound": result.final_lower_bound,
            "final_upper_bound": result.final_upper_bound,
            "final_upper_bound_std": history["upper_bound_std"][-1],
            "final_upper_bound_kind": history["upper_bound_kind"][-1],
        },
        "solve_stats": _solves(result),
        "distribution": distribution(result.backend, result.hosts),
    }


def _configuration(case: Case) -> dict[str, Any]:
    training = case.config.training
    limits = [rule.limit for rule in training.stopping_rules if isinstance(rule, IterationLimit)]
    return {
        "seed": training.tree_seed,
        "max_iterations": min(limits) if limits else None,
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


def _cuts(result: TrainingResult) -> dict[str, Any]:
    history, log = result.history, result.log
    active = history["cuts_active"]
    rows = 0.0 if log is None else float(log.rows.sum())
    return {
        "total_generated": result.total_cuts,
        "total_active": active[-1],
        "peak_active": max(active),
        "cuts_active": active[-1],
        "rows_in_lp_total": int(rows),
        "rows_in_lp_solve_count": sum(history["lp_solves"]),
        "rows_in_lp_max": 0 if log is None else log.most_rows,
        "total_loaded": 0,
    }


def _solves(result: TrainingResult) -> dict[str, Any]:
    log, total = result.log, sum(result.history["lp_solves"])
    retried = 0 if log is None else sum(log.retry_columns()["count"])
    return {
        "total_lp_solves": total,
        "first_try": total - retried,
        "retried": retried,
        "failed": 0,
        "forward_solve_seconds": 0.0 if log is None else log.solve_seconds("forward"),
        "backward_solve_seconds": 0.0 if log is None else log.solve_seconds("backward"),
        "parallelism": len(result.hosts),
    }
