"""Numbers that the public Cobre gives to rules that are checked here, too, by the id a finding would have without."""

from __future__ import annotations

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

RULE_NUMBERS = {
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
