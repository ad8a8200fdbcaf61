"""What is reported of an iteration of training; figures are summed over the ranks in the collective that ends it."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping, Sequence

import numpy as np

from cobre.comm import GroupMember, contiguous_block
from cobre.core.config import StoppingRule, TrainingConfig
from cobre.sddp.events import IterationFacts, ProgressEvent
from cobre.sddp.gap import GapEstimate
from cobre.sddp.journal import COMMUNICATION, PHASES, Journal
from cobre.sddp.result import IterationRecord
from cobre.sddp.solver_tables import COUNTERS
from cobre.sddp.stage import StageModel
from cobre.sddp.stopping import RuleState, iteration_limit, time_limit

MIB = float(1 << 20)


def rank_figures(journal: Journal) -> dict[str, float]:
    """What this rank adds to the sums over all ranks."""
    counters, times = journal.last_iteration()
    by_name = dict(zip(COUNTERS, counters.tolist(), strict=True))
    communication = dict(zip(COMMUNICATION, times[:, 1:].sum(axis=0).tolist(), strict=True))
    resident = _resident_bytes()
    return {
        "solves": by_name["solves"],
        "simplex_iterations": by_name["iterations"],
        "solver_s": by_name["run_ns"] / 1e9,
        "move_s": communication["allreduce_move"] + communication["other_move"],
        "wait_s": communication["wait"],
        "memory_bytes": resident,
        # The kernel counts both in its own time: a peak may be told late.
        "peak_memory_bytes": max(resident, 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss),
    }


def _resident_bytes() -> float:
    try:
        descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0.0
    try:
        return float(os.read(descriptor, 128).split()[1]) * resource.getpagesize()
    finally:
        os.close(descriptor)


def progress_of(
    comm: GroupMember,
    settings: TrainingConfig,
    rules: Sequence[StoppingRule],
    record: IterationRecord,
    estimate: GapEstimate,
) -> ProgressEvent:
    """What this rank reports after the iteration that ``record`` is about."""
    _, n_mine = contiguous_block(settings.forward_passes, comm.rank, comm.size)
    # Where several rules must agree, none of them alone ends training.
    ending = () if settings.stop_when_all and len(rules) > 1 else rules
    limit = iteration_limit(ending)
    return ProgressEvent(
        phase="training",
        iteration=record.iteration,
        lower_bound=record.lower_bound,
        upper_bound=record.upper_bound,
        gap=record.gap,
        wall_time_ms=record.wall_time_ms,
        iteration_time_ms=record.iteration_time_ms,
        scenarios_complete=n_mine * record.iteration,
        scenarios_total=n_mine * (limit or 0),
        worker_id=comm.rank,
        gap_estimate=estimate,
        upper_bound_std=record.upper_bound_std,
        ci_95=record.ci_95,
        iteration_limit=limit,
        time_limit_s=time_limit(ending),
    )


def facts_of(
    record: IterationRecord,
    journal: Journal,
    models: Sequence[StageModel],
    sums: Mapping[str, float],
    n_ranks: int,
    rules: tuple[RuleState, ...],
) -> IterationFacts:
    """The iteration that ``record`` is about; ``sums`` are those of `rank_figures` over all ranks."""
    _, times = journal.last_iteration()
    phase_ms = dict(zip(PHASES, (1000.0 * times[:, 0]).tolist(), strict=True))
    sync_ms = dict(zip(PHASES, (1000.0 * times[:, 1:].sum(axis=1)).tolist(), strict=True))
    pools = [model.pool for model in models]
    return IterationFacts(
        iteration=record.iteration,
        forward_ms=phase_ms["forward"],
        backward_ms=phase_ms["backward"],
        selection_ms=phase_ms["selection"],
        bound_ms=phase_ms["lower_bound"],
        forward_sync_ms=sync_ms["forward"],
        cut_sync_ms=sync_ms["backward"],
        other_ms=max(0.0, record.iteration_time_ms - sum(phase_ms.values())),
        solver_ms=1000.0 * sums["solver_s"] / n_ranks,
        move_ms=1000.0 * sums["move_s"] / n_ranks,
        wait_ms=1000.0 * sums["wait_s"] / n_ranks,
        lp_solves=int(sums["solves"]),
        simplex_iterations=int(sums["simplex_iterations"]),
        cuts_added=record.cuts_added,
        cuts_removed=record.cuts_removed,
        cuts_active=record.cuts_active,
        cuts_total=sum(pool.size for pool in pools),
        cuts_per_stage=_active_by_stage(models),
        memory_mb=sums["memory_bytes"] / MIB,
        peak_memory_mb=sums["peak_memory_bytes"] / MIB,
        cuts_memory_mb=sum(pool.rows.nbytes for pool in pools) / MIB,
        rules=rules,
    )


def _active_by_stage(models: Sequence[StageModel]) -> tuple[int, ...]:
    found = [0] * (1 + max(model.index for model in models))
    for model in models:
        found[model.index] += int(np.count_nonzero(model.pool.active))
    return tuple(found)
