"""Reservoirs and turbines: their flows and the water balance.

In hm3 over the stage, blocks added up: what is stored at the end is what came in, plus inflow, releases and
canals from above and pumped water, minus what is turbined, spilled, diverted, pumped away, evaporated and
withdrawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.errors import ValidationError
from cobre.sddp.subproblem.builder import ABSENT, Indices, LpBuilder
from cobre.sddp.subproblem.layout import HydroColumns, StateColumns
from cobre.sddp.subproblem.scope import StageScope


def add_hydro_columns(lp: LpBuilder, scope: StageScope) -> HydroColumns:
    """All decisions of hydros; the slack of a soft limit exists only where the limit does."""
    hydros, blocks, tables, costs = (
        scope.system.hydros,
        scope.blocks,
        scope.tables.hydro,
        scope.tables.hydro_costs,
    )
    has_planes = _has_planes(scope)
    productivity = scope.at(tables.productivity_mw_per_m3s)
    _check_power(scope, np.isnan(productivity) & ~has_planes)
    turbined = lp.add_columns(
        "turbined",
        hydros,
        blocks,
        upper=_most_turbined(scope, has_planes)[:, None],
        cost=np.where(has_planes[:, None], scope.cost(costs.fpha_turbined), 0.0),
    )
    generation = lp.add_columns(
        "generation",
        hydros,
        blocks,
        upper=scope.at(tables.max_generation_mw)[:, None],
        where=has_planes[:, None],
    )
    evaporates = np.array([h.has_evaporation for h in hydros], dtype=np.bool_)
    most_evaporated = _most_evaporated(scope)
    withdraws = scope.at(tables.withdrawal_m3s) > 0.0

    def slack(kind: str, price: NDArray[np.float64], where: NDArray[np.bool_]) -> Indices:
        return lp.add_columns(kind, hydros, blocks, cost=scope.cost(price), where=where[:, None])

    def stage_slack(kind: str, price: NDArray[np.float64], where: NDArray[np.bool_] | bool) -> Indices:
        return lp.add_columns(kind, hydros, cost=scope.stage_cost(price), where=where)

    return HydroColumns(
        turbined=turbined,
        spillage=lp.add_columns("spillage", hydros, blocks, cost=scope.cost(costs.spillage)),
        diversion=lp.add_columns(
            "diversion",
            hydros,
            blocks,
            upper=scope.at(tables.max_diversion_m3s)[:, None],
            cost=scope.cost(costs.diversion),
            where=(scope.diversion_target != ABSENT)[:, None],
        ),
        generation=np.where(has_planes[:, None], generation, turbined),
        generation_factor=np.where(has_planes, 1.0, productivity),
        has_planes=has_planes,
        turbined_below=slack("turbined_below", costs.turbined_below, scope.at(tables.min_turbined_m3s) > 0.0),
        outflow_below=slack("outflow_below", costs.outflow_below, scope.at(tables.min_outflow_m3s) > 0.0),
        outflow_above=slack(
            "outflow_above", costs.outflow_above, np.isfinite(scope.at(tables.max_outflow_m3s))
        ),
        generation_below=slack(
            "generation_below", costs.generation_below, scope.at(tables.min_generation_mw) > 0.0
        ),
        negative_inflow=stage_slack("negative_inflow", costs.negative_inflow, _pays_for_inflow(scope)),
        evaporation=lp.add_columns(
            "evaporation", hydros, lower=-most_evaporated, upper=most_evaporated, where=evaporates
        ),
        evaporation_above=stage_slack("evaporation_above", costs.evaporation_above, evaporates),
        evaporation_below=stage_slack("evaporation_below", costs.evaporation_below, evaporates),
        withdrawal_above=stage_slack("withdrawal_above", costs.withdrawal_above, withdraws),
        withdrawal_below=stage_slack("withdrawal_below", costs.withdrawal_below, withdraws),
    )


def add_water_balance(
    lp: LpBuilder, scope: StageScope, state: StateColumns, hydro: HydroColumns, pumping: Indices
) -> Indices:
    """One row per hydro; its right-hand side is the planned withdrawal."""
    withdrawn = -scope.stage_hm3 * scope.at(scope.tables.hydro.withdrawal_m3s)
    rows = lp.add_rows("water_balance", scope.system.hydros, lower=withdrawn, upper=withdrawn)
    lp.add_terms(rows, state.storage, 1.0)
    lp.add_terms(rows, state.incoming_storage, -1.0)

    def move(flows: Indices, source: Indices, destination: Indices) -> None:
        lp.add_terms(_rows_of(rows, source), flows, scope.block_hm3)
        lp.add_terms(_rows_of(rows, destination), flows, -scope.block_hm3)

    itself = np.arange(rows.size)
    move(hydro.turbined, itself, scope.downstream)
    move(hydro.spillage, itself, scope.downstream)
    move(hydro.diversion, itself, scope.diversion_target)
    stations = scope.system.pumping_stations
    move(
        pumping,
        np.array([station.source_hydro for station in stations], dtype=np.int64),
        np.array([station.destination_hydro for station in stations], dtype=np.int64),
    )
    lp.add_terms(rows, state.inflow, -scope.stage_hm3)
    lp.add_terms(rows, hydro.negative_inflow, -scope.stage_hm3)
    lp.add_terms(rows, hydro.evaporation, scope.stage_hm3)
    lp.add_terms(rows, hydro.withdrawal_below, -scope.stage_hm3)
    lp.add_terms(rows, hydro.withdrawal_above, scope.stage_hm3)
    return rows


def add_evaporation(lp: LpBuilder, scope: StageScope, state: StateColumns, hydro: HydroColumns) -> None:
    """``evaporation - kv (v + v_in) / 2 + below - above = k0`` where there is any."""
    base, slope = (
        scope.at(scope.tables.hydro.evaporation_base_m3s),
        scope.at(scope.tables.hydro.evaporation_slope),
    )
    rows = lp.add_rows(
        "evaporation", scope.system.hydros, lower=base, upper=base, where=hydro.evaporation != ABSENT
    )
    lp.add_terms(rows, hydro.evaporation, 1.0)
    lp.add_terms(rows, state.storage, -slope / 2.0)
    lp.add_terms(rows, state.incoming_storage, -slope / 2.0)
    lp.add_terms(rows, hydro.evaporation_below, 1.0)
    lp.add_terms(rows, hydro.evaporation_above, -1.0)


def _rows_of(rows: Indices, positions: Indices) -> Indices:
    """``[n, 1]`` row of each position, ABSENT staying ABSENT."""
    return np.where(positions == ABSENT, ABSENT, rows[positions] if rows.size else positions)[:, None]


def _has_planes(scope: StageScope) -> NDArray[np.bool_]:
    offsets, n_stages = scope.tables.hydro.plane_offsets, scope.case.horizon.n_stages
    first = np.arange(len(scope.system.hydros)) * n_stages + scope.index
    has: NDArray[np.bool_] = offsets[first + 1] > offsets[first]
    return has


def _check_power(scope: StageScope, is_without: NDArray[np.bool_]) -> None:
    for h in np.flatnonzero(is_without).tolist():
        hydro = scope.system.hydros[h]
        raise ValidationError(
            f"hydro {hydro.id} ({hydro.name}) has neither a productivity nor production planes in stage "
            f"{scope.stage.id}",
            kind="CoverageMismatch",
            context={"hydro": hydro.id, "stage": scope.stage.id},
            suggestion="give the stage a productivity_override or rows in system/fpha_hyperplanes.parquet",
        )


def _most_turbined(scope: StageScope, has_planes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The turbine's limit, or the flow at which the generator reaches its own."""
    tables = scope.tables.hydro
    productivity = np.where(has_planes, 0.0, scope.at(tables.productivity_mw_per_m3s))
    limit = np.divide(
        scope.at(tables.max_generation_mw),
        productivity,
        out=np.full(productivity.shape, np.inf),
        where=productivity > 0.0,
    )
    most: NDArray[np.float64] = np.minimum(scope.at(tables.max_turbined_m3s), limit)
    return most


def _most_evaporated(scope: StageScope) -> NDArray[np.float64]:
    """Largest flow in either direction: twice that of a full reservoir. Rain on the lake is negative."""
    tables = scope.tables.hydro
    when_full = scope.at(tables.evaporation_base_m3s) + scope.at(tables.evaporation_slope) * scope.at(
        tables.max_storage_hm3
    )
    most: NDArray[np.float64] = 2.0 * np.abs(when_full)
    return most


def _pays_for_inflow(scope: StageScope) -> bool:
    return scope.case.config.inflow_non_negativity in ("penalty", "truncation_with_penalty")
