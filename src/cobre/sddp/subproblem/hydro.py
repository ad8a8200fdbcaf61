"""Reservoirs and turbines: their flows and the water balance.

In hm3 over the stage, blocks added up: what is stored at the end is what came in, plus inflow, releases and
canals from above and pumped water, minus what is turbined, spilled, diverted, pumped away, evaporated and
withdrawn. Where blocks are chronological that holds for each of them, from the storage that the one before it left.
A plant that is not there keeps what it holds and passes everything else to the next one below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.errors import ValidationError
from cobre.sddp.subproblem.builder import ABSENT, INFINITY, LpBuilder
from cobre.sddp.subproblem.layout import HydroColumns, StateColumns
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope

Flags = NDArray[np.bool_]


def add_hydro_columns(lp: LpBuilder, scope: StageScope) -> HydroColumns:
    """All decisions of hydros; the slack of a soft limit exists only where the limit does."""
    hydros, blocks, tables, costs = (
        scope.system.hydros,
        scope.blocks,
        scope.tables.hydro,
        scope.tables.hydro_costs,
    )
    cells, owner = cell_labels(scope), scope.cell_hydro
    has_planes = _has_planes(scope) & scope.operates
    productivity = scope.at(tables.productivity_mw_per_m3s)
    _check_power(scope, np.isnan(productivity) & ~has_planes & scope.operates)
    limits = _CellLimits.of(scope, has_planes)
    turbined = lp.add_columns(
        "turbined", cells, blocks, upper=limits.most_turbined, cost=scope.cost(costs.turbined)[owner]
    )
    generation = lp.add_columns(
        "generation", cells, blocks, upper=limits.most_generated, where=has_planes[owner][:, None]
    )
    evaporates = np.array([h.has_evaporation for h in hydros], dtype=np.bool_) & scope.is_present
    most_evaporated = _most_evaporated(scope)

    def slack(kind: str, price: Floats, where: Flags) -> Indices:
        return lp.add_columns(kind, hydros, blocks, cost=scope.cost(price), where=where)

    def cell_slack(kind: str, price: Floats, where: Flags) -> Indices:
        return lp.add_columns(kind, cells, blocks, cost=scope.cost(price)[owner], where=where)

    def stage_slack(
        kind: str, price: Floats, where: Flags | bool, upper: Floats | float = INFINITY
    ) -> Indices:
        return lp.add_columns(kind, hydros, upper=upper, cost=scope.stage_cost(price), where=where)

    def period_slack(kind: str, price: Floats) -> Indices:
        cost = scope.at(price)[:, None] * scope.period_hours
        return _add_by_period(lp, scope, kind, evaporates, cost=cost)

    present = scope.is_present[:, None]
    withdraws, most_above, most_below = _withdrawal_limits(scope)
    return HydroColumns(
        turbined=turbined,
        spillage=_add_spillage(lp, scope),
        diversion=_add_diversion(lp, scope),
        generation=np.where(has_planes[owner][:, None], generation, turbined),
        generation_factor=np.where(has_planes | ~scope.operates, 1.0 * has_planes, productivity)[owner],
        has_planes=has_planes,
        turbined_below=cell_slack("turbined_below", costs.turbined_below, limits.least_turbined > 0.0),
        outflow_below=slack(
            "outflow_below", costs.outflow_below, (scope.limit(tables.min_outflow_m3s) > 0.0) & present
        ),
        outflow_above=slack(
            "outflow_above", costs.outflow_above, np.isfinite(scope.limit(tables.max_outflow_m3s)) & present
        ),
        generation_below=cell_slack("generation_below", costs.generation_below, limits.least_generated > 0.0),
        negative_inflow=stage_slack("negative_inflow", costs.negative_inflow, _pays_for_inflow(scope)),
        evaporation=_add_by_period(
            lp,
            scope,
            "evaporation",
            evaporates,
            lower=-most_evaporated[:, None],
            upper=most_evaporated[:, None],
        ),
        evaporation_above=period_slack("evaporation_above", costs.evaporation_above),
        evaporation_below=period_slack("evaporation_below", costs.evaporation_below),
        withdrawal_above=stage_slack("withdrawal_above", costs.withdrawal_above, withdraws, most_above),
        withdrawal_below=stage_slack("withdrawal_below", costs.withdrawal_below, withdraws, most_below),
        filling_below=_add_shortfall(
            lp, scope, "filling_below", tables.filling_target_hm3, costs.filling_target
        ),
        storage_below=_add_shortfall(
            lp, scope, "storage_below", tables.soft_min_storage_hm3, costs.storage_below
        ),
    )


def _add_by_period(lp: LpBuilder, scope: StageScope, kind: str, where: Flags, **numbers: Floats) -> Indices:
    """``[hydro, period]`` columns, a period being a block of a chronological stage or the whole of another one."""
    shape = len(scope.system.hydros), scope.period_hm3.size
    columns = lp.add_columns(
        kind,
        scope.system.hydros,
        *scope.periods,
        where=scope.per_period(where[:, None]),
        **{name: scope.per_period(value) for name, value in numbers.items()},
    )
    return columns.reshape(shape)


def cell_labels(scope: StageScope) -> list[str]:
    """Names of cells: that of the plant, and of the bus where it has several."""
    plants, buses = labels_of(scope.system.hydros), labels_of(scope.system.buses)
    return [
        f"{plants[cell.hydro]}@{buses[cell.bus]}"
        if scope.system.hydros[cell.hydro].more_buses
        else plants[cell.hydro]
        for cell in scope.system.cells
    ]


def least_of_cells(scope: StageScope) -> tuple[Floats, Floats]:
    """``[cell, block]``: least turbined flow and least power, 0 where turbines do not run."""
    tables = scope.tables.hydro
    given = tables if tables.cells is None else tables.cells
    runs = scope.operates[scope.cell_hydro][:, None]
    return (
        np.where(runs, scope.limit(given.min_turbined_m3s), 0.0),
        np.where(runs, scope.limit(given.min_generation_mw), 0.0),
    )


class _CellLimits:
    """``[cell, block]`` limits of turbines."""

    def __init__(self, least_turbined: Floats, least_generated: Floats, most: tuple[Floats, Floats]) -> None:
        self.least_turbined = least_turbined
        self.least_generated = least_generated
        self.most_turbined, self.most_generated = most

    @classmethod
    def of(cls, scope: StageScope, has_planes: Flags) -> _CellLimits:
        tables = scope.tables.hydro
        if tables.cells is None:
            power = scope.limit(tables.max_generation_mw)
            flow = _usable_flow(scope, has_planes, power)
        else:
            power, flow = (
                scope.limit(tables.cells.max_generation_mw),
                scope.limit(tables.cells.max_turbined_m3s),
            )
        runs = scope.operates[scope.cell_hydro][:, None]
        return cls(*least_of_cells(scope), (np.where(runs, flow, 0.0), power))


def _usable_flow(scope: StageScope, has_planes: Flags, power: Floats) -> Floats:
    """The turbine's limit, or the flow at which the generator reaches its own."""
    tables = scope.tables.hydro
    productivity = np.where(has_planes, 0.0, scope.at(tables.productivity_mw_per_m3s))[:, None]
    limit = np.divide(
        power,
        productivity,
        out=np.full(power.shape, np.inf),
        where=np.broadcast_to(np.nan_to_num(productivity) > 0.0, power.shape),
    )
    most: Floats = np.minimum(scope.limit(tables.max_turbined_m3s), limit)
    return most


