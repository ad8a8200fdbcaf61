"""Limits and prices by stage: base values with the per-stage files laid over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Horizon
from cobre.core.tables import (
    BusTables,
    ConstraintTables,
    ContractTables,
    LineTables,
    NonControllableTables,
    OperationTables,
    PumpingTables,
    ThermalTables,
)
from cobre.io.assemble.system import by_id, entity_indices
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles

Floats = NDArray[np.float64]


class _Timed(Protocol):
    @property
    def entry_stage_id(self) -> int | None: ...
    @property
    def exit_stage_id(self) -> int | None: ...


def spread(values: Sequence[float], n_stages: int) -> Floats:
    """One row per entity, the same value in every stage."""
    return np.repeat(np.array(values, np.float64).reshape(-1, 1), n_stages, axis=1)


def overlay(base: Floats, table: Table, column: str, index: Mapping[int, int], horizon: Horizon) -> Floats:
    """``base`` (entity, stage) with the values that ``table`` gives; null keeps the base."""
    result = base.copy()
    given = np.flatnonzero(~np.isnan(table[column]))
    key = table.file.key[0]
    rows = [index[int(value)] for value in table[key][given]]
    stages = [horizon.index_of[int(value)] for value in table["stage_id"][given]]
    result[rows, stages] = table[column][given]
    return result


def operating(entries: Sequence[_Timed], horizon: Horizon) -> NDArray[np.bool_]:
    """Whether each entity operates in each stage: from its entry until before its exit."""
    active = np.ones((len(entries), horizon.n_stages), bool)
    for row, entry in enumerate(entries):
        for stage, each in enumerate(horizon.stages):
            starts = entry.entry_stage_id is None or each.id >= entry.entry_stage_id
            lasts = entry.exit_stage_id is None or each.id < entry.exit_stage_id
            active[row, stage] = starts and lasts
    return active


def operative_states(entries: Sequence[_Timed], horizon: Horizon) -> NDArray[np.int8]:
    """Codes of `OperationTables` for entities that come and go."""
    codes = np.where(operating(entries, horizon), 2, 3).astype(np.int8)
    for row, entry in enumerate(entries):
        for stage, each in enumerate(horizon.stages):
            if entry.entry_stage_id is not None and each.id < entry.entry_stage_id:
                codes[row, stage] = 0
    return codes


def build_operation(files: CaseFiles, horizon: Horizon) -> OperationTables:
    """Which entities are there in which stage."""
    return OperationTables(
        hydro=operative_states(by_id(files.hydros.hydros), horizon),
        thermal=operative_states(by_id(files.thermals.thermals), horizon),
        line=operative_states(by_id(files.lines.lines), horizon),
        non_controllable=operative_states(by_id(files.non_controllables.non_controllable_sources), horizon),
        pumping=operative_states(by_id(files.pumping_stations.pumping_stations), horizon),
        contract=operative_states(by_id(files.contracts.contracts), horizon),
    )


def build_thermals(files: CaseFiles, horizon: Horizon) -> ThermalTables:
    """Limits and costs of thermals."""
    records, index = by_id(files.thermals.thermals), entity_indices(files)["thermal"]
    table, n = files.tables["thermal_bounds"], horizon.n_stages
    active = operating(records, horizon)
    low = overlay(
        spread([t.generation.min_mw for t in records], n), table, "min_generation_mw", index, horizon
    )
    high = overlay(
        spread([t.generation.max_mw for t in records], n), table, "max_generation_mw", index, horizon
    )
    cost = overlay(spread([t.cost_per_mwh for t in records], n), table, "cost_per_mwh", index, horizon)
    return ThermalTables(np.where(active, low, 0.0), np.where(active, high, 0.0), cost)


def build_lines(files: CaseFiles, horizon: Horizon) -> LineTables:
    """Capacities of lines by block and their prices."""
    records, index = by_id(files.lines.lines), entity_indices(files)["line"]
    table, n = files.tables["line_bounds"], horizon.n_stages
    active = operating(records, horizon)
    common = files.penalties.line.exchange_cost
    direct = overlay(spread([r.capacity.direct_mw for r in records], n), table, "direct_mw", index, horizon)
    reverse = overlay(
        spread([r.capacity.reverse_mw for r in records], n), table, "reverse_mw", index, horizon
    )
    factors = {
        (index[entry.line_id], horizon.index_of[entry.stage_id], factor.block_id): factor
        for entry in files.exchange_factors.exchange_factors
        for factor in entry.block_factors
    }
    by_block = np.zeros((2, len(records), horizon.n_stage_blocks))
    for column, (stage, block) in enumerate(_stage_blocks(horizon)):
        by_block[0, :, column] = np.where(active[:, stage], direct[:, stage], 0.0)
        by_block[1, :, column] = np.where(active[:, stage], reverse[:, stage], 0.0)
        for row in range(len(records)):
            if (factor := factors.get((row, stage, block))) is not None:
                by_block[0, row, column] *= factor.direct_factor
                by_block[1, row, column] *= factor.reverse_factor
    prices = [common if r.exchange_cost is None else r.exchange_cost for r in records]
    cost = overlay(spread(prices, n), files.tables["line_penalties"], "exchange_cost", index, horizon)
    return LineTables(by_block[0].copy(), by_block[1].copy(), cost)


def build_buses(files: CaseFiles, horizon: Horizon) -> BusTables:
    """Load at buses and the price of excess."""
    records, index = by_id(files.buses.buses), entity_indices(files)["bus"]
    nothing = spread([0.0] * len(records), horizon.n_stages)
    load = files.tables["load_stats"]
    factor = np.ones((len(records), horizon.n_stage_blocks))
    for entry in files.load_factors.load_factors:
        first = int(horizon.block_offsets[horizon.index_of[entry.stage_id]])
        for each in entry.block_factors:
            factor[index[entry.bus_id], first + each.block_id] = each.factor
    excess = spread([files.penalties.bus.excess_cost] * len(records), horizon.n_stages)
    return BusTables(
        overlay(excess, files.tables["bus_penalties"], "excess_cost", index, horizon),
        overlay(nothing, load, "mean_mw", index, horizon),
        overlay(nothing, load, "std_mw", index, horizon),
        factor,
    )


def build_non_controllables(files: CaseFiles, horizon: Horizon) -> NonControllableTables:
    """What non-controllable sources can give and what curtailing them costs."""
    records = by_id(files.non_controllables.non_controllable_sources)
    index, n = entity_indices(files)["non-controllable source"], horizon.n_stages
    stats = files.tables["non_controllable_stats"]
    installed = overlay(
        spread([r.max_generation_mw for r in records], n),
        files.tables["ncs_bounds"],
        "available_generation_mw",
        index,
        horizon,
    )
    common = files.penalties.non_controllable_source.curtailment_cost
    prices = spread([common if r.curtailment_cost is None else r.curtailment_cost for r in records], n)
    factor = np.ones((len(records), horizon.n_stage_blocks))
    for entry in files.non_controllable_factors.non_controllable_factors:
        first = int(horizon.block_offsets[horizon.index_of[entry.stage_id]])
        for each in entry.block_factors:
            factor[index[entry.ncs_id], first + each.block_id] = each.factor
    has_statistics = np.zeros(len(records), bool)
    has_statistics[[index[int(value)] for value in stats["ncs_id"]]] = True
    return NonControllableTables(
        np.where(operating(records, horizon), installed, 0.0),
        overlay(prices, files.tables["ncs_penalties"], "curtailment_cost", index, horizon),
        overlay(spread([1.0] * len(records), n), stats, "mean", index, horizon),
        overlay(spread([0.0] * len(records), n), stats, "std", index, horizon),
        factor,
        has_statistics,
    )


def build_pumping(files: CaseFiles, horizon: Horizon) -> PumpingTables:
    """Flow limits of pumping stations."""
    records = by_id(files.pumping_stations.pumping_stations)
    index, table = entity_indices(files)["pumping station"], files.tables["pumping_bounds"]
    active = operating(records, horizon)
    low = overlay(
        spread([r.flow.min_m3s for r in records], horizon.n_stages), table, "min_m3s", index, horizon
    )
    high = overlay(
        spread([r.flow.max_m3s for r in records], horizon.n_stages), table, "max_m3s", index, horizon
    )
    return PumpingTables(np.where(active, low, 0.0), np.where(active, high, 0.0))


def build_contracts(files: CaseFiles, horizon: Horizon) -> ContractTables:
    """Limits and prices of contracts."""
    records = by_id(files.contracts.contracts)
    index, table = entity_indices(files)["contract"], files.tables["contract_bounds"]
    active, n = operating(records, horizon), horizon.n_stages
    low = overlay(spread([r.limits.min_mw for r in records], n), table, "min_mw", index, horizon)
    high = overlay(spread([r.limits.max_mw for r in records], n), table, "max_mw", index, horizon)
    price = overlay(spread([r.price_per_mwh for r in records], n), table, "price_per_mwh", index, horizon)
    return ContractTables(np.where(active, low, 0.0), np.where(active, high, 0.0), price)


def build_constraints(files: CaseFiles, horizon: Horizon) -> ConstraintTables:
    """Rows of generic constraints, a bound without a block once per block."""
    table, index = files.tables["constraint_bounds"], entity_indices(files)["generic constraint"]
    rows: list[tuple[int, int, int, float]] = []
    for row in range(len(table)):
        constraint = index[int(table["constraint_id"][row])]
        stage = horizon.index_of[int(table["stage_id"][row])]
        block = int(table["block_id"][row])
        blocks = range(horizon.stages[stage].n_blocks) if block == ABSENT else (block,)
        rows += [(constraint, stage, each, float(table["bound"][row])) for each in blocks]
    rows.sort()
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    return ConstraintTables(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.float64),
    )


def _stage_blocks(horizon: Horizon) -> list[tuple[int, int]]:
    return [(stage, block) for stage, each in enumerate(horizon.stages) for block in range(each.n_blocks)]
