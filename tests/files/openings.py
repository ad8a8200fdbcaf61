"""The tree of noise of a case directory: read from its file, or sampled by the recipe in plain Python."""

from __future__ import annotations

import numpy as np

import noise_recipe as recipe
from files.folder import Folder

Entity = tuple[str, int]


def read_openings(folder: Folder) -> list[list[dict[Entity, float]]]:
    """``[stage][opening][entity]``: hydros, then loads that vary, then sources with statistics."""
    varying = {bus for (bus, _), row in folder.loads.items() if row["std_mw"] > 0}
    described = {source for source, _ in folder.source_stats}
    entities: list[Entity] = [("inflow", hydro["id"]) for hydro in folder.hydros]
    entities += [("load", bus["id"]) for bus in folder.buses if bus["id"] in varying]
    entities += [("ncs", source["id"]) for source in folder.sources if source["id"] in described]
    rows = folder.rows("scenarios/noise_openings.parquet")
    if rows:
        values = {(row["stage_id"], row["opening_index"], row["entity_index"]): row["value"] for row in rows}
        return [
            [
                {entity: values[stage["id"], opening, i] for i, entity in enumerate(entities)}
                for opening in range(stage["num_scenarios"])
            ]
            for stage in folder.stages
        ]
    return [
        [dict(zip(entities, map(float, opening), strict=True)) for opening in noise]
        for noise in _sampled(folder, entities)
    ]


def _sampled(folder: Folder, entities: list[Entity]) -> list[np.ndarray]:
    base = abs(folder.config["training"].get("tree_seed", 42))
    trees: list[np.ndarray] = []
    for t, stage in enumerate(folder.stages):
        # Stages of one season and year share their noise.
        if t and "season_id" in stage and _period(stage) == _period(folder.stages[t - 1]):
            trees.append(trees[-1][: stage["num_scenarios"]])
            continue
        shape = (base, stage["id"], stage["num_scenarios"], len(entities))
        if stage.get("sampling_method") == "lhs":
            noise = np.vectorize(recipe.moro)(recipe.lhs_probabilities(*shape))
        else:
            noise = recipe.saa(*shape)
        _correlate(folder, stage["id"], entities, noise)
        trees.append(noise)
    return trees


def _period(stage: dict) -> tuple[int | None, str]:
    return stage.get("season_id"), stage["start_date"][:4]


def _correlate(folder: Folder, stage_id: int, entities: list[Entity], noise: np.ndarray) -> None:
    correlation = folder.document("scenarios/correlation.json")
    if not correlation:
        return
    names = {entry["stage_id"]: entry["profile_name"] for entry in correlation.get("schedule", [])}
    profile = correlation["profiles"][names.get(stage_id, "default")]
    for group in profile["correlation_groups"]:
        places = [entities.index((member["type"], member["id"])) for member in group["entities"]]
        values, vectors = np.linalg.eigh(np.array(group["matrix"]))
        root = vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        noise[:, places] = noise[:, places] @ root
