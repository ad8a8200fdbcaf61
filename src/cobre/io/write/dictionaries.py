"""Files that explain the tables: codes, entities, columns, limits and the state vector."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.arrow import arrow_table
from cobre.core.case import Case
from cobre.core.constraint_tables import RESOLVED_CONSTRAINTS
from cobre.core.entities import System
from cobre.core.hydro_model_tables import HYDRO_MODEL_TABLES
from cobre.core.outputs import TableSchema, table
from cobre.core.simulation_tables import (
    FIXED_DELIVERIES,
    PATHS,
    SCENARIO_SUMMARY,
    SIMULATION_TABLES,
    STAGE_SUMMARY,
)
from cobre.core.training_tables import CONVERGENCE, CUT_SELECTION, RETRY_HISTOGRAM, SOLVER_ITERATIONS, TIMING
from cobre.files import write_atomically
from cobre.io.write.parquet import parquet_bytes
from cobre.io.write.training import json_bytes

FOLDER = "training/dictionaries"

UNIT_GROUP = "hydro_unit_group"
"""Their ids count within a plant, so that tables name the plant, too."""
ENTITY_TYPES = (
    "hydro",
    "thermal",
    "bus",
    "line",
    "pumping_station",
    "contract",
    "battery",
    "non_controllable",
    UNIT_GROUP,
)
CODES = {
    "entity_type": ENTITY_TYPES,
    "contract_type": ("import", "export"),
    "bound_type": tuple(
        f"{quantity}_{end}"
        for quantity in ("storage", "turbined", "outflow", "generation", "flow")
        for end in ("min", "max")
    ),
    "operative_state": ("non_existing", "filling_dead_volume", "operating", "decommissioned"),
    "storage_binding": ("none", "min", "max", "target"),
}
SOLVER_TABLES = (SOLVER_ITERATIONS, RETRY_HISTOGRAM)
"""Of training and of simulation."""
STAGE_COLUMNS = ("stage_id", "start_date", "end_date", "season_id", "block_id", "block_name", "hours")
BOUNDS = table(
    "training/dictionaries/bounds",
    """
        entity_type_code  i8    kind of entity: see entity_type
        entity_id         i32   id of the entity
        hydro_id          i32?  plant of a unit group
        stage_id          i32   id of the stage in stages.json
        block_id          i32?  block where the limit is given by block
        bound_type_code   i8    which limit: see bound_type
        bound_value       -     the limit, in units of its quantity
    """,
)


def write_dictionaries(folder: Path, case: Case, state_names: Sequence[str]) -> None:
    """Write all of them. They depend on the case alone."""
    root = folder / FOLDER
    codes = {name: {str(k): label for k, label in enumerate(labels)} for name, labels in CODES.items()}
    contents = {
        "codes.json": json_bytes({"version": "1.0", "generated_at": None, **codes}),
        "entities.csv": _csv(
            ("entity_type_code", "entity_id", "name", "bus_id", "system_id"), _entities(case)
        ),
        "variables.csv": _csv(("file", "column", "type", "unit", "description", "nullable"), _variables()),
        "stages.csv": _csv(STAGE_COLUMNS, _stages(case)),
        "bounds.parquet": parquet_bytes(arrow_table(BOUNDS, _bounds(case))),
        "state_dictionary.json": json_bytes(_state(state_names)),
    }
    for name, data in contents.items():
        write_atomically(root / name, data)


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _by_kind(system: System) -> dict[str, Sequence[Any]]:
    return {
        "hydro": system.hydros,
        "thermal": system.thermals,
        "bus": system.buses,
        "line": system.lines,
        "pumping_station": system.pumping_stations,
        "contract": system.contracts,
        "non_controllable": system.non_controllables,
    }


def _entities(case: Case) -> Iterator[tuple[Any, ...]]:
    system = case.system
    bus_ids = [bus.id for bus in system.buses]
    for kind, entities in _by_kind(system).items():
        for entity in entities:
            if kind == "bus":
                bus = entity.id
            elif kind == "line" or (kind == "hydro" and entity.more_buses):
                bus = -1
            else:
                bus = bus_ids[entity.bus]
            yield ENTITY_TYPES.index(kind), entity.id, entity.name, bus, 0
    for group in case.unit_groups:
        name = f"{system.hydros[group.hydro].id}/{group.name}"
        yield ENTITY_TYPES.index(UNIT_GROUP), group.id, name, bus_ids[group.bus], 0


def _stages(case: Case) -> Iterator[tuple[Any, ...]]:
    for stage in case.horizon.stages:
        for index, block in enumerate(stage.blocks):
            season = "" if stage.season_id is None else stage.season_id
            yield stage.id, stage.start_date, stage.end_date, season, index, block.name, repr(block.hours)


def _variables() -> Iterator[tuple[Any, ...]]:
    for schema in (*SIMULATION_TABLES, PATHS, SCENARIO_SUMMARY, STAGE_SUMMARY, *SOLVER_TABLES):
        yield from _described(f"simulation/{schema.name}", schema)
    for schema in (CONVERGENCE, TIMING, *SOLVER_TABLES, CUT_SELECTION):
        yield from _described(f"training/{schema.name}", schema)
    for schema in HYDRO_MODEL_TABLES:
        yield from _described(f"hydro_models/{schema.name}", schema)
    yield from _described(f"generic_constraints/{RESOLVED_CONSTRAINTS.name}", RESOLVED_CONSTRAINTS)
    yield from _described(f"anticipated/{FIXED_DELIVERIES.name}", FIXED_DELIVERIES)
    yield from _described(BOUNDS.name, BOUNDS)


def _described(file: str, schema: TableSchema) -> Iterator[tuple[Any, ...]]:
    for column in schema:
        yield (
            file,
            column.name,
            column.type,
            column.unit,
            column.description,
            str(column.is_nullable).lower(),
        )


def _bounds(case: Case) -> dict[str, NDArray[Any]]:
    system, tables = case.system, case.tables
    hydro = tables.hydro
    thermal, pumping, contract, line = tables.thermal, tables.pumping, tables.contract, tables.line
    limits_of = {
        "hydro": {
            "storage": (hydro.min_storage_hm3, hydro.max_storage_hm3),
            "turbined": (hydro.min_turbined_m3s, hydro.max_turbined_m3s),
            "outflow": (hydro.min_outflow_m3s, hydro.max_outflow_m3s),
            "generation": (hydro.min_generation_mw, hydro.max_generation_mw),
        },
        "thermal": {"generation": (thermal.min_generation_mw, thermal.max_generation_mw)},
        "pumping_station": {"flow": (pumping.min_flow_m3s, pumping.max_flow_m3s)},
        "contract": {"flow": (contract.min_mw, contract.max_mw)},
        "line": {"flow": (-line.reverse_mw, line.direct_mw)},
    }
    entities_of = _by_kind(system)
    rows: list[tuple[float, ...]] = []
    for kind, limits in limits_of.items():
        for e, entity in enumerate(entities_of[kind]):
            mine = {name: (low[e], high[e]) for name, (low, high) in limits.items()}
            rows += _limit_rows(case, (kind, entity.id, np.nan), mine)
    for group in case.unit_groups:
        own = (UNIT_GROUP, group.id, float(system.hydros[group.hydro].id))
        mine = {
            "turbined": (group.min_turbined_m3s, group.max_turbined_m3s),
            "generation": (group.min_generation_mw, group.max_generation_mw),
        }
        rows += _limit_rows(case, own, mine)
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), len(BOUNDS.columns)).T
    types = {"i8": np.int8, "i32": np.int32}
    return {
        column.name: values
        if column.is_nullable or column.type == "f64"
        else values.astype(types[column.type])
        for column, values in zip(BOUNDS, columns, strict=True)
    }


def _of_stage(case: Case, values: Floats, stage: int) -> list[float]:
    """The value of the stage, or those of its blocks where they differ."""
    if len(values) == case.horizon.n_stages:
        return [float(values[stage])]
    found = [float(value) for value in values[case.horizon.blocks_of(stage)]]
    return found[:1] if len(set(found)) == 1 else found


def _limit_rows(
    case: Case, entity: tuple[str, int, float], limits: Mapping[str, tuple[Floats, Floats]]
) -> Iterator[tuple[float, ...]]:
    """Of one entity: its kind, its id, and the id of the plant of a unit group."""
    kind, number, plant = entity
    ends = [
        (f"{name}_{end}", of_end)
        for name, both in limits.items()
        for end, of_end in zip(("min", "max"), both, strict=True)
    ]
    for s, stage in enumerate(case.horizon.stages):
        for name, of_entity in ends:
            values = _of_stage(case, of_entity, s)
            bound = CODES["bound_type"].index(name)
            for block, value in enumerate(values):
                if np.isfinite(value):
                    place = np.nan if len(values) == 1 else block
                    yield ENTITY_TYPES.index(kind), number, plant, stage.id, place, bound, value


STATE_UNITS = {"storage": "hm3", "in_transit": "hm3", "commitment": "MW"}


def _state(state_names: Sequence[str]) -> dict[str, Any]:
    """The components of the state in the order of a cut's coefficients.

    Named ``storage:ID``, ``inflow_lagK:ID``, ``inflow_so_far:ID``, ``in_transitK:ID`` (of the plant that the water goes
    to) or ``commitmentK:ID`` (of a thermal).
    """
    variables = []
    for index, name in enumerate(state_names):
        part, _, entity = name.partition(":")
        kind = part.rstrip("0123456789")
        lag = part[len(kind) :]
        variables.append(
            {
                "index": index,
                "type": "inflow_lag" if kind == "inflow_so_far" else kind,
                "entity_type": "thermal" if kind == "commitment" else "hydro",
                "entity_id": int(entity),
                "unit": STATE_UNITS.get(kind, "m3/s"),
                **({"lag_index": int(lag)} if lag else {}),
            }
        )
    return {"version": "1.0", "state_variables": variables}
