"""The 42 files of a case directory, in the order in which they are read."""

from __future__ import annotations

from importlib import import_module

from cobre.io.read.columns import TableFile
from cobre.io.read.documents import Document

MODULES = (
    "config",
    "penalties",
    "stages",
    "initial_conditions",
    "system.buses",
    "system.lines",
    "system.hydros",
    "system.thermals",
    "system.non_controllable_sources",
    "system.pumping_stations",
    "system.energy_contracts",
    "system.hydro_geometry",
    "system.hydro_production_models",
    "system.fpha_hyperplanes",
    "system.tailrace_curves",
    "system.hydro_energy_productivity",
    "scenarios.inflow_seasonal_stats",
    "scenarios.inflow_ar_coefficients",
    "scenarios.inflow_annual_component",
    "scenarios.inflow_history",
    "scenarios.load_seasonal_stats",
    "scenarios.load_factors",
    "scenarios.non_controllable_stats",
    "scenarios.non_controllable_factors",
    "scenarios.correlation",
    "scenarios.noise_openings",
    "scenarios.external_inflow_scenarios",
    "scenarios.external_load_scenarios",
    "scenarios.external_ncs_scenarios",
    "constraints.hydro_bounds",
    "constraints.thermal_bounds",
    "constraints.line_bounds",
    "constraints.pumping_bounds",
    "constraints.contract_bounds",
    "constraints.ncs_bounds",
    "constraints.exchange_factors",
    "constraints.generic_constraints",
    "constraints.generic_constraint_bounds",
    "constraints.penalty_overrides_bus",
    "constraints.penalty_overrides_line",
    "constraints.penalty_overrides_hydro",
    "constraints.penalty_overrides_ncs",
)

FILES: tuple[Document | TableFile, ...] = tuple(
    import_module(f"cobre.io.read.{name}").FILE for name in MODULES
)
DOCUMENTS = tuple(file for file in FILES if isinstance(file, Document))
TABLES = tuple(file for file in FILES if isinstance(file, TableFile))
PATHS = tuple(file.path for file in FILES)
REQUIRED = tuple(document.path for document in DOCUMENTS if document.is_required)
