"""``scenarios/`` of a random case: load, inflows, sources and the noise that moves them."""

from __future__ import annotations

from files.draft import Draft, Row


def write_scenarios(draft: Draft) -> None:
    _write_loads(draft)
    _write_sources(draft)
    _write_inflows(draft)
    _write_noise(draft)


def _write_loads(draft: Draft) -> None:
    rows = [
        {
            "bus_id": bus,
            "stage_id": stage_id,
            "mean_mw": _mean_load(draft, stage_id),
            "std_mw": draft.choice([2.0, 4.0]) if draft.has("load_std") and bus == draft.buses[1] else 0.0,
        }
        for bus in draft.buses
        for stage_id in draft.stage_ids
    ]
    draft.table("scenarios/load_seasonal_stats.parquet", "bus_id stage_id mean_mw std_mw", rows)
    if draft.has("load_factors"):
        factors = draft.block_factors(draft.buses, "bus_id", ["factor"], 0.6, 1.4)
        draft.document("scenarios/load_factors.json", {"load_factors": factors})


def _mean_load(draft: Draft, stage_id: int) -> float:
    """So little where a stage has its own price of excess that there is some."""
    is_low = draft.has("penalties_override") and stage_id == draft.stage_ids[1]
    return 0.5 if is_low else round(draft.uniform(15, 26), 1)


def _write_sources(draft: Draft) -> None:
    if draft.has("ncs_stats"):
        rows = [
            {
                "ncs_id": draft.sources[0],
                "stage_id": stage_id,
                "mean": draft.choice([0.4, 0.6]),
                "std": draft.choice([0.08, 0.15, 0.9]),
            }
            for stage_id in draft.stage_ids
        ]
        draft.table("scenarios/non_controllable_stats.parquet", "ncs_id stage_id mean std", rows)
    if draft.has("ncs_factors"):
        factors = draft.block_factors(draft.sources, "ncs_id", ["factor"], 0.3, 1.2)
        draft.document("scenarios/non_controllable_factors.json", {"non_controllable_factors": factors})


def _write_inflows(draft: Draft) -> None:
    """Deviations that make some inflows negative, unless negative inflows would enter as they are."""
    low, high = (0.3, 0.8) if draft.non_negativity == "none" else (2.5, 6.0)
    earlier = range(-draft.n_lags, 0) if draft.has("prestudy") else ()
    rows = [
        {
            "hydro_id": hydro,
            "stage_id": stage_id,
            "mean_m3s": round(draft.uniform(3, 9), 2),
            "std_m3s": round(draft.uniform(low, high), 2),
        }
        for hydro in draft.hydros
        for stage_id in [*earlier, *draft.stage_ids]
        if draft.n_lags or (hydro, stage_id) != (draft.hydros[1], draft.stage_ids[1])
    ]
    draft.table("scenarios/inflow_seasonal_stats.parquet", "hydro_id stage_id mean_m3s std_m3s", rows)
    if draft.n_lags:
        _write_lags(draft)


def _write_lags(draft: Draft) -> None:
    """Orders differ by hydro and by stage."""
    rows: list[Row] = []
    for place, hydro in enumerate(draft.hydros):
        for stage_id in draft.stage_ids:
            order = 1 if place == 2 else draft.n_lags
            if place == 1 and stage_id == draft.stage_ids[0]:
                order = 0
            ratio = round(draft.uniform(0.6, 1), 2)
            rows += [
                {
                    "hydro_id": hydro,
                    "stage_id": stage_id,
                    "lag": lag,
                    "coefficient": round(draft.uniform(-0.2, 0.5), 3),
                    "residual_std_ratio": ratio,
                }
                for lag in range(1, order + 1)
            ]
    columns = "hydro_id stage_id lag coefficient residual_std_ratio"
    draft.table("scenarios/inflow_ar_coefficients.parquet", columns, rows)


def _write_noise(draft: Draft) -> None:
    """The tree itself, unless it is to be sampled; then the correlations it is sampled with."""
    if not draft.has("saa", "lhs"):
        n_entities = 3 + draft.has("load_std") + draft.has("ncs_stats")
        rows = [
            {
                "stage_id": stage_id,
                "opening_index": opening,
                "entity_index": entity,
                "value": round(draft.random.gauss(0, 1), 4),
            }
            for stage_id, n in zip(draft.stage_ids, draft.n_openings, strict=True)
            for opening in range(n)
            for entity in range(n_entities)
        ]
        columns = "stage_id opening_index entity_index value"
        draft.table("scenarios/noise_openings.parquet", columns, rows)
    elif draft.has("correlations"):
        profiles = {"default": _profile(draft, 0.7), "dry": _profile(draft, -0.5)}
        schedule = [{"stage_id": draft.stage_ids[1], "profile_name": "dry"}]
        draft.document(
            "scenarios/correlation.json", {"method": "spectral", "profiles": profiles, "schedule": schedule}
        )


def _profile(draft: Draft, correlation: float) -> Row:
    entities = [{"type": "inflow", "id": draft.hydros[place]} for place in (0, 2)]
    matrix = [[1.0, correlation], [correlation, 1.0]]
    return {"correlation_groups": [{"name": "g", "entities": entities, "matrix": matrix}]}