def _add_spillage(lp: LpBuilder, scope: StageScope) -> Indices:
    tables = scope.tables.hydro
    least, most = tables.min_spillage_m3s, tables.max_spillage_m3s
    present = scope.is_present[:, None]
    return lp.add_columns(
        "spillage",
        scope.system.hydros,
        scope.blocks,
        lower=0.0 if least is None else np.where(present, scope.limit(least), 0.0),
        upper=np.where(present, INFINITY if most is None else scope.limit(most), 0.0),
        cost=scope.cost(scope.tables.hydro_costs.spillage),
    )


def _add_diversion(lp: LpBuilder, scope: StageScope) -> Indices:
    """Only plants that operate divert, and none that is filled within the study."""
    tables, hydros = scope.tables.hydro, scope.system.hydros
    least = tables.min_diversion_m3s
    diverts = scope.operates & np.array([h.diversion is not None for h in hydros], dtype=np.bool_)
    states = scope.tables.operation.hydro
    if states is not None and tables.soft_min_storage_hm3 is not None:
        diverts &= np.isnan(scope.at(tables.soft_min_storage_hm3))
    return lp.add_columns(
        "diversion",
        hydros,
        scope.blocks,
        lower=0.0 if least is None else scope.limit(least),
        upper=scope.limit(tables.max_diversion_m3s),
        cost=scope.cost(scope.tables.hydro_costs.diversion),
        where=diverts[:, None],
    )


