"""What hydros must keep to in each block: production planes and soft limits."""

from __future__ import annotations

import numpy as np

from cobre.sddp.subproblem.builder import ABSENT, LpBuilder
from cobre.sddp.subproblem.layout import HydroColumns, StateColumns
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope


def add_production_planes(lp: LpBuilder, scope: StageScope, state: StateColumns, hydro: HydroColumns) -> None:
    """``generation <= constant + per_hm3 (v + v_in) / 2 + per_turbined q + per_spilled s`` for each plane."""
    tables, hydros = scope.tables.hydro, scope.system.hydros
    with_planes = np.flatnonzero(hydro.has_planes)
    if not with_planes.size:
        return
    planes_of = [tables.planes_of(int(h), scope.index) for h in with_planes]
    owner = np.repeat(with_planes, [len(planes) for planes in planes_of])
    names = labels_of(hydros)
    labels = [
        f"{names[h]}#{p}" for h, of_h in zip(with_planes, planes_of, strict=True) for p in range(len(of_h))
    ]
    constant, per_hm3, per_turbined, per_spilled = np.concatenate(planes_of).T[:, :, None]
    rows = lp.add_rows("production_plane", labels, scope.blocks, upper=constant)
    lp.add_terms(rows, hydro.generation[owner], 1.0)
    lp.add_terms(rows, state.storage[owner, None], -per_hm3 / 2.0)
    lp.add_terms(rows, state.incoming_storage[owner, None], -per_hm3 / 2.0)
    lp.add_terms(rows, hydro.turbined[owner], -per_turbined)
    lp.add_terms(rows, hydro.spillage[owner], -per_spilled)


def add_soft_limits(lp: LpBuilder, scope: StageScope, hydro: HydroColumns) -> None:
    """Least turbined flow, least and most outflow, least power; each with its slack, only where it is given."""
    hydros, blocks, tables = scope.system.hydros, scope.blocks, scope.tables.hydro

    turbined = lp.add_rows(
        "min_turbined",
        hydros,
        blocks,
        lower=scope.at(tables.min_turbined_m3s)[:, None],
        where=hydro.turbined_below != ABSENT,
    )
    lp.add_terms(turbined, hydro.turbined, 1.0)
    lp.add_terms(turbined, hydro.turbined_below, 1.0)

    least = lp.add_rows(
        "min_outflow",
        hydros,
        blocks,
        lower=scope.at(tables.min_outflow_m3s)[:, None],
        where=hydro.outflow_below != ABSENT,
    )
    most = lp.add_rows(
        "max_outflow",
        hydros,
        blocks,
        upper=scope.at(tables.max_outflow_m3s)[:, None],
        where=hydro.outflow_above != ABSENT,
    )
    for rows in (least, most):
        for flow in (hydro.turbined, hydro.spillage, hydro.diversion):
            lp.add_terms(rows, flow, 1.0)
    lp.add_terms(least, hydro.outflow_below, 1.0)
    lp.add_terms(most, hydro.outflow_above, -1.0)

    power = lp.add_rows(
        "min_generation",
        hydros,
        blocks,
        lower=scope.at(tables.min_generation_mw)[:, None],
        where=hydro.generation_below != ABSENT,
    )
    lp.add_terms(power, hydro.generation, hydro.generation_factor[:, None])
    lp.add_terms(power, hydro.generation_below, 1.0)
