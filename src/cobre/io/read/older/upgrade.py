"""From 0.5.1 to 0.18: the JSON files of a case, as plain data, rewritten file by file."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Data = dict[str, Any]

ONE_DATE = "1900-01-01"
"""The same for all entities, so that their order is that of their ids."""
DATED = {
    "system/buses.json": "buses",
    "system/lines.json": "lines",
    "system/hydros.json": "hydros",
    "system/thermals.json": "thermals",
    "system/non_controllable_sources.json": "non_controllable_sources",
    "system/pumping_stations.json": "pumping_stations",
    "system/energy_contracts.json": "contracts",
}
LIMITS = ("min_turbined_m3s", "max_turbined_m3s", "min_generation_mw", "max_generation_mw")
DEFAULT_LIMIT = 100
"""Iterations of a case without stopping rules."""
MODELS = "system/hydro_production_models.json"


def upgrade_documents(documents: Mapping[str, Data]) -> dict[str, Data]:
    """The JSON files of 0.5.1, by path, in the shape of 0.18.

    What the same word means now and meant then is left to the reader, except where it is needed to choose the words.
    ``constraints/exchange_factors.json`` has no successor and is left out.
    """
    found = {path: copy.deepcopy(dict(data)) for path, data in documents.items()}
    found.pop("constraints/exchange_factors.json", None)
    if MODELS in found or "system/hydros.json" in found:
        found[MODELS] = _models(found)
    steps: dict[str, Callable[[Data], None]] = {
        "config.json": _config,
        "stages.json": _stages,
        "penalties.json": _penalties,
        "initial_conditions.json": _initial_conditions,
        "system/hydros.json": _hydros,
        "system/thermals.json": _thermals,
        "constraints/generic_constraints.json": _constraints,
    }
    for path, step in steps.items():
        if path in found:
            step(found[path])
    for path, name in DATED.items():
        for entity in found.get(path, {}).get(name, ()):
            entity["operational_start_date"] = ONE_DATE
    return found


def _move(data: Data, old: str, new: str) -> None:
    if old in data:
        data[new] = data.pop(old)


def _config(config: Data) -> None:
    training = config["training"]
    training["selection"] = {"method": "sampled", "forward_passes": training.pop("forward_passes", 1)}
    if training.get("stopping_rules") is None:
        training["stopping_rules"] = [{"type": "iteration_limit", "limit": DEFAULT_LIMIT}]
    for name in ("cut_formulation", "forward_pass", "cut_selection"):
        training.pop(name, None)
    simulation = config.get("simulation")
    if simulation is not None:
        wanted = simulation.pop("num_scenarios", 2000)
        simulation["selection"] = {"method": "sampled", "num_scenarios": wanted}
        for name in ("policy_type", "output_path", "output_mode"):
            simulation.pop(name, None)
    method = (config.get("modeling") or {}).get("inflow_non_negativity")
    if method is not None:
        method.pop("penalty_cost", None)
    if config.get("policy") is not None:
        config["policy"].pop("validate_compatibility", None)


def _stages(document: Data) -> None:
    for stage in document["stages"]:
        _move(stage, "num_scenarios", "num_openings")


def _penalties(document: Data) -> None:
    _move(document["hydro"], "fpha_turbined_cost", "turbined_cost")


def _initial_conditions(document: Data) -> None:
    document.pop("past_inflows", None)


def _hydros(document: Data) -> None:
    for hydro in document["hydros"]:
        generation = hydro["generation"]
        generation.pop("productivity_mw_per_m3s", None)
        hydro["unit_groups"] = [
            {
                "id": 0,
                "name": hydro["name"],
                "bus_id": hydro.pop("bus_id"),
                **{name: generation[name] for name in LIMITS},
            }
        ]
        if hydro.get("filling") is not None:
            _move(hydro["filling"], "filling_inflow_m3s", "filling_min_rate_m3s")
        if hydro.get("penalties") is not None:
            _move(hydro["penalties"], "fpha_turbined_cost", "turbined_cost")


def _thermals(document: Data) -> None:
    for thermal in document["thermals"]:
        lag = thermal.pop("gnl_config", None)
        if lag is not None and lag["lag_stages"] > 0:
            thermal["anticipated_config"] = {"lead_stages": lag["lag_stages"]}


def _constraints(document: Data) -> None:
    for constraint in document.get("constraints", ()):
        constraint.pop("sense", None)


def _models(documents: Mapping[str, Data]) -> Data:
    """Every plant has an entry now, and every stage of a plant without planes its productivity."""
    document = dict(documents.get(MODELS, {}))
    given = {entry["hydro_id"]: entry for entry in document.get("production_models", ())}
    by_id = {stage["id"]: stage for stage in reversed(documents.get("stages.json", {}).get("stages", []))}
    stages = [by_id[each] for each in sorted(by_id)]
    hydros = documents.get("system/hydros.json", {}).get("hydros", ())
    entries = []
    for hydro in hydros:
        generation, entry = hydro["generation"], given.pop(hydro["id"], None)
        if entry is None and generation["model"] == "fpha":
            continue  # an error, which is reported elsewhere
        own = {"model": generation["model"]}
        if "productivity_mw_per_m3s" in generation:
            own["productivity_mw_per_m3s"] = generation["productivity_mw_per_m3s"]
        entries.append(_entry(hydro["id"], own, entry, stages))
    return {**document, "production_models": [*entries, *map(_with_names_of_018, given.values())]}


def _entry(hydro_id: int, own: Data, entry: Data | None, stages: Sequence[Data]) -> Data:
    """The models of a plant by ranges of stages, by default those of the plant itself."""
    if entry is None:
        ranges = [{"start_stage_id": stages[0]["id"] if stages else 0, "end_stage_id": None, **own}]
    elif entry["selection_mode"] == "stage_ranges":
        ranges = _filled([_choice(each, own) for each in entry["stage_ranges"]], own, stages)
    else:
        ranges = _by_season(entry, own, stages)
    return {"hydro_id": hydro_id, "selection_mode": "stage_ranges", "stage_ranges": ranges}


def _choice(choice: Data, own: Data) -> Data:
    """A choice with its productivity: the override, or that of the plant."""
    found = dict(choice)
    override = found.pop("productivity_override", None)
    if found["model"] != "fpha":
        value = own.get("productivity_mw_per_m3s") if override is None else override
        if value is not None:
            found["productivity_mw_per_m3s"] = value
    return found


def _with_names_of_018(entry: Data) -> Data:
    """The entry of a plant that does not exist: only its words change."""
    found = dict(entry)
    for name in ("stage_ranges", "seasons"):
        if name in found:
            found[name] = [_choice(each, {}) for each in found[name]]
    return found


def _filled(ranges: Sequence[Data], own: Data, stages: Sequence[Data]) -> list[Data]:
    """``ranges`` and, between them, those of the plant's own model."""
    ids = [stage["id"] for stage in stages]
    found = list(ranges)
    for stage_id in ids:
        if not any(_holds(each, stage_id) for each in ranges):
            last = found[-1] if found and found[-1].get("is_own") else None
            if last is not None and last["end_stage_id"] == stage_id - 1:
                last["end_stage_id"] = stage_id
            else:
                found.append({"start_stage_id": stage_id, "end_stage_id": stage_id, **own, "is_own": True})
    for each in found:
        each.pop("is_own", None)
    return found


def _holds(choice: Data, stage_id: int) -> bool:
    end = choice.get("end_stage_id")
    return bool(choice["start_stage_id"] <= stage_id and (end is None or stage_id <= end))


def _by_season(entry: Data, own: Data, stages: Sequence[Data]) -> list[Data]:
    """Choices of seasons, written stage by stage."""
    default = {**own, "model": entry["default_model"]}
    if default["model"] == "fpha":
        default.pop("productivity_mw_per_m3s", None)
    by_season = {each["season_id"]: each for each in reversed(entry["seasons"])}
    ranges = []
    for stage in stages:
        choice = by_season.get(stage.get("season_id"))
        found = default if choice is None else _choice(choice, own)
        found = {key: value for key, value in found.items() if key != "season_id"}
        ranges.append({"start_stage_id": stage["id"], "end_stage_id": stage["id"], **found})
    return ranges
