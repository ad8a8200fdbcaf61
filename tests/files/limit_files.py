"""``constraints/`` of a random case: limits and prices by stage, and generic constraints."""

from __future__ import annotations

from files.draft import Draft, Row

HYDRO_LIMITS = (
    "min_turbined_m3s max_turbined_m3s min_storage_hm3 max_storage_hm3 min_outflow_m3s max_outflow_m3s "
    "min_generation_mw max_generation_mw max_diversion_m3s filling_inflow_m3s water_withdrawal_m3s"
)


def write_limits(draft: Draft) -> None:
    first, second, third = draft.stage_ids[:3]
    if draft.has("thermal_bounds"):
        rows: list[Row] = [
            {
                "thermal_id": draft.thermals[0],
                "stage_id": first,
                "min_generation_mw": 1.0,
                "cost_per_mwh": 33.0,
            },
            {"thermal_id": draft.thermals[1], "stage_id": third, "max_generation_mw": 7.0},
        ]
        columns = "thermal_id stage_id min_generation_mw max_generation_mw cost_per_mwh"
        draft.table("constraints/thermal_bounds.parquet", columns, rows, optional="block_id")
    if draft.has("line_bounds"):
        rows = [
            {"line_id": draft.lines[0], "stage_id": first, "direct_mw": 2.0},
            {"line_id": draft.lines[1], "stage_id": second, "reverse_mw": 8.0},
        ]
        draft.table("constraints/line_bounds.parquet", "line_id stage_id direct_mw reverse_mw", rows)
    if draft.has("ncs_bounds"):
        rows = [
            {
                "ncs_id": source,
                "stage_id": stage_id,
                "available_generation_mw": draft.choice([3.0, 6.0]),
            }
            for source, stage_id in zip(draft.sources, (first, third), strict=True)
        ]
        draft.table("constraints/ncs_bounds.parquet", "ncs_id stage_id available_generation_mw", rows)
    if draft.has("pump_bounds"):
        rows = [{"stage_id": second, "min_m3s": 2.0}, {"stage_id": third, "max_m3s": 3.0}]
        rows = [{"station_id": draft.stations[0], **row} for row in rows]
        draft.table("constraints/pumping_bounds.parquet", "station_id stage_id min_m3s max_m3s", rows)
    if draft.has("contract_bounds"):
        rows = [
            {"stage_id": second, "max_mw": 2.0, "price_per_mwh": 130.0},
            {"stage_id": third, "min_mw": 1.0, "price_per_mwh": -70.0},
        ]
        rows = [{"contract_id": i, **row} for i, row in zip(draft.contracts, rows, strict=True)]
        columns = "contract_id stage_id min_mw max_mw price_per_mwh"
        draft.table("constraints/contract_bounds.parquet", columns, rows)
    if draft.has("exchange_factors"):
        factors = draft.block_factors(draft.lines, "line_id", ["direct_factor", "reverse_factor"], 0.3, 1.5)
        draft.document("constraints/exchange_factors.json", {"exchange_factors": factors})
    if draft.has("hydro_bounds", "withdrawal"):
        _write_hydro_bounds(draft)
    if draft.has("penalties_override"):
        _write_penalties(draft)
    if draft.has("generic"):
        _write_generic(draft)


def _write_hydro_bounds(draft: Draft) -> None:
    rows = []
    for place, hydro in enumerate(draft.hydros):
        for stage_id in draft.stage_ids:
            row: Row = {}
            if draft.has("withdrawal") and draft.likely(0.7):
                row["water_withdrawal_m3s"] = draft.choice([1.0, 3.0, 25.0])
            if draft.has("hydro_bounds"):
                row.update(_hydro_limits(draft, place))
            if row:
                rows.append({"hydro_id": hydro, "stage_id": stage_id, **row})
    draft.table("constraints/hydro_bounds.parquet", "hydro_id stage_id", rows, optional=HYDRO_LIMITS)


def _hydro_limits(draft: Draft, place: int) -> Row:
    limits = {
        "max_storage_hm3": 7.0,
        "min_outflow_m3s": 4.0,
        "max_outflow_m3s": 9.0,
        "max_generation_mw": 5.0,
        "min_generation_mw": 1.5,
    }
    if place != 1:
        limits.update(min_turbined_m3s=2.0, max_turbined_m3s=6.0)
    if place == 0 and draft.has("diversion"):
        limits["max_diversion_m3s"] = draft.choice([1.0, 6.0])
    return {name: value for name, value in limits.items() if draft.likely(0.3)}


