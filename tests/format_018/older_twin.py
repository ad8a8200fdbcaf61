"""A small case of 0.18 written in the words of 0.5.1, for tests that want both."""

from __future__ import annotations

import copy

from format_018.small import Case018

DATED = {
    "buses": "buses",
    "lines": "lines",
    "hydros": "hydros",
    "thermals": "thermals",
    "non_controllable_sources": "non_controllable_sources",
    "pumping_stations": "pumping_stations",
    "energy_contracts": "contracts",
}


def older(case: Case018) -> Case018:
    """The same study, of plants with one unit group and one constant productivity each."""
    twin = copy.deepcopy(case)
    twin.tables = twin.all_tables()
    documents = twin.documents
    training = documents["config.json"]["training"]
    training["forward_passes"] = training.pop("selection")["forward_passes"]
    for stage in documents["stages.json"]["stages"]:
        stage["num_scenarios"] = stage.pop("num_openings")
    prices = documents["penalties.json"]["hydro"]
    prices["fpha_turbined_cost"] = prices.pop("turbined_cost")
    for file, key in DATED.items():
        for entity in documents.get(f"system/{file}.json", {}).get(key, ()):
            del entity["operational_start_date"]
    models = documents.pop("system/hydro_production_models.json")["production_models"]
    ranges = {each["hydro_id"]: each["stage_ranges"][0] for each in models}
    for hydro in documents["system/hydros.json"]["hydros"]:
        (group,) = hydro.pop("unit_groups")
        hydro["bus_id"] = group["bus_id"]
        name = "productivity_mw_per_m3s"
        hydro["generation"][name] = ranges[hydro["id"]][name]
    return twin
