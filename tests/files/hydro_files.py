"""Reservoirs of a random case: a chain of three, how they generate and what evaporates from them."""

from __future__ import annotations

from files.draft import Draft, Row

GEOMETRY = [(0.0, 0.5), (3.0, 1.2), (7.5, 2.5), (16.0, 3.0)]


def write_hydros(draft: Draft) -> None:
    draft.hydros = draft.shuffled(draft.ids(3))
    stored = [h for h in draft.hydros if draft.likely(0.85) or draft.non_negativity == "none"]
    hydros = [_hydro(draft, place, hydro in stored) for place, hydro in enumerate(draft.hydros)]
    draft.document("system/hydros.json", {"hydros": hydros})
    start: Row = {
        "storage": [{"hydro_id": hydro, "value_hm3": draft.choice([3.0, 5.0])} for hydro in stored],
        "filling_storage": [],
    }
    if draft.n_lags:
        start["past_inflows"] = [
            {"hydro_id": h, "values_m3s": [round(draft.uniform(3, 9), 2) for _ in range(draft.n_lags)]}
            for h in draft.hydros
        ]
    draft.document("initial_conditions.json", start)
    _write_geometry(draft)
    _write_production(draft)


def _hydro(draft: Draft, place: int, is_stored: bool) -> Row:
    choice, chain = draft.choice, draft.hydros
    generation: Row = {
        "model": choice(["constant_productivity", "linearized_head"])
        if place == 1
        else "constant_productivity",
        "productivity_mw_per_m3s": choice([0.5, 0.8, 1.1]),
        "min_turbined_m3s": choice([0.0, 3.0]) if draft.has("soft") else 0.0,
        "max_turbined_m3s": choice([10.0, 18.0]),
        "min_generation_mw": choice([0.0, 2.0]) if draft.has("soft") else 0.0,
        "max_generation_mw": choice([7.0, 30.0]),
    }
    if draft.has("fpha") and place == 1:
        generation.update(model="fpha", min_turbined_m3s=0.0, max_turbined_m3s=15.0, max_generation_mw=12.0)
        del generation["productivity_mw_per_m3s"]
    hydro: Row = {
        "id": chain[place],
        "name": f"h{chain[place]}",
        "bus_id": draft.buses[place % 2],
        "downstream_id": [chain[2], chain[2], None][place],
        # A reservoir without an initial storage starts empty, so nothing may be asked of it.
        "reservoir": {
            "min_storage_hm3": choice([0.0, 1.0]) if is_stored else 0.0,
            "max_storage_hm3": choice([8.0, 15.0]),
        },
        "outflow": {
            "min_outflow_m3s": choice([0.0, 6.0]) if draft.has("soft") else 0.0,
            "max_outflow_m3s": choice([None, 7.0, 12.0]) if draft.has("soft") else None,
        },
        "generation": generation,
    }
    if draft.has("penalties_entity") and place < 2:
        names = draft.random.sample(sorted(draft.penalties), 6)
        hydro["penalties"] = {name: round(draft.penalties[name] * draft.uniform(0.3, 2), 3) for name in names}
    if draft.has("diversion") and place == 0:
        hydro["diversion"] = {"downstream_id": chain[1], "max_flow_m3s": 4.0}
    if draft.has("evap") and place != 1:
        hydro["evaporation"] = {
            "coefficients_mm": [
                round(draft.uniform(-30 if draft.likely(0.2) else 20, 150), 1) for _ in range(12)
            ]
        }
        if draft.has("evap_reference"):
            volumes = [round(draft.uniform(1, 8), 2) for _ in range(12)]
            hydro["evaporation"]["reference_volumes_hm3"] = volumes
    return hydro


def _write_geometry(draft: Draft) -> None:
    if not draft.has("evap"):
        return
    rows = [
        {"hydro_id": draft.hydros[place], "volume_hm3": volume, "height_m": 100 + volume, "area_km2": area}
        for place in (0, 2)
        for volume, area in GEOMETRY
    ]
    draft.table("system/hydro_geometry.parquet", "hydro_id volume_hm3 height_m area_km2", rows)


def _write_production(draft: Draft) -> None:
    first, second, third = draft.stage_ids[:3]
    constant = {"model": "constant_productivity"}
    models: list[Row] = []
    if draft.has("fpha"):
        _write_planes(draft, third)
        ranges = [
            {"start_stage_id": first, "end_stage_id": first, "productivity_override": 0.7, **constant},
            {
                "start_stage_id": second,
                "end_stage_id": None,
                "model": "fpha",
                "fpha_config": {"source": "precomputed"},
            },
        ]
        models.append(_by_stage(draft, draft.hydros[1], ranges))
    if draft.has("prod_override"):
        ranges = [
            {"start_stage_id": first, "end_stage_id": second, "productivity_override": 0.33, **constant},
            {"start_stage_id": third, "end_stage_id": None, **constant},
        ]
        models.append(_by_stage(draft, draft.hydros[0], ranges))
    if draft.has("prod_seasonal"):
        season = {"season_id": (draft.first_month + 1) % 12, "productivity_override": 1.4, **constant}
        models.append(
            {
                "hydro_id": draft.hydros[2],
                "selection_mode": "seasonal",
                "default_model": "constant_productivity",
                "seasons": [season],
            }
        )
    if models:
        draft.document("system/hydro_production_models.json", {"production_models": models})


def _by_stage(draft: Draft, hydro: int, ranges: list[Row]) -> Row:
    return {"hydro_id": hydro, "selection_mode": "stage_ranges", "stage_ranges": draft.shuffled(ranges)}


def _write_planes(draft: Draft, own_stage: int) -> None:
    """Three planes for every stage, and two that replace them in one."""
    rows = [
        {
            "plane_id": plane,
            "gamma_0": 0.3 + plane,
            "gamma_v": 0.2 - 0.08 * plane,
            "gamma_q": 0.9 - 0.25 * plane,
            "gamma_s": -0.01 * plane,
            "kappa": draft.choice([0.9, 1.0, None]),
        }
        for plane in range(3)
    ]
    rows += [
        {
            "stage_id": own_stage,
            "plane_id": plane,
            "gamma_0": 0.5 + 2 * plane,
            "gamma_v": 0.1,
            "gamma_q": 0.8 - 0.3 * plane,
            "gamma_s": -0.02,
            "kappa": draft.choice([0.8, 0.97]),
        }
        for plane in range(2)
    ]
    draft.table(
        "system/fpha_hyperplanes.parquet",
        "hydro_id stage_id plane_id gamma_0 gamma_v gamma_q gamma_s",
        [{"hydro_id": draft.hydros[1], **row} for row in rows],
        optional="kappa",
    )