def _add_shortfall(
    lp: LpBuilder, scope: StageScope, kind: str, target: Floats | None, price: Floats | None
) -> Indices:
    """Missing hm3 at a price per hm3, whatever the hours; nowhere without targets."""
    nothing = np.full(len(scope.system.hydros), np.nan)
    wanted = nothing if target is None else scope.at(target)
    cost = np.zeros(wanted.size) if price is None else scope.at(price)
    return lp.add_columns(kind, scope.system.hydros, cost=cost, where=np.nan_to_num(wanted) > 0.0)


def add_storage_targets(lp: LpBuilder, scope: StageScope, state: StateColumns, hydro: HydroColumns) -> None:
    """``storage + missing >= target``: of plants that are being filled, and of those that were."""
    tables, hydros = scope.tables.hydro, scope.system.hydros
    for kind, target, slack in (
        ("filling_target", tables.filling_target_hm3, hydro.filling_below),
        ("soft_min_storage", tables.soft_min_storage_hm3, hydro.storage_below),
    ):
        if target is not None:
            rows = lp.add_rows(kind, hydros, lower=np.nan_to_num(scope.at(target)), where=slack != ABSENT)
            lp.add_terms(rows, state.storage, 1.0)
            lp.add_terms(rows, slack, 1.0)


def add_water_balance(
    lp: LpBuilder,
    scope: StageScope,
    state: StateColumns,
    hydro: HydroColumns,
    pumping: Indices,
    downstream: Indices | None = None,
) -> Indices:
    """``[hydro, period]``: one row per hydro, or per hydro and chronological block.

    Its right-hand side is the planned withdrawal. ``downstream`` are the plants that receive releases at once; without
    it all plants below do.
    """
    below = scope.downstream if downstream is None else downstream
    itself, receiver = np.arange(len(scope.system.hydros)), scope.receiver
    planned = np.zeros(itself.size)
    passed = receiver != ABSENT
    np.add.at(planned, receiver[passed], scope.at(scope.tables.hydro.withdrawal_m3s)[passed])
    volume, of_block = scope.period_hm3, scope.period_of_block
    withdrawn = scope.per_period(-volume * planned[:, None])
    rows = lp.add_rows(
        "water_balance", scope.system.hydros, *scope.periods, lower=withdrawn, upper=withdrawn
    ).reshape(itself.size, volume.size)
    lp.add_terms(rows, state.storage_after[:, scope.block_of_period], 1.0)
    lp.add_terms(rows, state.storage_before[:, scope.block_of_period], -1.0)

    def move(flows: Indices, source: Indices, destination: Indices) -> None:
        lp.add_terms(_rows_of(rows, source)[:, of_block], flows, scope.block_hm3)
        lp.add_terms(_rows_of(rows, destination)[:, of_block], flows, -scope.block_hm3)

    move(hydro.turbined, scope.cell_hydro, below[scope.cell_hydro])
    move(hydro.spillage, itself, below)
    move(hydro.diversion, itself, scope.diversion_target)
    stations = scope.system.pumping_stations
    move(
        pumping,
        np.array([station.source_hydro for station in stations], dtype=np.int64),
        np.array([station.destination_hydro for station in stations], dtype=np.int64),
    )
    reached = _rows_of(rows, receiver)
    lp.add_terms(reached, state.inflow[:, None], -volume)
    lp.add_terms(reached, hydro.negative_inflow[:, None], -volume)
    lp.add_terms(rows, hydro.evaporation, volume)
    lp.add_terms(reached, hydro.withdrawal_below[:, None], -volume)
    lp.add_terms(reached, hydro.withdrawal_above[:, None], volume)
    return rows


