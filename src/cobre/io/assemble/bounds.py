"""Limits and prices by stage or block: base values with the files of single stages and blocks laid over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.horizon import Horizon
from cobre.core.tables import (
    BusTables,
    ContractTables,
    LineTables,
    NonControllableTables,
    OperationTables,
    PostStudyTables,
    PumpingTables,
    ThermalTables,
)
from cobre.io.assemble.filling import hydro_states
from cobre.io.assemble.system import by_id, entity_indices
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles


class _Timed(Protocol):
    @property
    def entry_stage_id(self) -> int | None: ...
    @property
    def exit_stage_id(self) -> int | None: ...


def spread(values: Sequence[float], n_stages: int) -> Floats:
    """One row per entity, the same value in every stage."""
    return np.repeat(np.array(values, np.float64).reshape(-1, 1), n_stages, axis=1)


def overlay(base: Floats, table: Table, column: str, index: Mapping[int, int], horizon: Horizon) -> Floats:
    """``base`` (entity, stage) with the values that ``table`` gives for whole stages; null keeps the base."""
    result = base.copy()
    is_given = ~np.isnan(table[column])
    if "block_id" in table.columns:
        is_given &= table["block_id"] == ABSENT
    given = np.flatnonzero(is_given)
    key = table.file.key[0]
    rows = [index[int(value)] for value in table[key][given]]
    stages = [horizon.index_of[int(value)] for value in table["stage_id"][given]]
    result[rows, stages] = table[column][given]
    return result


def overlay_blocks(
    base: Floats, table: Table, column: str, index: Mapping[int, int], horizon: Horizon
) -> Floats:
    """Like `overlay`; (entity, stage-block) if some row is about a block, whose value then counts there."""
    result = overlay(base, table, column, index, horizon)
    given = np.flatnonzero(~np.isnan(table[column]) & (table["block_id"] != ABSENT))
    if not len(given):
        return result
    result = horizon.over_blocks(result).copy()
    key = table.file.key[0]
    for row in given.tolist():
        first = int(horizon.block_offsets[horizon.index_of[int(table["stage_id"][row])]])
        result[index[int(table[key][row])], first + int(table["block_id"][row])] = table[column][row]
    return result


def where_operating(active: NDArray[np.bool_], limits: Floats, horizon: Horizon) -> Floats:
    """``limits`` by stage or block, 0 where the entity does not operate."""
    is_wide = limits.shape[1] != horizon.n_stages
    return np.where(horizon.over_blocks(active) if is_wide else active, limits, 0.0)


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
        hydro=hydro_states(files, horizon),
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
    low = overlay_blocks(
        spread([t.generation.min_mw for t in records], n), table, "min_generation_mw", index, horizon
    )
    high = overlay_blocks(
        spread([t.generation.max_mw for t in records], n), table, "max_generation_mw", index, horizon
    )
    cost = overlay(spread([t.cost_per_mwh for t in records], n), table, "cost_per_mwh", index, horizon)
    low, high = (where_operating(active, each, horizon) for each in (low, high))
    return ThermalTables(low, high, cost)


def build_post_study(files: CaseFiles, horizon: Horizon) -> PostStudyTables | None:
    """Limits and costs of deliveries after the study; no power where a plant has left by then. None without any."""
    records, index = by_id(files.thermals.thermals), entity_indices(files)["thermal"]
    ahead = {t.id: t for t in records if t.anticipated_config is not None}
    cells = [cell for cell in files.post_study.thermal_bounds if cell.thermal_id in ahead]
    if not cells:
        return None
    low, high, cost = (np.full((len(records), len(horizon.post_study)), np.nan) for _ in range(3))
    for cell in cells:
        plant, stage = ahead[cell.thermal_id], horizon.stages[-1].id + 1 + cell.post_study_stage_index
        is_there = (plant.entry_stage_id is None or stage >= plant.entry_stage_id) and (
            plant.exit_stage_id is None or stage < plant.exit_stage_id
        )
        place = index[cell.thermal_id], cell.post_study_stage_index
        low[place] = cell.min_mw if is_there else 0.0
        high[place] = cell.max_mw if is_there else 0.0
        cost[place] = cell.cost_per_mwh
    return PostStudyTables(low, high, cost)


def build_lines(files: CaseFiles, horizon: Horizon) -> LineTables:
    """Capacities of lines by block and their prices."""
    records, index = by_id(files.lines.lines), entity_indices(files)["line"]
    table, n = files.tables["line_bounds"], horizon.n_stages
    active = operating(records, horizon)
    common = files.penalties.line.exchange_cost
    both = [
        overlay_blocks(spread(base, n), table, f"{name}_mw", index, horizon)
        for name, base in (
            ("direct", [r.capacity.direct_mw for r in records]),
            ("reverse", [r.capacity.reverse_mw for r in records]),
        )
    ]
    factors = {
        (index[entry.line_id], horizon.index_of[entry.stage_id], factor.block_id): factor
        for entry in files.exchange_factors.exchange_factors
        for factor in entry.block_factors
    }
    by_block = [
        np.ascontiguousarray(horizon.over_blocks(where_operating(active, each, horizon))) for each in both
    ]
    for (row, stage, block), factor in factors.items():
        column = int(horizon.block_offsets[stage]) + block
        by_block[0][row, column] *= factor.direct_factor
        by_block[1][row, column] *= factor.reverse_factor
    prices = [common if r.exchange_cost is None else r.exchange_cost for r in records]
    cost = overlay(spread(prices, n), files.tables["line_penalties"], "exchange_cost", index, horizon)
    return LineTables(by_block[0], by_block[1], cost)


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
    has_statistics = np.zeros(len(records), bool)
    has_statistics[[index[int(value)] for value in stats["ncs_id"]]] = True
    largest = spread([r.max_generation_mw for r in records], n)
    installed = overlay(largest, files.tables["ncs_bounds"], "available_generation_mw", index, horizon)
    mean, std = spread([1.0] * len(records), n), spread([0.0] * len(records), n)
    if files.generation.is_018:
        # A share of the plant's own power; a stage without a row of the source's statistics has none.
        installed[has_statistics] = largest[has_statistics]
        mean[has_statistics] = 0.0
    common = files.penalties.non_controllable_source.curtailment_cost
    prices = spread([common if r.curtailment_cost is None else r.curtailment_cost for r in records], n)
    factor = np.ones((len(records), horizon.n_stage_blocks))
    for entry in files.non_controllable_factors.non_controllable_factors:
        first = int(horizon.block_offsets[horizon.index_of[entry.stage_id]])
        for each in entry.block_factors:
            factor[index[entry.ncs_id], first + each.block_id] = each.factor
    return NonControllableTables(
        np.where(operating(records, horizon), installed, 0.0),
        overlay(prices, files.tables["ncs_penalties"], "curtailment_cost", index, horizon),
        overlay(mean, stats, "mean", index, horizon),
        overlay(std, stats, "std", index, horizon),
        factor,
        has_statistics,
    )


def build_pumping(files: CaseFiles, horizon: Horizon) -> PumpingTables:
    """Flow limits of pumping stations."""
    records = by_id(files.pumping_stations.pumping_stations)
    index, table = entity_indices(files)["pumping station"], files.tables["pumping_bounds"]
    active = operating(records, horizon)
    low = overlay_blocks(
        spread([r.flow.min_m3s for r in records], horizon.n_stages), table, "min_m3s", index, horizon
    )
    high = overlay_blocks(
        spread([r.flow.max_m3s for r in records], horizon.n_stages), table, "max_m3s", index, horizon
    )
    low, high = (where_operating(active, each, horizon) for each in (low, high))
    return PumpingTables(low, high)


def build_contracts(files: CaseFiles, horizon: Horizon) -> ContractTables:
    """Limits and prices of contracts."""
    records = by_id(files.contracts.contracts)
    index, table = entity_indices(files)["contract"], files.tables["contract_bounds"]
    active, n = operating(records, horizon), horizon.n_stages
    low = overlay_blocks(spread([r.limits.min_mw for r in records], n), table, "min_mw", index, horizon)
    high = overlay_blocks(spread([r.limits.max_mw for r in records], n), table, "max_mw", index, horizon)
    prices = spread([r.price_per_mwh for r in records], n)
    price = overlay_blocks(prices, table, "price_per_mwh", index, horizon)
    low, high = (where_operating(active, each, horizon) for each in (low, high))
    return ContractTables(low, high, price)
