"""Columns of the public Cobre 0.18.0, read off files that it wrote: names, order, types; ``?`` where null may stand.

The files of `SIMULATION` are folders with one file per scenario, or one file for all.
"""

from __future__ import annotations

SOLVER = {
    "solver/iterations": """
        iteration:i32? scenario_id:i32? phase:str stage_id:i32? opening_index:i32? rank:i32? worker_id:i32?
        lp_solves:u32 lp_successes:u32 lp_retries:u32 lp_failures:u32 retry_attempts:u32 basis_offered:u32
        basis_consistency_failures:u32 simplex_iterations:u64 solve_time_ms:f64 load_model_time_ms:f64
        set_bounds_time_ms:f64 basis_set_time_ms:f64
    """,
    "solver/retry_histogram": """
        iteration:u32 phase:str stage_id:i32? retry_level:u32 count:u64
    """,
}
UNDER_WAY = {
    "in_transit": """
        scenario_id:i32 stage_id:i32 node_id:i32 hydro_id:i32 lag:i32 in_transit_volume_hm3:f64
        delayed_arrival_hm3:f64
    """,
    "transit_seed": """
        scenario_id:i32 hydro_id:i32 start_date:date end_date:date value_m3s:f64
    """,
    "anticipated_lanes": """
        scenario_id:i32 stage_id:i32 node_id:i32 thermal_id:i32 delivery_date:i32 deposited_decision_mw:f64
        carried_committed_mw:f64
    """,
}
"""Tables of studies in which water or generation is under way from one stage to another."""

