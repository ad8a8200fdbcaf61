"""Turns the files of a case into a `cobre.core.case.Case`: ids become indices, overrides are applied."""

from __future__ import annotations

import json

from cobre.core.case import Case, Conventions
from cobre.core.tables import Tables
from cobre.io.assemble.bounds import (
    build_buses,
    build_contracts,
    build_lines,
    build_non_controllables,
    build_operation,
    build_post_study,
    build_pumping,
    build_thermals,
)
from cobre.io.assemble.cells import build_unit_groups
from cobre.io.assemble.constraints import build_constraints
from cobre.io.assemble.energy import build_energy
from cobre.io.assemble.evaporation import build_evaporation_references
from cobre.io.assemble.fitting import build_fits
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.hydros import build_hydro_costs, build_hydros
from cobre.io.assemble.scenarios import build_initial_state, build_scenarios
from cobre.io.assemble.settings import build_config
from cobre.io.assemble.system import build_system, entity_indices
from cobre.io.read.files import CaseFiles

__all__ = ["assemble"]

CONVENTIONS_018 = Conventions(diversion_is_outflow=False, withdrawal_is_limited=True, counts_seasons=False)


def assemble(files: CaseFiles) -> Case:
    """The study. The files must have passed validation without an error."""
    horizon = build_horizon(files.stages, files.post_study)
    with files.timing("production_fit"):
        fits = build_fits(files, horizon)
    with files.timing("evaporation_fit"):
        references = build_evaporation_references(files, horizon)
    hydro = build_hydros(files, horizon, fits)
    energy = build_energy(files, horizon, hydro)
    constraints, rows = build_constraints(files, horizon, energy)
    return Case(
        name=files.folder.resolve().name,
        system=build_system(files, constraints),
        horizon=horizon,
        tables=Tables(
            hydro=hydro,
            hydro_costs=build_hydro_costs(files, horizon),
            thermal=build_thermals(files, horizon),
            line=build_lines(files, horizon),
            bus=build_buses(files, horizon),
            non_controllable=build_non_controllables(files, horizon),
            pumping=build_pumping(files, horizon),
            contract=build_contracts(files, horizon),
            constraint=rows,
            operation=build_operation(files, horizon),
            post_study=build_post_study(files, horizon),
        ),
        scenarios=build_scenarios(files, horizon),
        initial=build_initial_state(files),
        config=build_config(files),
        conventions=CONVENTIONS_018 if files.generation.is_018 else Conventions(),
        production_fits=fits,
        evaporation_references=references,
        energy=energy,
        unit_groups=build_unit_groups(files, horizon),
        folder=str(files.folder.resolve()),
        fitting_report=_fitting_report(files),
    )


def _fitting_report(files: CaseFiles) -> str | None:
    if files.inflow_fit is None:
        return None
    from cobre.io.assemble.inflow_fitting.report import coefficient_report  # few cases are fitted

    index = entity_indices(files)["hydro"]
    ids = sorted(index, key=lambda each: index[each])
    return json.dumps(coefficient_report(files.inflow_fit, ids), indent=2, sort_keys=True) + "\n"
