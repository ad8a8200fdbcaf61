"""Numbers that the public Cobre gives to rules that are checked here, too, by the id a finding would have without."""

from __future__ import annotations

UNPARSABLE = "schema.2"
LIMITS = ("thermal", "line", "hydro", "hydro_unit_group", "pumping", "contract")
ROW_KEYS = {
    "thermal": "thermal_id",
    "line": "line_id",
    "hydro": "hydro_id",
    "hydro_unit_group": "hydro_id, hydro_unit_group_id",
    "pumping": "pumping_station_id",
    "contract": "contract_id",
}
CLASSES = ("inflow", "load", "ncs")
REQUIRED = (
    "config.json",
    "penalties.json",
    "stages.json",
    "initial_conditions.json",
    "system/buses.json",
    "system/lines.json",
    "system/hydros.json",
    "system/thermals.json",
)
PLANTS = (
    "lines",
    "thermals",
    "hydros",
    "non_controllable_sources",
    "pumping_stations",
    "energy_contracts",
)
NODES, EDGES = "stages.policy_graph.nodes", "stages.policy_graph.transitions"
GRAPH_KINDS = ("MissingReference", "CoverageMismatch", "IncompatibleSettings")

RULE_NUMBERS = {
    "correlation.profiles.correlation_groups.entities.type.InvalidEnum": "referential.2",
    "generic_constraints.expression.MissingReference": "referential.9",
    "correlation.profile_name.MissingReference": "dimensional.5",
    "hydros.downstream_id.PhysicalConstraint": "5a.1",
    "hydros.reservoir.min_storage_hm3.PhysicalConstraint": "5a.2",
    "hydros.generation.min_turbined_m3s.PhysicalConstraint": "5a.3",
    "hydros.outflow.min_outflow_m3s.PhysicalConstraint": "5a.4",
    "hydros.generation.min_generation_mw.PhysicalConstraint": "5a.5",
    "hydro_geometry.hydro_id, volume_hm3.DuplicateId": "5a.8",
    "hydro_geometry.height_m.PhysicalConstraint": "5a.9",
    "hydro_geometry.area_km2.PhysicalConstraint": "5a.10",
    "fpha_hyperplanes.gamma_v.OutOfRange": "5a.12",
    "fpha_hyperplanes.gamma_s.OutOfRange": "5a.12",
    "thermals.generation.min_mw.PhysicalConstraint": "5a.13",
    "hydros.travel_time_hours.OutOfRange": "travel_time.1",
    "stages.source_id.MissingReference": "5b.1",
    "stages.target_id.MissingReference": "5b.1",
    f"{EDGES}.probability.OutOfRange": "5b.2",
    "stages.policy_graph.annual_discount_rate.IncompatibleSettings": "5b.3",
    "penalties.hydro.turbined_cost.OutOfRange": "5b.11",
    "hydros.penalties.turbined_cost.OutOfRange": "5b.11",
    "load_factors.block_factors.block_id.MissingReference": "5b.17",
    "stages.season_definitions.CoverageMismatch": "5b.19",
    "inflow_history.hydro_id.CoverageMismatch": "5b.21",
    "stages.num_openings.OutOfRange": "5b.25",
    "stages.season_id.MissingReference": "5b.27",
    "stages.season_id.StageMismatch": "5b.29",
    "stages.season_definitions.seasons.CoverageMismatch": "5b.30",
    f"{NODES}.scenario_id.IncompatibleSettings": "5b.36",
    f"{NODES}.scenario_id.OutOfRange": "5b.37",
    f"{NODES}.id.DuplicateId": "5b.38.2",
    **{f"{NODES}.stage_id.{kind}": "5b.38.1" for kind in GRAPH_KINDS},
    **{f"{EDGES}.{end}.{kind}": "5b.38.1" for end in ("source_id", "target_id") for kind in GRAPH_KINDS[:2]},
    f"{EDGES}.annual_discount_rate_override.IncompatibleSettings": "5b.42",
    **{f"{path[:-5].rpartition('/')[2]}.{path}.MissingFile": "structural.2" for path in REQUIRED},
    **{f"{name}.entry_stage_id.PhysicalConstraint": "5a.6" for name in PLANTS},
    "ncs_bounds.stage_id.MissingReference": "referential.7",
    "non_controllable_factors.stage_id.MissingReference": "referential.8",
    "fpha_hyperplanes.stage_id.CoverageMismatch": "dimensional.6",
    "pumping_stations.destination_hydro_id.PhysicalConstraint": "5a.19",
    "initial_conditions.recent_observations.end_date.OutOfRange": "5a.32",
    "correlation.entities.type.IncompatibleSettings": "5b.16a",
    "stages.state_variables.inflow_lags.IncompatibleSettings": "5b.34",
    "inflow_ar_coefficients.coefficient.OutOfRange": "5b.35.2",
    "stages.num_openings.IncompatibleSettings": "5b.41",
    "stages.blocks.SchemaViolation": "5b.52",
    "generic_parameters.computed_spec.hydro_id.MissingReference": "scalar_parameters.A",
    **{f"{name}_bounds.stage_id.MissingReference": "5a.49" for name in LIMITS},
    **{f"{name}_bounds.{ROW_KEYS[name]}, stage_id, block_id.DuplicateId": "5a.36" for name in LIMITS},
    **{f"external_{name}_scenarios.stage_id.MissingReference": "5b.47" for name in CLASSES},
    **{
        f"external_{name}_scenarios.{phase}.scenario_source.{name}.scheme.MissingFile": "5b.44a"
        for name in CLASSES
        for phase in ("training", "simulation")
    },
}
