"""The contents of ``training/metadata.json``: the keys of the public Cobre and our own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cobre.core.case import Case
from cobre.core.config import IterationLimit
from cobre.core.production import ProductionFit
from cobre.core.provenance import SetupSeconds
from cobre.core.sums import sum_in_order
from cobre.core.versions import version
from cobre.sddp.hosts import distribution
from cobre.sddp.result import TrainingResult
from cobre.study.training_rank import SHARING_MS

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
        "controls": [asdict(each) for each in result.controls],
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
        "setup": _setup(case, result),
        "production_fit_deviation": _fit_errors(case),
        "distribution": distribution(result.backend, result.hosts, result.threads),
    }


def _configuration(case: Case) -> dict[str, Any]:
    training = case.config.training
    limits = [rule.limit for rule in training.stopping_rules if isinstance(rule, IterationLimit)]
    return {
        "seed": training.tree_seed,
        "max_iterations": min(limits) if limits else None,
        "forward_passes": training.forward_passes,
        "stopping_mode": "all" if training.stop_when_all else "any",
        "policy_mode": case.config.policy.mode,
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
    history, logs = result.history, result.logs
    active = history["cuts_active"]
    rows = sum(float(log.rows.sum()) for log in logs)
    return {
        "total_generated": result.total_cuts,
        "total_active": active[-1],
        "peak_active": max(active),
        "cuts_active": active[-1],
        "rows_in_lp_total": int(rows),
        "rows_in_lp_solve_count": sum(history["lp_solves"]),
        "rows_in_lp_max": max((log.most_rows for log in logs), default=0),
        "total_loaded": result.total_cuts - sum(history["cuts_added"]),
    }


def _solves(result: TrainingResult) -> dict[str, Any]:
    logs, total = result.logs, sum(result.history["lp_solves"])
    retried = sum(sum(log.retry_columns()["count"]) for log in logs)
    return {
        "total_lp_solves": total,
        "first_try": total - retried,
        "retried": retried,
        "failed": 0,
        "forward_solve_seconds": sum(log.solve_seconds("forward") for log in logs),
        "backward_solve_seconds": sum(log.solve_seconds("backward") for log in logs),
        "parallelism": len(result.hosts),
    }


def _setup(case: Case, result: TrainingResult) -> dict[str, float]:
    """Seconds until training could begin; a case that was not read has taken none of them."""
    seconds = case.setup_seconds or SetupSeconds(0.0, 0.0, 0.0, 0.0)
    return {
        **{f"{name}_seconds": value for name, value in asdict(seconds).items()},
        "broadcast_seconds": result.timings.get(SHARING_MS, 0.0) / 1000.0,
    }


def _fit_errors(case: Case) -> dict[str, Any] | None:
    """Errors of fitted production planes in MW, over all fits; None without any."""
    if not case.production_fits:
        return None
    errors = [_fit_error(case, each) for each in case.production_fits]
    worst = max(errors, key=lambda error: error["relative"])
    return {
        "n_entries": len(errors),
        "mean_abs": sum_in_order([error["mean_abs"] for error in errors]) / len(errors),
        "max_abs": max(error["max_abs"] for error in errors),
        "worst_relative": worst["relative"],
        "worst_entry": worst,
    }


def _fit_error(case: Case, each: ProductionFit) -> dict[str, Any]:
    is_common = len(each.stages) == case.horizon.n_stages
    return {
        "entity_id": case.system.hydros[each.hydro].id,
        "stage_id": None if is_common else case.horizon.stages[each.stages[0]].id,
        "relative": each.fit.relative_deviation,
        "mean_abs": each.fit.mean_deviation_mw,
        "max_abs": each.fit.max_deviation_mw,
    }
