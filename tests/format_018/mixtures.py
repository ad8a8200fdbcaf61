"""Random cases of all elements without state, with those that link stages in time added to them."""

from __future__ import annotations

import datetime as dt
from random import Random

from format_018.small import START, Case018

HOURS = (36.0, 100.0, 400.0, 900.0)
OTHERWISE = ("losses", "sources", "contracts")
"""Elements that the public Cobre 0.18 leaves out of the problem, or that may make the future earn money."""


def with_time(case: Case018, seed: int, *, is_public: bool = False) -> Case018:
    """Chronological blocks, water that takes time, thermals that are decided a stage ahead.

    ``is_public``: without rivers that the public Cobre 0.18 computes otherwise (those of `format_018.plans.Optimum`).
    """
    draw = Random(f"{seed} time")
    for stage in case.documents["stages.json"]["stages"]:
        if len(stage["blocks"]) > 1 and draw.random() < 0.6:
            stage["block_mode"] = "chronological"
    _delay_rivers(draw, case, is_public)
    _order_fuel(draw, case)
    return case


def _delay_rivers(draw: Random, case: Case018, is_public: bool) -> None:
    before_last = sum(sum(blocks) for blocks in case.hours[:-1])
    plants = {each["id"]: each for each in case.documents["system/hydros.json"]["hydros"]}
    released = case.documents["initial_conditions.json"].setdefault("past_defluences", [])
    hours: dict[int, float] = {}
    for plant in plants.values():
        below = plants.get(plant["downstream_id"])
        if below is None or below.get("entry_stage_id") or draw.random() < 0.3:
            continue
        lasting = hours.setdefault(below["id"], draw.choice(HOURS))
        start = START - dt.timedelta(hours=lasting + 24.0)
        window = {"hydro_id": plant["id"], "start_date": str(start), "end_date": str(START)}
        value = round(draw.uniform(0.0, 20.0), 1)
        if is_public and (below.get("exit_stage_id") or lasting > before_last):
            continue
        plant["travel_time_hours"] = lasting
        released.append({**window, "value_m3s": value})


def _order_fuel(draw: Random, case: Case018) -> None:
    bounded = {row["thermal_id"] for row in case.tables.get("constraints/thermal_bounds.parquet", [])}
    decided = case.documents["initial_conditions.json"].setdefault("past_anticipated_commitments", [])
    for plant in case.documents["system/thermals.json"]["thermals"]:
        comes_or_goes = plant.get("entry_stage_id") or plant.get("exit_stage_id")
        limits = plant["generation"]
        if comes_or_goes or plant["id"] in bounded or limits["min_mw"] or draw.random() < 0.5:
            continue
        plant["anticipated_config"] = {"lead_stages": 1}
        window = {"thermal_id": plant["id"], "start_date": str(START), "end_date": "2025-02-01"}
        decided.append(
            {**window, "value_mw": min(round(draw.uniform(0.0, limits["max_mw"]), 1), limits["max_mw"])}
        )


def made_certain(case: Case018) -> Case018:
    """One opening in each stage, so that a policy has one cost."""
    path = "scenarios/noise_openings.parquet"
    case.tables[path] = [row for row in case.tables[path] if row["opening_index"] == 0]
    for stage in case.documents["stages.json"]["stages"]:
        stage.update(num_openings=1, risk_measure="expectation")
    training = case.documents["config.json"]["training"]
    training["selection"]["forward_passes"] = 1
    training["stopping_rules"] = [
        {"type": "iteration_limit", "limit": 80},
        {"type": "bound_stalling", "iterations": 12, "tolerance": 1e-12},
    ]
    return case