def _write_penalties(draft: Draft) -> None:
    second = draft.stage_ids[1]
    rows: list[Row] = [{"bus_id": draft.buses[0], "stage_id": second, "excess_cost": 9.0}]
    draft.table("constraints/penalty_overrides_bus.parquet", "bus_id stage_id excess_cost", rows)
    rows = [{"line_id": draft.lines[0], "stage_id": second, "exchange_cost": 7.0}]
    draft.table("constraints/penalty_overrides_line.parquet", "line_id stage_id exchange_cost", rows)
    if draft.sources:
        rows = [{"source_id": draft.sources[1], "stage_id": second, "curtailment_cost": 50.0}]
        draft.table("constraints/penalty_overrides_ncs.parquet", "source_id stage_id curtailment_cost", rows)
    rows = [
        {
            "hydro_id": hydro,
            "stage_id": stage_id,
            **{
                name: round(cost * draft.uniform(0.2, 3), 3)
                for name, cost in draft.penalties.items()
                if draft.likely(0.5)
            },
        }
        for hydro in draft.hydros
        for stage_id in draft.stage_ids
        if draft.likely(0.7)
    ]
    draft.table(
        "constraints/penalty_overrides_hydro.parquet",
        "hydro_id stage_id",
        rows,
        optional=" ".join(draft.penalties),
    )


def _variables(draft: Draft) -> list[str]:
    """What a generic constraint may speak of; what only some cases have comes twice, so that it is drawn more."""
    (h0, h1, h2), (l0, l1), (b0, b1) = draft.hydros, draft.lines, draft.buses
    common = (
        f"hydro_storage({h0});hydro_turbined({h0});hydro_spillage({h2});hydro_outflow({h2});"
        f"hydro_generation({h1});hydro_withdrawal({h0});hydro_turbined({h1}, 0);"
        f"thermal_generation({draft.thermals[1]});thermal_generation({draft.thermals[0]},0);"
        f"line_direct({l0});line_reverse({l1});line_exchange({l0});bus_deficit({b0});bus_excess({b1})"
    ).split(";")
    rare = []
    if draft.has("evap"):
        rare.append(f"hydro_evaporation({h2})")
    if draft.has("diversion"):
        rare.append(f"hydro_diversion({h0})")
    if draft.stations:
        rare += [f"{name}({draft.stations[0]})" for name in ("pumping_flow", "pumping_power")]
    if draft.contracts:
        rare += [f"contract_import({draft.contracts[0]})", f"contract_export({draft.contracts[1]})"]
    if draft.sources:
        rare.append(f"non_controllable_generation({draft.sources[0]})")
        rare += [f"non_controllable_curtailment({source})" for source in draft.sources]
    return common + 2 * rare


def _write_generic(draft: Draft) -> None:
    constraints, bounds = [], []
    for number in draft.ids(5):
        variables = draft.random.sample(_variables(draft), draft.choice([1, 2, 3]))
        expression = ""
        for variable in variables:
            expression += draft.choice([" + ", " - ", "+"]) if expression else ""
            expression += draft.choice(["", "", "2.5 * ", "0.5*", "1e0 * "]) + variable
        constraints.append(
            {
                "id": number,
                "name": f"g{number}",
                "expression": expression,
                "sense": draft.choice(["<=", ">=", "=="]),
                "slack": {"enabled": True, "penalty": draft.choice([15.0, 100.0])},
            }
        )
        for stage_id, hours in zip(draft.stage_ids, draft.hours, strict=True):
            if draft.likely(0.7):
                block = None if draft.likely(0.5) else draft.random.randrange(len(hours))
                row: Row = {"constraint_id": number, "stage_id": stage_id, "block_id": block}
                bounds.append({**row, "bound": round(draft.uniform(0, 12), 1)})
    draft.document("constraints/generic_constraints.json", {"constraints": constraints})
    columns = "constraint_id stage_id bound"
    draft.table("constraints/generic_constraint_bounds.parquet", columns, bounds, optional="block_id")
