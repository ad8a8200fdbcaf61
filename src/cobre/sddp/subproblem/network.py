"""Buses and what feeds, drains and joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.sddp.subproblem.builder import ABSENT, INFINITY, LpBuilder
from cobre.sddp.subproblem.layout import HydroColumns, NetworkColumns, ParameterLayout
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver import Target


class AtBus(Protocol):
    """An entity that is connected to one bus."""

    @property
    def bus(self) -> int: ...


def add_network_columns(
    lp: LpBuilder,
    scope: StageScope,
    parameters: ParameterLayout,
    is_paid: NDArray[np.bool_] | None = None,
) -> NetworkColumns:
    """All decisions that meet at buses, except the power of hydros. Thermals that are ``paid`` already cost nothing."""
    system, tables, blocks = scope.system, scope.tables, scope.blocks
    segments = [(b, segment) for b, bus in enumerate(system.buses) for segment in bus.deficit_segments]
    labels = [
        f"{name}#{s}"
        for name, bus in zip(labels_of(system.buses), system.buses, strict=True)
        for s in range(len(bus.deficit_segments))
    ]
    depth = [INFINITY if segment.depth_mw is None else segment.depth_mw for _, segment in segments]
    price = np.array([segment.cost_per_mwh for _, segment in segments], dtype=np.float64)
    exchange = scope.cost(tables.line.exchange_cost_per_mwh)
    fuel = scope.cost(tables.thermal.cost_per_mwh)
    if is_paid is not None and is_paid.any():
        fuel = np.where(is_paid[:, None], 0.0, fuel)

    def between(least: Floats, most: Floats) -> dict[str, Floats]:
        return {"lower": scope.limit(least), "upper": scope.limit(most)}

    return NetworkColumns(
        thermal=lp.add_columns(
            "thermal",
            system.thermals,
            blocks,
            **between(tables.thermal.min_generation_mw, tables.thermal.max_generation_mw),
            cost=fuel,
        ),
        line_direct=lp.add_columns(
            "line_direct", system.lines, blocks, upper=scope.by_block(tables.line.direct_mw), cost=exchange
        ),
        line_reverse=lp.add_columns(
            "line_reverse", system.lines, blocks, upper=scope.by_block(tables.line.reverse_mw), cost=exchange
        ),
        deficit=lp.add_columns(
            "deficit",
            labels,
            blocks,
            upper=np.array(depth, dtype=np.float64)[:, None],
            cost=price[:, None] * scope.hours,
        ),
        deficit_bus=np.array([b for b, _ in segments], dtype=np.int64),
        excess=lp.add_columns(
            "excess", system.buses, blocks, cost=scope.cost(tables.bus.excess_cost_per_mwh)
        ),
        non_controllable=_add_non_controllables(lp, scope, parameters),
        pumping=lp.add_columns(
            "pumping",
            system.pumping_stations,
            blocks,
            **between(tables.pumping.min_flow_m3s, tables.pumping.max_flow_m3s),
        ),
        contract=lp.add_columns(
            "contract",
            system.contracts,
            blocks,
            **between(tables.contract.min_mw, tables.contract.max_mw),
            cost=scope.limit(tables.contract.price_per_mwh) * scope.hours,
        ),
    )


def add_load_balance(
    lp: LpBuilder,
    scope: StageScope,
    parameters: ParameterLayout,
    hydro: HydroColumns,
    network: NetworkColumns,
) -> Indices:
    """``[bus, block]``: what arrives, minus what leaves, plus deficit, minus excess, is the load."""
    system = scope.system
    rows = lp.add_rows("load_balance", system.buses, scope.blocks, lower=0.0, upper=0.0)
    factor = scope.by_block(scope.tables.bus.load_factor)
    lp.patch(Target.ROW_EQUAL, rows, parameters.numbers(parameters.load)[:, None], factor=factor)

    lp.add_terms(rows[scope.cell_bus], hydro.generation, hydro.generation_factor[:, None])
    lp.add_terms(rows[_buses(system.thermals)], network.thermal, 1.0)
    lp.add_terms(rows[_buses(system.non_controllables)], network.non_controllable, 1.0)
    signs = np.array([1.0 if contract.is_import else -1.0 for contract in system.contracts])
    lp.add_terms(rows[_buses(system.contracts)], network.contract, signs[:, None])
    rates = np.array([station.consumption_mw_per_m3s for station in system.pumping_stations])
    lp.add_terms(rows[_buses(system.pumping_stations)], network.pumping, -rates[:, None])

    source = rows[np.array([line.source_bus for line in system.lines], dtype=np.int64)]
    target = rows[np.array([line.target_bus for line in system.lines], dtype=np.int64)]
    efficiency = np.array([line.efficiency for line in system.lines])[:, None]
    lp.add_terms(source, network.line_direct, -1.0)
    lp.add_terms(target, network.line_direct, efficiency)
    lp.add_terms(target, network.line_reverse, -1.0)
    lp.add_terms(source, network.line_reverse, efficiency)

    lp.add_terms(rows[network.deficit_bus], network.deficit, 1.0)
    lp.add_terms(rows, network.excess, -1.0)
    return rows


def _add_non_controllables(lp: LpBuilder, scope: StageScope, parameters: ParameterLayout) -> Indices:
    """Up to what nature gives, or exactly that; producing is rewarded by what curtailing would cost."""
    tables = scope.tables.non_controllable
    factor = scope.by_block(tables.factor)
    columns = lp.add_columns(
        "non_controllable",
        scope.system.non_controllables,
        scope.blocks,
        upper=scope.at(tables.installed_mw)[:, None] * factor,
        cost=-scope.cost(tables.curtailment_cost_per_mwh),
    )
    available = parameters.numbers(parameters.available)[:, None]
    lp.patch(Target.COLUMN_UPPER, columns, available, factor=factor)
    must_run = np.array([source.must_run for source in scope.system.non_controllables], dtype=np.bool_)
    if must_run.any():
        forced = np.where(must_run[:, None], columns, ABSENT)
        lp.patch(Target.COLUMN_LOWER, forced, available, factor=factor)
    return columns


def _buses(entities: Sequence[AtBus]) -> Indices:
    return np.array([entity.bus for entity in entities], dtype=np.int64)
