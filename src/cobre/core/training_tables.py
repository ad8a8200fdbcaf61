"""The tables of a training run."""

from __future__ import annotations

from cobre.core.outputs import table

CONVERGENCE = table(
    "convergence",
    """
        iteration          i32     counted from 1
        lower_bound        $       cost of the study that no policy can undercut
        upper_bound        $       mean cost of the trajectories of the iteration
        upper_bound_std    $?      deviation of these costs
        upper_bound_kind   str     statistical or exact
        gap_percent        %?      100 (upper - lower) / max(1, |lower|); null if the bound is not positive
        cuts_added         i32     new cuts of all stages
        cuts_removed       i32     cuts that selection took out
        cuts_active        i64     cuts in the stage problems after selection
        time_forward_ms    i64:ms  forward pass
        time_backward_ms   i64:ms  backward pass
        time_total_ms      i64:ms  iteration
        forward_passes     i32     trajectories of the iteration
        lp_solves          i64     linear programs solved by all ranks
        mean_rows_in_lp    -       rows of a stage problem with its cuts, averaged over the solves
        upper_bound_mean   $       the same as upper_bound
        ci_95              $       half-width of the 95 % interval of upper_bound
        gap                -       (upper - lower) / max(1, |upper|)
        wall_time_ms       ms      since training began
        iteration_time_ms  ms      of this iteration
        inner_bound        $?      cost that the optimum does not pass; null where not computed
    """,
)

TIMING = table(
    "timing/iterations",
    """
        iteration                   i32     counted from 1
        rank                        i32?    rank that measured
        worker_id                   i32?    thread of the rank; null for the whole rank
        forward_wall_ms             i64:ms  forward pass
        backward_wall_ms            i64:ms  backward pass
        cut_selection_ms            i64:ms  cut selection
        mpi_allreduce_ms            i64:ms  reductions, without waiting
        cut_sync_ms                 i64:ms  sending cuts, without waiting
        lower_bound_ms              i64:ms  lower bound
        state_exchange_ms           i64:ms  gathering costs and states, without waiting
        cut_batch_build_ms          i64:ms  not measured apart: 0
        bwd_setup_ms                i64:ms  patching and start bases in the backward pass
        bwd_load_imbalance_ms       i64:ms  waiting for other ranks in the backward pass
        bwd_scheduling_overhead_ms  i64:ms  not measured apart: 0
        fwd_setup_ms                i64:ms  patching and start bases in the forward pass
        fwd_load_imbalance_ms       i64:ms  waiting for other ranks in the forward pass
        fwd_scheduling_overhead_ms  i64:ms  not measured apart: 0
        overhead_ms                 i64:ms  the rest of the iteration
        lazy_scoring_ms             i64:ms  not used: 0
    """,
)

SOLVER_ITERATIONS = table(
    "solver/iterations",
    """
        iteration                   i32?  of training; null in a simulation
        scenario_id                 i32?  of a simulation; null in training
        phase                       str   forward, backward, lower_bound or simulation
        stage_id                    i32?  id of the stage; null for all stages
        opening_index               i32?  null: all openings
        rank                        i32?  null: all ranks
        worker_id                   i32?  null: all threads
        lp_solves                   u32   linear programs solved
        lp_successes                u32   of them with an optimum
        lp_retries                  u32   of them that needed more than one attempt
        lp_failures                 u32   of them without an optimum
        retry_attempts              u32   attempts beyond the first
        basis_offered               u32   chains of solves that began from a given basis
        basis_consistency_failures  u32   bases that the solver refused
        simplex_iterations          u64   of the simplex method
        solve_time_ms               ms    inside the solver
        load_model_time_ms          ms    adding and removing cut rows
        set_bounds_time_ms          ms    setting right-hand sides, bounds and costs
        basis_set_time_ms           ms    setting start bases
    """,
)

RETRY_HISTOGRAM = table(
    "solver/retry_histogram",
    """
        iteration    u32   of training; the scenario in a simulation
        phase        str   forward, backward, lower_bound or simulation
        stage_id     i32?  id of the stage; null for all stages
        retry_level  u32   the attempt that succeeded, from 2
        count        u64   solves that succeeded at this attempt
    """,
)

CUT_SELECTION = table(
    "cut_selection/iterations",
    """
        iteration            i32   counted from 1
        stage_id             i32   id of the stage
        cuts_populated       i32   cuts ever made
        cuts_active_before   i32   in the stage problem before selection
        cuts_deactivated     i32   taken out
        cuts_reactivated     i32   put back
        cuts_active_after    i32   in the stage problem after selection
        selection_time_ms    ms    on the first rank
        budget_evicted       i32?  taken out by the cap
        active_after_budget  i32?  in the stage problem after the cap
    """,
)