SIMULATION = {
    "buses": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? bus_id:i32 load_mw:f64 load_mwh:f64
        deficit_mw:f64 deficit_mwh:f64 excess_mw:f64 excess_mwh:f64 spot_price:f64
    """,
    "contracts": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? contract_id:i32 power_mw:f64 energy_mwh:f64
        price_per_mwh:f64 total_cost:f64 operative_state_code:i8
    """,
    "costs": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? total_cost:f64 immediate_cost:f64
        future_cost:f64 discount_factor:f64 thermal_cost:f64 anticipated_thermal_cost:f64 contract_cost:f64
        deficit_cost:f64 excess_cost:f64 storage_violation_cost:f64 filling_target_cost:f64
        hydro_violation_cost:f64 outflow_violation_below_cost:f64 outflow_violation_above_cost:f64
        turbined_violation_cost:f64 generation_violation_cost:f64 evaporation_violation_cost:f64
        withdrawal_violation_cost:f64 inflow_penalty_cost:f64 generic_violation_cost:f64 spillage_cost:f64
        turbined_cost:f64 curtailment_cost:f64 exchange_cost:f64 pumping_cost:f64
    """,
    "exchanges": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? line_id:i32 direct_flow_mw:f64
        reverse_flow_mw:f64 net_flow_mw:f64 net_flow_mwh:f64 losses_mw:f64 losses_mwh:f64 exchange_cost:f64
        operative_state_code:i8
    """,
    "hydro_bus_generation": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? hydro_id:i32 bus_id:i32 turbined_m3s:f64
        generation_mw:f64 generation_mwh:f64
    """,
    "hydros": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? hydro_id:i32 turbined_m3s:f64
        spillage_m3s:f64 outflow_m3s:f64 evaporation_m3s:f64? diverted_inflow_m3s:f64?
        diverted_outflow_m3s:f64? incremental_inflow_m3s:f64 inflow_m3s:f64 storage_initial_hm3:f64
        storage_final_hm3:f64 generation_mw:f64 generation_mwh:f64 equivalent_productivity_mw_per_m3s:f64
        accumulated_productivity_mw_per_m3s:f64 incremental_inflow_energy_mw:f64
        stored_energy_initial_mwh:f64 stored_energy_final_mwh:f64 spillage_cost:f64 water_value_per_hm3:f64
        storage_binding_code:i8 operative_state_code:i8 turbined_slack_m3s:f64 outflow_slack_below_m3s:f64
        outflow_slack_above_m3s:f64 generation_slack_mw:f64 storage_violation_below_hm3:f64
        filling_target_violation_hm3:f64 evaporation_violation_pos_m3s:f64 evaporation_violation_neg_m3s:f64
        inflow_nonnegativity_slack_m3s:f64 water_withdrawal_violation_pos_m3s:f64
        water_withdrawal_violation_neg_m3s:f64 integrated_equivalent_productivity_mw_per_m3s:f64
        integrated_accumulated_productivity_mw_per_m3s:f64 stored_energy_initial_mw:f64
        stored_energy_final_mw:f64
    """,
    "inflow_lags": """
        scenario_id:i32 stage_id:i32 node_id:i32 hydro_id:i32 lag_index:i32 inflow_m3s:f64
    """,
    "non_controllables": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? non_controllable_id:i32 generation_mw:f64
        generation_mwh:f64 available_mw:f64 curtailment_mw:f64 curtailment_mwh:f64 curtailment_cost:f64
        operative_state_code:i8
    """,
    "paths": """
        scenario_id:i32 stage_id:i32 node_id:i32
    """,
    "pumping_stations": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? pumping_station_id:i32 pumped_flow_m3s:f64
        pumped_volume_hm3:f64 power_consumption_mw:f64 energy_consumption_mwh:f64 pumping_cost:f64
        operative_state_code:i8
    """,
    "scenario_summary": """
        scenario_id:i32 probability:f64? discounted_immediate_cost:f64
    """,
    **SOLVER,
    "thermals": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? thermal_id:i32 generation_mw:f64
        generation_mwh:f64 generation_cost:f64 is_anticipated:bool anticipated_committed_mw:f64?
        anticipated_decision_mw:f64? operative_state_code:i8
    """,
    "violations/generic": """
        scenario_id:i32 stage_id:i32 node_id:i32 block_id:i32? constraint_id:i32 slack_value:f64
        slack_cost:f64
    """,
}
TRAINING = {
    "convergence": """
        iteration:i32 lower_bound:f64 upper_bound:f64 upper_bound_std:f64? upper_bound_kind:str
        gap_percent:f64? cuts_added:i32 cuts_removed:i32 cuts_active:i64 time_forward_ms:i64
        time_backward_ms:i64 time_total_ms:i64 forward_passes:i32 lp_solves:i64 mean_rows_in_lp:f64
    """,
    "dictionaries/bounds": """
        entity_type_code:i8 entity_id:i32 hydro_id:i32? stage_id:i32 block_id:i32? bound_type_code:i8
        bound_value:f64
    """,
    **SOLVER,
    "timing/iterations": """
        iteration:i32 rank:i32? worker_id:i32? forward_wall_ms:i64 backward_wall_ms:i64 cut_selection_ms:i64
        mpi_allreduce_ms:i64 cut_sync_ms:i64 lower_bound_ms:i64 state_exchange_ms:i64 cut_batch_build_ms:i64
        bwd_setup_ms:i64 bwd_load_imbalance_ms:i64 bwd_scheduling_overhead_ms:i64 fwd_setup_ms:i64
        fwd_load_imbalance_ms:i64 fwd_scheduling_overhead_ms:i64 overhead_ms:i64 lazy_scoring_ms:i64
    """,
}
OTHERS = {
    "generic_constraints/resolved_echo": """
        stage_id:i32 block_id:i32? constraint_id:i32 constraint_name:str term_index:i32? variable_kind:str?
        variable:str? coefficient:f64? bound_lower:f64? bound_upper:f64? derived_shape:str slack_enabled:bool
        slack_penalty:f64?
    """,
    "hydro_models/evaporation_models": """
        hydro_id:i32 stage_id:i32? intercept_m3s:f64 volume_slope_m3s_per_hm3:f64 reference_volume_hm3:f64
        source:str
    """,
    "stochastic/inflow_annual_component": """
        hydro_id:i32 stage_id:i32 annual_coefficient:f64 annual_mean_m3s:f64 annual_std_m3s:f64
    """,
    "stochastic/inflow_ar_coefficients": "hydro_id:i32 stage_id:i32 lag:i32 coefficient:f64",
    "stochastic/inflow_seasonal_stats": "hydro_id:i32 stage_id:i32 mean_m3s:f64 std_m3s:f64",
    "stochastic/noise_openings": "stage_id:i32 opening_index:u32 entity_index:u32 value:f64",
}
"""Files beside those of training and simulation."""

CODES = "bound_type contract_type entity_type generated_at operative_state storage_binding version"

METADATA = """
    software software_version hostname solver solver_version started_at completed_at duration_seconds status
    scenarios.total scenarios.completed scenarios.failed cost.mean_cost cost.std_cost solve_stats.total_lp_solves
    solve_stats.first_try solve_stats.retried solve_stats.failed solve_stats.solve_seconds solve_stats.parallelism
    distribution.backend distribution.world_size distribution.ranks_participated distribution.num_hosts
    distribution.threads_per_rank distribution.hosts[].hostname distribution.hosts[].ranks[]
"""
"""Of ``simulation/metadata.json``."""

TRAINING_METADATA = """
    software software_version hostname solver solver_version started_at completed_at duration_seconds status
    configuration.seed configuration.max_iterations configuration.forward_passes configuration.stopping_mode
    configuration.policy_mode problem_dimensions.num_stages problem_dimensions.num_hydros
    problem_dimensions.num_thermals problem_dimensions.num_buses problem_dimensions.num_lines iterations.completed
    iterations.converged_at convergence.achieved convergence.final_gap_percent convergence.termination_reason
    row_pool.total_generated row_pool.total_active row_pool.peak_active row_pool.cuts_active
    row_pool.rows_in_lp_total row_pool.rows_in_lp_solve_count row_pool.rows_in_lp_max row_pool.total_loaded
    bounds.final_lower_bound
    bounds.final_upper_bound bounds.final_upper_bound_std bounds.final_upper_bound_kind solve_stats.total_lp_solves
    solve_stats.first_try solve_stats.retried solve_stats.failed solve_stats.forward_solve_seconds
    solve_stats.backward_solve_seconds solve_stats.parallelism distribution.backend distribution.world_size
    distribution.ranks_participated distribution.num_hosts distribution.threads_per_rank distribution.hosts[].hostname
    distribution.hosts[].ranks[]
    setup.load_seconds setup.stochastic_fit_seconds setup.production_fit_seconds setup.evaporation_fit_seconds
    setup.broadcast_seconds
"""
"""Of ``training/metadata.json``: what every run has to say."""

HYDRO_MODELS = """
    n_constant n_fpha total_planes fpha_details[].hydro_id fpha_details[].name fpha_details[].source
    fpha_details[].n_planes no_turbine_capacity[] n_evaporation n_no_evaporation n_user_supplied_ref
    n_default_midpoint_ref
"""
"""Of ``training/hydro_models.json``."""

PROVENANCE = """
    inflow.estimation_path inflow.seasonal_stats_source inflow.ar_coefficients_source inflow.correlation_source
    inflow.opening_tree_source inflow.n_hydros inflow.ar_method inflow.ar_max_order inflow.white_noise_fallbacks[]
    hydro_production.n_fpha_computed_from_geometry hydro_production.n_fpha_precomputed_hyperplanes
    hydro_production.n_evaporation_ref_user_supplied hydro_production.n_evaporation_ref_default_midpoint
"""
"""Of ``training/model_provenance.json``."""
