"""One case directory per option that random cases do not have: a random one, changed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from case_breakers import several
from files.generator import write_case
from files.horizon_files import fitting_hours

Change = Callable[[Path], None]
STATISTICS = "scenarios/inflow_seasonal_stats.parquet"
HYDROS = (0, 1, 2)


@dataclass(frozen=True)
class RareCase:
    flags: str
    change: Change
    seed: int = 1

    def write(self, folder: Path) -> None:
        write_case(folder, self.seed, self.flags.split())
        self.change(folder)


def edited(name: str, change: Callable[[Any], object]) -> Change:
    """Change the JSON file ``name`` in place."""

    def apply(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return apply


def each(name: str, key: str, change: Callable[[dict], object]) -> Change:
    return edited(name, lambda content: [change(entry) for entry in content[key]])


def added(name: str, rows: list[dict]) -> Change:
    """Append ``rows`` to the table ``name``, which need not exist."""

    def apply(folder: Path) -> None:
        kinds = {column: pa.int32() if column.endswith("_id") else pa.float64() for column in rows[0]}
        table = pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))
        if (folder / name).exists():
            old = pq.read_table(folder / name).select(table.column_names)
            table = pa.concat_tables([old.cast(table.schema), table])
        pq.write_table(table, folder / name)

    return apply


def filtered(name: str, keep: Callable[[dict], bool]) -> Change:
    def apply(folder: Path) -> None:
        table = pq.read_table(folder / name)
        pq.write_table(table.filter(pa.array([keep(row) for row in table.to_pylist()])), folder / name)

    return apply


def correlated(entities: list[tuple[str, int]], matrix: list[list[float]]) -> Change:
    group = {"name": "g", "entities": [{"type": t, "id": i} for t, i in entities], "matrix": matrix}
    content = {"method": "spectral", "profiles": {"default": {"correlation_groups": [group]}}}
    return lambda folder: (folder / "scenarios/correlation.json").write_text(json.dumps(content)) and None


def parts_of_months(stages: dict) -> None:
    dates = ["2025-03-01", "2025-03-08", "2025-03-20", "2025-04-01", "2025-05-01"]
    for stage in stages["stages"]:
        stage["start_date"], stage["end_date"] = dates[stage["id"] : stage["id"] + 2]
        stage["season_id"] = int(stage["start_date"][5:7]) - 1
        hours = fitting_hours(
            [block["hours"] for block in stage["blocks"]], stage["start_date"], stage["end_date"]
        )
        for block, fitting in zip(stage["blocks"], hours, strict=True):
            block["hours"] = fitting


def equal_openings(stages: dict) -> None:
    for stage in stages["stages"]:
        stage["num_scenarios"] = 2


def without_hydros(folder: Path) -> None:
    (folder / "system/hydros.json").write_text('{"hydros": []}')
    (folder / "initial_conditions.json").write_text('{"storage": [], "filling_storage": []}')
    (folder / STATISTICS).unlink()


def annual_component(folder: Path) -> None:
    stage_ids = [stage["id"] for stage in json.loads((folder / "stages.json").read_text())["stages"]]
    earlier = [(hydro, -lag) for hydro in HYDROS for lag in range(2, 13)]
    rows = [{"hydro_id": h, "stage_id": s, "mean_m3s": 4 - s / 10, "std_m3s": 2.0} for h, s in earlier]
    added(STATISTICS, rows)(folder)
    component = {"annual_coefficient": 0.3, "annual_mean_m3s": 5.0, "annual_std_m3s": 2.0}
    rows = [{"hydro_id": h, "stage_id": s, **component} for h in HYDROS[:2] for s in stage_ids]
    added("scenarios/inflow_annual_component.parquet", rows)(folder)
    past = {"values_m3s": [3 + 0.3 * lag for lag in range(12)]}
    each("initial_conditions.json", "past_inflows", lambda entry: entry.update(past))(folder)


def hydro_costs(**costs: float) -> Change:
    """Prices of every hydro in the second stage."""
    rows = [{"hydro_id": hydro, "stage_id": 1, **costs} for hydro in HYDROS]
    return added("constraints/penalty_overrides_hydro.parquet", rows)


def constraint(expression: str, sense: str, bound: float, **slack: Any) -> Change:
    entry = {"id": 0, "name": "g0", "expression": expression, "sense": sense, "slack": slack}
    content = json.dumps({"constraints": [entry]})
    rows = [{"constraint_id": 0, "stage_id": stage_id, "bound": bound} for stage_id in range(3)]
    return several(
        lambda folder: (folder / "constraints/generic_constraints.json").write_text(content) and None,
        added("constraints/generic_constraint_bounds.parquet", rows),
    )


def config(**settings: Any) -> Change:
    return edited("config.json", lambda content: content.update(settings))


def method(name: str) -> Change:
    return config(modeling={"inflow_non_negativity": {"method": name}})


def unsigned_noise(folder: Path) -> None:
    path = folder / "scenarios/noise_openings.parquet"
    kinds = [("stage_id", pa.int32()), ("opening_index", pa.uint32()), ("entity_index", pa.uint32())]
    schema = pa.schema([*kinds, ("value", pa.float64())])
    pq.write_table(pq.read_table(path).select(schema.names).cast(schema), path)


def external_inflows(folder: Path) -> None:
    random = Random(5)
    rows = [
        {"stage_id": stage, "scenario_id": scenario, "hydro_id": hydro, "value_m3s": random.uniform(0, 12)}
        for stage in range(4)
        for scenario in range(20)
        for hydro in HYDROS
    ]
    added("scenarios/external_inflow_scenarios.parquet", rows)(folder)
    n_stages = len(json.loads((folder / "stages.json").read_text())["stages"])
    filtered("scenarios/external_inflow_scenarios.parquet", lambda row: row["stage_id"] < n_stages)(folder)
    source = {"seed": 1, "inflow": {"scheme": "external"}}
    edited("config.json", lambda content: content["training"].update(scenario_source=source))(folder)


own_prices = {"inflow_nonnegativity_cost": 11.0}
two_sides = {"water_withdrawal_violation_pos_cost": 1.0, "water_withdrawal_violation_neg_cost": 2.0}
dear_first = [{"depth_mw": 3.0, "cost": 2000.0}, {"depth_mw": None, "cost": 1500.0}]
triple = [[1.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 1.0]]
no_noise_in_stage_1 = filtered("scenarios/non_controllable_stats.parquet", lambda row: row["stage_id"] != 1)
no_lines = edited("system/lines.json", lambda content: content.update(lines=[]))
no_thermals = edited("system/thermals.json", lambda content: content.update(thermals=[]))

RARE = {
    "the default for negative inflows": RareCase(
        "blocks", edited("config.json", lambda c: c.pop("modeling")), seed=4
    ),
    "a hydro's own price of missing inflow": RareCase(
        "blocks",
        several(
            each("system/hydros.json", "hydros", lambda h: h.update(penalties=own_prices)), method("penalty")
        ),
    ),
    "a stage's own price of missing inflow": RareCase(
        "saa", several(hydro_costs(inflow_nonnegativity_cost=3.0), method("penalty")), seed=2
    ),
    "a hydro's prices of both sides": RareCase(
        "withdrawal", each("system/hydros.json", "hydros", lambda h: h.update(penalties=two_sides)), seed=2
    ),
    "a stage's price of one side": RareCase(
        "withdrawal evap",
        hydro_costs(water_withdrawal_violation_neg_cost=3.0, evaporation_violation_pos_cost=1.0),
        seed=2,
    ),
    "an annual component": RareCase("par1 prestudy", annual_component),
    "lags without season definitions": RareCase(
        "par2", edited("stages.json", lambda content: content.pop("season_definitions"))
    ),
    "months of several stages": RareCase("par1 blocks", edited("stages.json", parts_of_months), seed=3),
    "noise shared within a month": RareCase(
        "saa par1 load_std",
        several(edited("stages.json", parts_of_months), edited("stages.json", equal_openings)),
        seed=2,
    ),
    "no hydros": RareCase("load_std saa ncs_stats", without_hydros),
    "no thermals": RareCase("", no_thermals),
    "no lines": RareCase("", no_lines, seed=4),
    "a source without noise in one stage": RareCase("ncs_stats", no_noise_in_stage_1),
    "deficit that is dearest first": RareCase(
        "blocks", edited("penalties.json", lambda c: c["bus"].update(deficit_segments=dear_first)), seed=4
    ),
    "correlations out of order": RareCase(
        "saa load_std ncs_stats", correlated([("inflow", i) for i in (2, 0, 1)], triple), seed=6
    ),
    "unsigned indices": RareCase("", unsigned_noise),
    "a constraint without slack": RareCase(
        "blocks", constraint("thermal_generation(1) + 0.5 * thermal_generation(2)", "<=", 6.0, enabled=False)
    ),
    "an expression that starts with a minus": RareCase(
        "blocks",
        constraint(
            "- 2 * thermal_generation( 1 , 0 ) + 1.5e0*thermal_generation(0)", ">=", 0.0, enabled=False
        ),
    ),
    "a variable named twice": RareCase(
        "blocks",
        constraint("thermal_generation(1)+thermal_generation(1)", "<=", 9.0, enabled=True, penalty=50.0),
    ),
}

# Forward passes off the tree visit other states than those the optimum needs: the bound comes near, never above.
OFF_THE_TREE = {
    "external inflows": RareCase("saa", external_inflows, seed=4),
    "external inflows with lags": RareCase("saa par1", external_inflows, seed=4),
    "external inflows beside a given tree": RareCase("blocks", external_inflows, seed=4),
}
