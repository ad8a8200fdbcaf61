"""Sources of noise and the entities that have it, by the files of a case.

`cobre.stochastic.moments` decides who has noise in the same way.
"""

from __future__ import annotations

from cobre.core.distinct import distinct
from cobre.core.scenarios import EntityClass
from cobre.io.read.config import ScenarioFields
from cobre.io.read.files import CaseFiles

CLASSES: tuple[EntityClass, ...] = ("inflow", "load", "ncs")
KEYS = {"inflow": "hydro_id", "load": "bus_id", "ncs": "ncs_id"}


def sources_of(files: CaseFiles) -> dict[str, ScenarioFields]:
    """The scenario sources that the case gives, by phase."""
    simulation = files.config.simulation
    given = {
        "training": files.config.training.scenario_source,
        "simulation": None if simulation is None else simulation.scenario_source,
    }
    return {phase: source for phase, source in given.items() if source is not None}


def members_of(files: CaseFiles, name: EntityClass, *, is_external: bool | None = None) -> set[int]:
    """Ids of the entities of a class with noise; by default as training has it.

    Under an external scheme also those that have scenarios and lack statistics.
    """
    if is_external is None:
        source = files.config.training.scenario_source
        is_external = source is not None and getattr(source, name).scheme == "external"
    if name == "inflow":
        return {hydro.id for hydro in files.hydros.hydros}
    external = files.tables[f"external_{name}"]
    if name == "ncs":
        found = set(files.tables["non_controllable_stats"]["ncs_id"].tolist())
        return found | set(external["ncs_id"].tolist()) if is_external else found
    load = files.tables["load_stats"]
    found = set(load["bus_id"][load["std_mw"] > 0.0].tolist())
    if not is_external:
        return found
    if files.generation.is_018:
        return found | set(external["bus_id"].tolist())
    certain = (load["mean_mw"] != 0.0) | (load["std_mw"] != 0.0)
    stated = set(zip(load["bus_id"][certain].tolist(), load["stage_id"][certain].tolist(), strict=True))
    rows = zip(external["bus_id"].tolist(), external["stage_id"].tolist(), strict=True)
    return found | {bus for bus, stage in rows if (bus, stage) not in stated}


def unused_ids(files: CaseFiles, name: EntityClass) -> list[int]:
    """Ids whose external scenarios are not used, because their statistics leave no room for noise."""
    ids = distinct(files.tables[f"external_{name}"][KEYS[name]])
    return sorted(set(ids) - members_of(files, name, is_external=True))
