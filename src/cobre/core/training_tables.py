"""The tables of a training run."""

from __future__ import annotations

from cobre.core.outputs import Column, ColumnType, identifier, number, table


def _count(name: str, description: str, *, kind: ColumnType = "u32", is_nullable: bool = False) -> Column:
    return Column(name, kind, "", description, is_nullable)


def _ms(name: str, description: str) -> Column:
    return Column(f"{name}_ms", "i64", "ms", description)


CONVERGENCE = table(
    "convergence",
    (
        identifier("iteration", "counted from 1"),
        number("lower_bound", "$", "cost of the study that no policy can undercut"),
        number("upper_bound", "$", "mean cost of the trajectories of the iteration"),
        number("upper_bound_std", "$", "deviation of these costs", is_nullable=True),
        Column("upper_bound_kind", "str", "", "statistical or exact"),
        number(
            "gap_percent",
            "%",
            "100 (upper - lower) / max(1, |lower|); null if the bound is not positive",
            is_nullable=True,
        ),
        _count("cuts_added", "new cuts of all stages", kind="i32"),
        _count("cuts_removed", "cuts that selection took out", kind="i32"),
        _count("cuts_active", "cuts in the stage problems after selection", kind="i64"),
        _ms("time_forward", "forward pass"),
        _ms("time_backward", "backward pass"),
        _ms("time_total", "iteration"),
        _count("forward_passes", "trajectories of the iteration", kind="i32"),
        _count("lp_solves", "linear programs solved by all ranks", kind="i64"),
        number("mean_rows_in_lp", "", "rows of a stage problem with its cuts, averaged over the solves"),
        number("upper_bound_mean", "$", "the same as upper_bound"),
        number("ci_95", "$", "half-width of the 95 % interval of upper_bound"),
        number("gap", "", "(upper - lower) / max(1, |upper|)"),
        number("wall_time_ms", "ms", "since training began"),
        number("iteration_time_ms", "ms", "of this iteration"),
        number(
            "inner_bound",
            "$",
            "cost that the optimum does not pass; null where not computed",
            is_nullable=True,
        ),
    ),
)

TIMING = table(
    "timing/iterations",
    (
        identifier("iteration", "counted from 1"),
        identifier("rank", "rank that measured", is_nullable=True),
        identifier("worker_id", "thread of the rank; null for the whole rank", is_nullable=True),
        _ms("forward_wall", "forward pass"),
        _ms("backward_wall", "backward pass"),
        _ms("cut_selection", "cut selection"),
        _ms("mpi_allreduce", "reductions, without waiting"),
        _ms("cut_sync", "sending cuts, without waiting"),
        _ms("lower_bound", "lower bound"),
        _ms("state_exchange", "gathering costs and states, without waiting"),
        _ms("cut_batch_build", "not measured apart: 0"),
        _ms("bwd_setup", "patching and start bases in the backward pass"),
        _ms("bwd_load_imbalance", "waiting for other ranks in the backward pass"),
        _ms("bwd_scheduling_overhead", "not measured apart: 0"),
        _ms("fwd_setup", "patching and start bases in the forward pass"),
        _ms("fwd_load_imbalance", "waiting for other ranks in the forward pass"),
        _ms("fwd_scheduling_overhead", "not measured apart: 0"),
        _ms("overhead", "the rest of the iteration"),
        _ms("lazy_scoring", "not used: 0"),
    ),
)

SOLVER_ITERATIONS = table(
    "solver/iterations",
    (
        identifier("iteration", "of training; null in a simulation", is_nullable=True),
        identifier("scenario_id", "of a simulation; null in training", is_nullable=True),
        Column("phase", "str", "", "forward, backward, lower_bound or simulation"),
        identifier("stage_id", "id of the stage; null for all stages", is_nullable=True),
        identifier("opening_index", "null: all openings", is_nullable=True),
        identifier("rank", "null: all ranks", is_nullable=True),
        identifier("worker_id", "null: all threads", is_nullable=True),
        _count("lp_solves", "linear programs solved"),
        _count("lp_successes", "of them with an optimum"),
        _count("lp_retries", "of them that needed more than one attempt"),
        _count("lp_failures", "of them without an optimum"),
        _count("retry_attempts", "attempts beyond the first"),
        _count("basis_offered", "chains of solves that began from a given basis"),
        _count("basis_consistency_failures", "bases that the solver refused"),
        _count("simplex_iterations", "of the simplex method", kind="u64"),
        number("solve_time_ms", "ms", "inside the solver"),
        number("load_model_time_ms", "ms", "adding and removing cut rows"),
        number("set_bounds_time_ms", "ms", "setting right-hand sides, bounds and costs"),
        number("basis_set_time_ms", "ms", "setting start bases"),
    ),
)

RETRY_HISTOGRAM = table(
    "solver/retry_histogram",
    (
        _count("iteration", "of training; the scenario in a simulation"),
        Column("phase", "str", "", "forward, backward, lower_bound or simulation"),
        identifier("stage_id", "id of the stage; null for all stages", is_nullable=True),
        _count("retry_level", "the attempt that succeeded, from 2"),
        _count("count", "solves that succeeded at this attempt", kind="u64"),
    ),
)

CUT_SELECTION = table(
    "cut_selection/iterations",
    (
        identifier("iteration", "counted from 1"),
        identifier("stage_id", "id of the stage"),
        _count("cuts_populated", "cuts ever made", kind="i32"),
        _count("cuts_active_before", "in the stage problem before selection", kind="i32"),
        _count("cuts_deactivated", "taken out", kind="i32"),
        _count("cuts_reactivated", "put back", kind="i32"),
        _count("cuts_active_after", "in the stage problem after selection", kind="i32"),
        number("selection_time_ms", "ms", "on the first rank"),
        _count("budget_evicted", "taken out by the cap", kind="i32", is_nullable=True),
        _count("active_after_budget", "in the stage problem after the cap", kind="i32", is_nullable=True),
    ),
)
