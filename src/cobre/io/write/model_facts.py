"""Which models a run uses and where they come from: ``hydro_models.json`` and ``model_provenance.json``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from cobre.core.case import Case
from cobre.files import write_atomically
from cobre.io.write.training import json_bytes

HYDRO_MODELS = "training/hydro_models.json"
PROVENANCE = "training/model_provenance.json"
MODEL_FACTS = (HYDRO_MODELS, PROVENANCE)


def write_model_facts(folder: Path, case: Case) -> None:
    """Write both; a case that was not read from a folder has no provenance."""
    write_atomically(folder / HYDRO_MODELS, json_bytes(hydro_models(case)))
    if case.inflow_provenance is not None:
        write_atomically(folder / PROVENANCE, json_bytes(provenance(case)))


def hydro_models(case: Case) -> dict[str, Any]:
    """Plants by kind of model; planes of a plant are those of its stage with most."""
    fitted = {each.hydro for each in case.production_fits}
    planes = _plane_counts(case)
    details = [
        {
            "hydro_id": plant.id,
            "name": plant.name,
            "source": "computed_from_geometry" if h in fitted else "precomputed_hyperplanes",
            "n_planes": planes[h],
        }
        for h, plant in enumerate(case.system.hydros)
        if planes[h]
    ]
    most = case.tables.hydro.max_turbined_m3s
    references = case.evaporation_references
    return {
        "n_constant": len(case.system.hydros) - len(details),
        "n_fpha": len(details),
        "total_planes": sum(planes),
        "fpha_details": details,
        "no_turbine_capacity": [
            plant.id for h, plant in enumerate(case.system.hydros) if planes[h] and not (most[h] > 0.0).any()
        ],
        "n_evaporation": len(references),
        "n_no_evaporation": len(case.system.hydros) - len(references),
        "n_user_supplied_ref": sum(each.is_given for each in references),
        "n_default_midpoint_ref": sum(not each.is_given for each in references),
    }


def provenance(case: Case) -> dict[str, Any]:
    """Where the inflow model and the production functions come from."""
    given = case.inflow_provenance
    if given is None:
        raise ValueError("a case that was not read has no provenance")
    facts = hydro_models(case)
    sources = [detail["source"] for detail in facts["fpha_details"]]
    return {
        "inflow": {
            **asdict(given),
            "n_hydros": len(case.system.hydros),
            "white_noise_fallbacks": _without_lags(case) if given.ar_method is not None else [],
        },
        "hydro_production": {
            "n_fpha_computed_from_geometry": sources.count("computed_from_geometry"),
            "n_fpha_precomputed_hyperplanes": sources.count("precomputed_hyperplanes"),
            "n_evaporation_ref_user_supplied": facts["n_user_supplied_ref"],
            "n_evaporation_ref_default_midpoint": facts["n_default_midpoint_ref"],
        },
    }


def _plane_counts(case: Case) -> list[int]:
    stages = range(case.horizon.n_stages)
    return [
        max((len(case.tables.hydro.planes_of(h, stage)) for stage in stages), default=0)
        for h in range(len(case.system.hydros))
    ]


def _without_lags(case: Case) -> list[int]:
    """Ids of the plants whose inflow has no lag."""
    with_lags = set(case.scenarios.lags.hydro.tolist())
    return [plant.id for h, plant in enumerate(case.system.hydros) if h not in with_lags]
