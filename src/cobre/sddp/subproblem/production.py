"""What hydros must keep to in each block: production planes and soft limits."""

from __future__ import annotations

import numpy as np

from cobre.sddp.subproblem.builder import ABSENT, LpBuilder
from cobre.sddp.subproblem.hydro import cell_labels, least_of_cells
from cobre.sddp.subproblem.layout import HydroColumns, StateColumns
from cobre.sddp.subproblem.scope import StageScope


def add_production_planes(lp: LpBuilder, scope: StageScope, state: StateColumns, hydro: HydroColumns) -> None:
    """``generation <= constant + per_hm3 (v + v_in) / 2 + per_turbined q + per_spilled s`` for each plane.

    The mean storage is that of the stage, or of the block where blocks are chronological.
    Where units are at several buses, each bus has its share of all but the turbined flow, which is its own.
    """
    tables = scope.tables.hydro
    with_planes = np.flatnonzero(hydro.has_planes[scope.cell_hydro])
    if not with_planes.size:
        return
    planes_of = [tables.planes_of(int(scope.cell_hydro[c]), scope.index) for c in with_planes]
    cell = np.repeat(with_planes, [len(planes) for planes in planes_of])
    owner = scope.cell_hydro[cell]
    share = np.ones(cell.size) if tables.cells is None else tables.cells.share[cell]
    names = cell_labels(scope)
    labels = [
        f"{names[c]}#{p}" for c, of_c in zip(with_planes, planes_of, strict=True) for p in range(len(of_c))
    ]
    constant, per_hm3, per_turbined, per_spilled = np.concatenate(planes_of).T[:, :, None]
    part = share[:, None]
    rows = lp.add_rows("production_plane", labels, scope.blocks, upper=part * constant)
    lp.add_terms(rows, hydro.generation[cell], 1.0)
    lp.add_terms(rows, state.storage_after[owner], -part * per_hm3 / 2.0)
    lp.add_terms(rows, state.storage_before[owner], -part * per_hm3 / 2.0)
    lp.add_terms(rows, hydro.turbined[cell], -per_turbined)
    lp.add_terms(rows, hydro.spillage[owner], -part * per_spilled)


def add_soft_limits(lp: LpBuilder, scope: StageScope, hydro: HydroColumns) -> None:
    """Least turbined flow, least and most outflow, least power; each with its slack, only where it is given."""
    hydros, blocks, tables = scope.system.hydros, scope.blocks, scope.tables.hydro
    cells, owner = cell_labels(scope), scope.cell_hydro
    least_turbined, least_generated = least_of_cells(scope)

    turbined = lp.add_rows(
        "min_turbined", cells, blocks, lower=least_turbined, where=hydro.turbined_below != ABSENT
    )
    lp.add_terms(turbined, hydro.turbined, 1.0)
    lp.add_terms(turbined, hydro.turbined_below, 1.0)

    for name, slack, sign, bound in (
        ("min_outflow", hydro.outflow_below, 1.0, {"lower": scope.limit(tables.min_outflow_m3s)}),
        ("max_outflow", hydro.outflow_above, -1.0, {"upper": scope.limit(tables.max_outflow_m3s)}),
    ):
        rows = lp.add_rows(name, hydros, blocks, **bound, where=slack != ABSENT)
        lp.add_terms(rows[owner], hydro.turbined, 1.0)
        lp.add_terms(rows, hydro.spillage, 1.0)
        if scope.case.conventions.diversion_is_outflow:
            lp.add_terms(rows, hydro.diversion, 1.0)
        lp.add_terms(rows, slack, sign)

    power = lp.add_rows(
        "min_generation", cells, blocks, lower=least_generated, where=hydro.generation_below != ABSENT
    )
    lp.add_terms(power, hydro.generation, hydro.generation_factor[:, None])
    lp.add_terms(power, hydro.generation_below, 1.0)