def add_evaporation(lp: LpBuilder, scope: StageScope, state: StateColumns, hydro: HydroColumns) -> None:
    """``evaporation - kv (v + v_in) / 2 + below - above = k0`` where there is any, of the stage or of each block."""
    base, slope = (
        scope.at(scope.tables.hydro.evaporation_base_m3s),
        scope.at(scope.tables.hydro.evaporation_slope),
    )
    exists, of_period = hydro.evaporation != ABSENT, scope.block_of_period
    level = scope.per_period(base[:, None])
    rows = lp.add_rows(
        "evaporation",
        scope.system.hydros,
        *scope.periods,
        lower=level,
        upper=level,
        where=scope.per_period(exists),
    ).reshape(exists.shape)
    lp.add_terms(rows, hydro.evaporation, 1.0)
    lp.add_terms(rows, state.storage_after[:, of_period], -slope[:, None] / 2.0)
    lp.add_terms(rows, state.storage_before[:, of_period], -slope[:, None] / 2.0)
    lp.add_terms(rows, hydro.evaporation_below, 1.0)
    lp.add_terms(rows, hydro.evaporation_above, -1.0)


def _rows_of(rows: Indices, positions: Indices) -> Indices:
    """``[position, period]``: the rows of each position, ABSENT staying ABSENT."""
    if not rows.size:
        return np.full((positions.size, rows.shape[1]), ABSENT)
    return np.where((positions == ABSENT)[:, None], ABSENT, rows[positions])


def _has_planes(scope: StageScope) -> Flags:
    offsets, n_stages = scope.tables.hydro.plane_offsets, scope.case.horizon.n_stages
    first = np.arange(len(scope.system.hydros)) * n_stages + scope.index
    has: Flags = offsets[first + 1] > offsets[first]
    return has


def _check_power(scope: StageScope, is_without: Flags) -> None:
    for h in np.flatnonzero(is_without).tolist():
        hydro = scope.system.hydros[h]
        raise ValidationError(
            f"hydro {hydro.id} ({hydro.name}) has neither a productivity nor production planes in stage "
            f"{scope.stage.id}",
            kind="CoverageMismatch",
            context={"hydro": hydro.id, "stage": scope.stage.id},
            suggestion="give the stage a productivity or rows in system/fpha_hyperplanes.parquet",
        )


def _withdrawal_limits(scope: StageScope) -> tuple[Flags, Floats | float, Floats | float]:
    """Where water is withdrawn (or returned, if negative), and the largest violations above and below."""
    planned = scope.at(scope.tables.hydro.withdrawal_m3s)
    if not scope.case.conventions.withdrawal_is_limited:
        return planned > 0.0, INFINITY, INFINITY
    return (
        planned != 0.0,
        np.where(planned < 0.0, -planned, INFINITY),
        np.where(planned > 0.0, planned, INFINITY),
    )


def _most_evaporated(scope: StageScope) -> Floats:
    """Largest flow in either direction: twice that of a full reservoir. Rain on the lake is negative."""
    tables = scope.tables.hydro
    slope = scope.at(tables.evaporation_slope)
    full = np.where(slope != 0.0, scope.at(tables.max_storage_hm3), 0.0)
    most: Floats = 2.0 * np.abs(scope.at(tables.evaporation_base_m3s) + slope * full)
    return most


def _pays_for_inflow(scope: StageScope) -> bool:
    return scope.case.config.inflow_non_negativity in ("penalty", "truncation_with_penalty")
