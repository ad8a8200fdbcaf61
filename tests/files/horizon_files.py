"""``stages.json``, ``penalties.json`` and ``config.json`` of a random case."""

from __future__ import annotations

import datetime as dt

from files.draft import Draft, Row


def write_horizon(draft: Draft) -> None:
    n_stages = 3 if draft.has("par2") else draft.choice([3, 3, 4])
    first = draft.choice([2, 5, 11]) if draft.has("stage_offset") else 0
    draft.stage_ids = list(range(first, first + n_stages))
    # A tree of four stages is kept narrow: its size is the product of its openings.
    draft.n_openings = (
        [1, 2, 2, 2] if n_stages == 4 else [draft.choice(n) for n in ([1, 2, 3], [2, 3], [2, 3])]
    )
    shares = [
        [draft.uniform(60, 300) for _ in range(draft.choice([2, 3]) if draft.has("blocks") else 1)]
        for _ in range(n_stages)
    ]
    draft.first_month = draft.choice([0, 5, 10])
    draft.hours = [fitting_hours(shares[t], **_dates(draft, t)) for t in range(n_stages)]
    draft.n_lags = 2 if draft.has("par2") else 1 if draft.has("par1") else 0
    has_seasons = draft.has("seasons", "par1", "par2", "evap", "prod_seasonal")
    stages: Row = {
        "policy_graph": _policy_graph(draft),
        "stages": [_stage(draft, t, has_seasons) for t in range(n_stages)],
    }
    if has_seasons:
        months = [{"id": month, "label": f"m{month}", "month_start": month + 1} for month in range(12)]
        stages["season_definitions"] = {"cycle_type": "monthly", "seasons": draft.shuffled(months)}
    if draft.n_lags and draft.has("prestudy"):
        stages["pre_study_stages"] = [
            {"id": -lag, "season_id": (draft.first_month - lag) % 12, **_dates(draft, -lag)}
            for lag in range(1, draft.n_lags + 1)
        ]
    draft.document("stages.json", stages)


def fitting_hours(shares: list[float], start_date: str, end_date: str) -> list[float]:
    """The hours between two dates, divided in proportion to ``shares``."""
    hours = 24 * (dt.date.fromisoformat(end_date) - dt.date.fromisoformat(start_date)).days
    return [round(hours * share / sum(shares), 1) for share in shares]


def _dates(draft: Draft, t: int) -> Row:
    months = [draft.first_month + t, draft.first_month + t + 1]
    start, end = (dt.date(2025 + month // 12, month % 12 + 1, 1) for month in months)
    return {"start_date": str(start), "end_date": str(end)}


def _policy_graph(draft: Draft) -> Row:
    graph: Row = {
        "type": "finite_horizon",
        "annual_discount_rate": 0.3 if draft.has("discount") else 0.0,
    }
    if draft.has("discount_override"):
        transitions = []
        for source, target in zip(draft.stage_ids, draft.stage_ids[1:], strict=False):
            transitions.append({"source_id": source, "target_id": target, "probability": 1.0})
            if draft.likely(0.7):
                transitions[-1]["annual_discount_rate_override"] = draft.choice([0.0, 0.8, 1.5])
        graph["transitions"] = draft.shuffled(transitions)
    return graph


def _stage(draft: Draft, t: int, has_seasons: bool) -> Row:
    blocks = [
        {"id": block, "name": f"b{block}", "hours": hours} for block, hours in enumerate(draft.hours[t])
    ]
    stage: Row = {
        "id": draft.stage_ids[t],
        "blocks": draft.shuffled(blocks),
        "num_scenarios": draft.n_openings[t],
        **_dates(draft, t),
    }
    if has_seasons:
        stage["season_id"] = (draft.first_month + t) % 12
    if draft.has("cvar"):
        cvar = {"alpha": draft.choice([0.3, 0.5, 1.0]), "lambda": draft.choice([0.4, 1.0, 0.2])}
        stage["risk_measure"] = draft.choice(["expectation", {"cvar": cvar}])
    if draft.has("lhs"):
        stage["sampling_method"] = "lhs"
    if draft.n_lags:
        stage["state_variables"] = {"storage": True, "inflow_lags": True}
    return stage


def write_penalties(draft: Draft) -> None:
    choice = draft.choice
    hydro = {
        "spillage_cost": choice([0.01, 0.5]),
        "fpha_turbined_cost": choice([0.02, 0.3]),
        "diversion_cost": 0.05,
        "turbined_violation_below_cost": choice([30.0, 200.0]),
        "outflow_violation_below_cost": choice([25.0, 300.0]),
        "outflow_violation_above_cost": choice([15.0, 200.0]),
        "generation_violation_below_cost": choice([35.0, 220.0]),
        "evaporation_violation_cost": choice([60.0, 500.0]),
        "water_withdrawal_violation_cost": choice([70.0, 600.0]),
        "storage_violation_below_cost": 1e4,
        "filling_target_violation_cost": 1e5,
    }
    draft.penalties = dict(hydro)
    if draft.likely(0.6):
        hydro["inflow_nonnegativity_cost"] = choice([40.0, 300.0])
    for name in ("water_withdrawal", "evaporation"):
        if draft.likely(0.6):
            hydro[f"{name}_violation_pos_cost"] = choice([5.0, 80.0])
            hydro[f"{name}_violation_neg_cost"] = choice([20.0, 90.0])
    segments = [
        {"depth_mw": choice([4.0, 9.0]), "cost": choice([400.0, 700.0])},
        {"depth_mw": None, "cost": 1500.0},
    ]
    draft.document(
        "penalties.json",
        {
            "bus": {"deficit_segments": segments, "excess_cost": choice([0.0, 3.0])},
            "line": {"exchange_cost": choice([0.2, 1.0])},
            "hydro": hydro,
            "non_controllable_source": {"curtailment_cost": choice([0.3, 2.0])},
        },
    )


def write_config(draft: Draft) -> None:
    rules = [
        {"type": "iteration_limit", "limit": 90},
        {"type": "bound_stalling", "iterations": 30, "tolerance": 1e-11},
    ]
    training: Row = {
        "forward_passes": 4,
        "stopping_rules": draft.shuffled(rules),
        "tree_seed": draft.choice([42, 7, -3]),
    }
    if draft.has("select"):
        training["cut_selection"] = {
            "enabled": True,
            "method": draft.choice(["level1", "lml1", "domination"]),
            "check_frequency": draft.choice([3, 5]),
            "memory_window": draft.choice([3, 10]),
        }
    if draft.has("out_of_sample"):
        training["scenario_source"] = {"seed": 9, "inflow": {"scheme": "out_of_sample"}}
    modeling = {"inflow_non_negativity": {"method": draft.non_negativity}}
    draft.document("config.json", {"training": training, "modeling": modeling})
