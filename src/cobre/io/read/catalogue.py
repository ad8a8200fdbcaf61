"""The files of a case directory, in the order in which they are read, for both generations of the format."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from cobre.io.read.columns import TableFile
from cobre.io.read.documents import Document
from cobre.io.read.generation import Generation

MODULES = (
    "config",
    "penalties",
    "stages",
    "initial_conditions",
    "post_study_stages",
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
    "constraints.hydro_unit_group_bounds",
    "constraints.thermal_bounds",
    "constraints.line_bounds",
    "constraints.pumping_bounds",
    "constraints.contract_bounds",
    "constraints.ncs_bounds",
    "constraints.generic_parameters",
    "constraints.generic_constraints",
    "constraints.generic_constraint_bounds",
    "constraints.penalty_overrides_bus",
    "constraints.penalty_overrides_line",
    "constraints.penalty_overrides_hydro",
    "constraints.penalty_overrides_ncs",
)
NEW_PATHS = (
    "post_study_stages.json",
    "constraints/hydro_unit_group_bounds.parquet",
    "constraints/generic_parameters.json",
)
"""Files that 0.5.1 does not have."""

File = Document | TableFile

FILES: tuple[File, ...] = tuple(import_module(f"cobre.io.read.{name}").FILE for name in MODULES)
DOCUMENTS = tuple(file for file in FILES if isinstance(file, Document))
TABLES = tuple(file for file in FILES if isinstance(file, TableFile))


OLDER_ONLY_PATHS = ("constraints/exchange_factors.json",)
PATHS = (*(file.path for file in FILES), *OLDER_ONLY_PATHS)
"""Of both generations."""
REQUIRED = tuple(document.path for document in DOCUMENTS if document.is_required)


@cache
def files_of(generation: Generation) -> tuple[File, ...]:
    """The files of a generation; the shapes of 0.5.1 are only loaded for a case that has them."""
    if generation.is_018:
        return FILES
    older = (import_module(f"cobre.io.read.older.{name}") for name in ("documents", "tables"))
    changed: dict[str, File] = {file.path: file for module in older for file in module.FILES}
    for name in ("config", "exchange_factors"):
        file = import_module(f"cobre.io.read.older.{name}").FILE
        changed[file.path] = file
    kept = [changed.pop(file.path, file) for file in FILES if file.path not in NEW_PATHS]
    return (*kept, *changed.values())
