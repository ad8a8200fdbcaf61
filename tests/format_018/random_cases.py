"""Cases drawn from a seed, with any mixture of the elements of 0.18 that add no state.

A case has two to four months, one to three openings in each (given in a file, so that every program sees the same
noise), and few plants: its whole tree is a linear program that solves at once. Limits are drawn so that every state
that a policy can reach has a feasible decision.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from format_018 import random_constraints, random_rivers
from format_018.plain_data import Noise, PlainData
from format_018.small import DATE, Case018

Element = Callable[[Random, Case018], None]


def random_case(seed: int, *, leaves_out: tuple[str, ...] = ()) -> Case018:
    """The case of a seed; the same on every machine. ``leaves_out`` names elements that it must not have."""
    draw = Random(seed)
    case = _frame(draw)
    random_rivers.add_rivers(draw, case)
    chosen = [name for name in ELEMENTS if draw.random() < CHANCE]
    return _with_elements(case, seed, [name for name in chosen if name not in leaves_out])


def case_with(seed: int, *names: str) -> Case018:
    """The frame and the rivers of a seed with just these elements, or with all where none is named."""
    draw = Random(seed)
    case = _frame(draw)
    random_rivers.add_rivers(draw, case)
    return _with_elements(case, seed, [name for name in ELEMENTS if not names or name in names])


def _with_elements(case: Case018, seed: int, names: list[str]) -> Case018:
    for name in names:
        ELEMENTS[name](Random(f"{seed} {name}"), case)  # whatever is left out, the others stay as they are
    _openings(Random(f"{seed} noise"), case)
    return case


def elements_of(seed: int) -> set[str]:
    """Names of the elements that a seed draws."""
    draw = Random(seed)
    random_rivers.add_rivers(draw, _frame(draw))
    return {name for name in ELEMENTS if draw.random() < CHANCE}


CHANCE = 0.3


def rounded(draw: Random, low: float, high: float, digits: int = 2) -> float:
    return round(draw.uniform(low, high), digits)


def _frame(draw: Random) -> Case018:
    """Stages, buses, loads, lines and thermals."""
    n_stages = draw.choice((2, 3, 3, 4))
    hours = []
    for days in (31, 28, 31, 30)[:n_stages]:
        count = draw.choice((1, 1, 2, 3))
        parts = [draw.randint(1, 4) for _ in range(count)]
        hours.append([24.0 * days * part / sum(parts) for part in parts])
    n_buses = draw.choice((1, 2, 2, 3))
    case = Case018(hours, [rounded(draw, 40.0, 110.0) for _ in range(n_buses)])
    stages = case.documents["stages.json"]
    for index, stage in enumerate(stages["stages"]):
        stage["season_id"] = index
        stage["num_openings"] = draw.choice((1, 2, 2, 3)) if index else draw.choice((1, 1, 2))
    stages["season_definitions"] = {
        "cycle_type": "monthly",
        "seasons": [{"id": month, "label": f"M{month}", "month_start": month + 1} for month in range(12)],
    }
    for bus in range(n_buses):
        for _ in range(draw.choice((1, 2))):
            case.add_thermal(rounded(draw, 10.0, 120.0), rounded(draw, 20.0, 60.0), bus)
    _lines(draw, case, n_buses)
    penalties = case.documents["penalties.json"]
    penalties["hydro"].update(spillage_cost=0.01, turbined_cost=0.005, diversion_cost=0.02)
    penalties["line"]["exchange_cost"] = 0.05
    return case


def _lines(draw: Random, case: Case018, n_buses: int) -> None:
    for target in range(1, n_buses):
        case.documents["system/lines.json"]["lines"].append(
            {
                "id": target - 1,
                "name": f"L{target}",
                "operational_start_date": DATE,
                "source_bus_id": draw.randrange(target),
                "target_bus_id": target,
                "capacity": {"direct_mw": rounded(draw, 5.0, 40.0), "reverse_mw": rounded(draw, 5.0, 40.0)},
            }
        )


def _openings(draw: Random, case: Case018) -> None:
    """Noise of every stage, opening and entity."""
    data = PlainData(case)
    noise = Noise(data)
    case.tables["scenarios/noise_openings.parquet"] = [
        {
            "stage_id": stage["id"],
            "opening_index": opening,
            "entity_index": entity,
            "value": rounded(draw, -1.6, 1.6, 3),
        }
        for stage in data.stages
        for opening in range(stage["num_openings"])
        for entity in range(noise.n_entities)
    ]
    training = case.documents["config.json"]["training"]
    training["scenario_source"] = {"openings": {"source": "file"}}
    training["selection"]["forward_passes"] = 4
    training["stopping_rules"] = [{"type": "iteration_limit", "limit": 40}]


# Time, risk and noise


def _discount(draw: Random, case: Case018) -> None:
    document = case.documents["stages.json"]
    document["policy_graph"]["annual_discount_rate"] = rounded(draw, 0.02, 0.2, 3)
    for stage in document["stages"]:
        if draw.random() < 0.4:
            stage["annual_discount_rate_override"] = rounded(draw, 0.0, 0.5, 3)


def _risk(draw: Random, case: Case018) -> None:
    for stage in case.documents["stages.json"]["stages"]:
        if draw.random() < 0.7:
            alpha, weight = rounded(draw, 0.2, 0.9), rounded(draw, 0.1, 1.0)
            stage["risk_measure"] = {"cvar": {"alpha": alpha, "lambda": weight}}


def _method(draw: Random, case: Case018) -> None:
    method = draw.choice(("penalty", "truncation_with_penalty", "truncation"))
    if case.tables.get("scenarios/inflow_ar_coefficients.parquet"):
        method = "penalty"  # truncation under lags is not convex
    else:
        for row in case.tables["scenarios/inflow_seasonal_stats.parquet"]:
            if row["hydro_id"] == 0:
                row["std_m3s"] *= 6.0  # inflows below 0
    case.documents["config.json"]["modeling"]["inflow_non_negativity"]["method"] = method


def _load_noise(draw: Random, case: Case018) -> None:
    rows = case.all_tables()["scenarios/load_seasonal_stats.parquet"]
    chosen = {row["bus_id"] for row in rows if draw.random() < 0.5}
    case.tables["scenarios/load_seasonal_stats.parquet"] = [
        {**row, "std_mw": rounded(draw, 1.0, 8.0) if row["bus_id"] in chosen else 0.0} for row in rows
    ]


def _load_factors(draw: Random, case: Case018) -> None:
    stages = case.documents["stages.json"]["stages"]
    case.set_load_factors(
        *([[rounded(draw, 0.7, 1.3) for _ in each["blocks"]] for each in stages] for _ in case.loads)
    )


def _lags(draw: Random, case: Case018) -> None:
    """Inflow models of order 1 or 2, with months before the study."""
    stages = case.documents["stages.json"]["stages"]
    given = case.all_tables()["scenarios/inflow_seasonal_stats.parquet"]
    statistics = [{**row, "std_m3s": row["std_m3s"] or 3.0} for row in given]
    coefficients, observed = [], []
    for number in case.inflows:
        order = draw.choice((0, 1, 1, 2))
        for lag in range(1, order + 1):
            statistics.append(
                {
                    "hydro_id": number,
                    "stage_id": -lag,
                    "mean_m3s": rounded(draw, 20, 40),
                    "std_m3s": rounded(draw, 5, 9),
                }
            )
        for stage in stages:
            for lag in range(1, order + 1):
                value = rounded(draw, 0.2, 0.5) / lag
                coefficients.append(
                    {"hydro_id": number, "stage_id": stage["id"], "lag": lag, "coefficient": value}
                )
        for start, end in (("2024-12-01", "2025-01-01"), ("2024-11-01", "2024-12-01")):
            value = rounded(draw, 15.0, 45.0)
            observed.append({"hydro_id": number, "start_date": start, "end_date": end, "value_m3s": value})
    if coefficients:
        case.tables["scenarios/inflow_seasonal_stats.parquet"] = statistics
        case.tables["scenarios/inflow_ar_coefficients.parquet"] = coefficients
        case.documents["initial_conditions.json"]["recent_observations"] = observed
        for stage in stages:
            stage["state_variables"] = {"storage": True, "inflow_lags": True}


# Sources, contracts, limits of the network


def _sources(draw: Random, case: Case018) -> None:
    for number in range(draw.choice((1, 2))):
        more: dict[str, Any] = {"bus_id": draw.randrange(len(case.loads))}
        if draw.random() < 0.3:
            more["allow_curtailment"] = False
        if draw.random() < 0.4:
            more["curtailment_cost"] = rounded(draw, 0.001, 0.1, 3)
        if draw.random() < 0.4:
            more[draw.choice(("entry_stage_id", "exit_stage_id"))] = 1
        case.add_source(rounded(draw, 10.0, 50.0), **more)
        stages = range(len(case.hours))
        if draw.random() < 0.6:
            case.tables.setdefault("scenarios/non_controllable_stats.parquet", []).extend(
                {
                    "ncs_id": number,
                    "stage_id": stage,
                    "mean": rounded(draw, 0.2, 0.7),
                    "std": rounded(draw, 0, 0.2),
                }
                for stage in stages
            )
        elif draw.random() < 0.5:
            case.tables.setdefault("constraints/ncs_bounds.parquet", []).append(
                {
                    "ncs_id": number,
                    "stage_id": draw.choice(stages),
                    "available_generation_mw": rounded(draw, 0.0, 20.0),
                }
            )
        if draw.random() < 0.3:
            case.tables.setdefault("constraints/penalty_overrides_ncs.parquet", []).append(
                {
                    "ncs_id": number,
                    "stage_id": draw.choice(stages),
                    "curtailment_cost": rounded(draw, 0.01, 0.5),
                }
            )


def _contracts(draw: Random, case: Case018) -> None:
    contracts = []
    for number in range(draw.choice((1, 2))):
        is_import = draw.random() < 0.6
        least = rounded(draw, 0.0, 4.0) if draw.random() < 0.4 else 0.0
        contracts.append(
            {
                "id": number,
                "name": f"K{number}",
                "operational_start_date": DATE,
                "bus_id": draw.randrange(len(case.loads)),
                "type": "import" if is_import else "export",
                "price_per_mwh": rounded(draw, 20.0, 90.0) if is_import else -rounded(draw, 5.0, 12.0),
                "limits": {"min_mw": least, "max_mw": least + rounded(draw, 3.0, 15.0)},
                **({"entry_stage_id": 1} if draw.random() < 0.3 else {}),
            }
        )
        if draw.random() < 0.5:
            stage = draw.randrange(len(case.hours))
            case.tables.setdefault("constraints/contract_bounds.parquet", []).append(
                {
                    "contract_id": number,
                    "stage_id": stage,
                    "block_id": draw.choice((None, len(case.hours[stage]) - 1)),
                    "max_mw": least + rounded(draw, 0.5, 3.0),
                    "price_per_mwh": contracts[-1]["price_per_mwh"] * 1.25,
                }
            )
    case.documents["system/energy_contracts.json"] = {"contracts": contracts}


def _thermal_limits(draw: Random, case: Case018) -> None:
    for plant in case.documents["system/thermals.json"]["thermals"]:
        most = plant["generation"]["max_mw"]
        if draw.random() < 0.4:
            plant["generation"]["min_mw"] = round(0.2 * most, 2)
        for stage, blocks in enumerate(case.hours):
            if draw.random() < 0.4:
                block = draw.choice((None, len(blocks) - 1))
                row = {"thermal_id": plant["id"], "stage_id": stage, "block_id": block}
                row["max_generation_mw"] = round(draw.uniform(0.4, 1.3) * most, 2)
                row["cost_per_mwh"] = rounded(draw, 10.0, 120.0) if block is None else None
                case.tables.setdefault("constraints/thermal_bounds.parquet", []).append(row)


def _thermal_entry(draw: Random, case: Case018) -> None:
    for plant in case.documents["system/thermals.json"]["thermals"]:
        if draw.random() < 0.4:
            plant[draw.choice(("entry_stage_id", "exit_stage_id"))] = 1


def _line_limits(draw: Random, case: Case018) -> None:
    for line in case.documents["system/lines.json"]["lines"]:
        if draw.random() < 0.3:
            line[draw.choice(("entry_stage_id", "exit_stage_id"))] = 1
        for stage, blocks in enumerate(case.hours):
            if draw.random() < 0.5:
                case.tables.setdefault("constraints/line_bounds.parquet", []).append(
                    {
                        "line_id": line["id"],
                        "stage_id": stage,
                        "block_id": draw.choice((None, 0, len(blocks) - 1)),
                        draw.choice(("direct_mw", "reverse_mw")): rounded(draw, 0.0, 30.0),
                    }
                )
            if draw.random() < 0.3:
                case.tables.setdefault("constraints/penalty_overrides_line.parquet", []).append(
                    {"line_id": line["id"], "stage_id": stage, "exchange_cost": rounded(draw, 0.1, 3.0)}
                )


def _losses(draw: Random, case: Case018) -> None:
    for line in case.documents["system/lines.json"]["lines"]:
        line["losses_percent"] = rounded(draw, 0.5, 12.0)


def _deficits(draw: Random, case: Case018) -> None:
    for bus in case.documents["system/buses.json"]["buses"]:
        if draw.random() < 0.6:
            first = rounded(draw, 200.0, 500.0)
            bus["deficit_segments"] = [
                {"depth_mw": rounded(draw, 2.0, 9.0), "cost": first},
                {"depth_mw": None, "cost": first + rounded(draw, 50.0, 900.0)},
            ]
        if draw.random() < 0.4:
            case.tables.setdefault("constraints/penalty_overrides_bus.parquet", []).append(
                {"bus_id": bus["id"], "stage_id": 0, "excess_cost": rounded(draw, 0.1, 2.0)}
            )


ELEMENTS: dict[str, Element] = {
    "lags": _lags,
    "discount": _discount,
    "risk": _risk,
    "method": _method,
    "load_noise": _load_noise,
    "load_factors": _load_factors,
    "sources": _sources,
    "contracts": _contracts,
    "thermal_limits": _thermal_limits,
    "thermal_entry": _thermal_entry,
    "line_limits": _line_limits,
    "losses": _losses,
    "deficits": _deficits,
    **random_rivers.ELEMENTS,
    **random_constraints.ELEMENTS,
}
