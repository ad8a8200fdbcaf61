"""The Parquet files of 0.5.1 that changed since."""

from __future__ import annotations

from dataclasses import replace

from cobre.io.read.columns import Column, TableFile, id_column, number, override
from cobre.io.read.constraints import (
    contract_bounds,
    generic_constraint_bounds,
    hydro_bounds,
    line_bounds,
    penalty_overrides_hydro,
    penalty_overrides_ncs,
    pumping_bounds,
)
from cobre.io.read.scenarios import external_ncs_scenarios, inflow_history

BLOCK = "block_id"


def _renamed(file: TableFile, *, without: tuple[str, ...] = (), **names: str) -> TableFile:
    """``file`` without some columns, others under the ``names`` that they had."""
    columns = tuple(
        replace(column, name=names.get(column.name, column.name))
        for column in file.columns
        if column.name not in without
    )
    return replace(
        file, columns=columns, key=tuple(names.get(key, key) for key in file.key if key not in without)
    )


_history = replace(
    inflow_history.FILE,
    columns=(id_column("hydro_id", "hydro"), Column("date", "date"), number("value_m3s")),
    key=("hydro_id", "date"),
    alternatives=(inflow_history.FILE,),
)
_hydro_bounds = _renamed(
    hydro_bounds.FILE,
    without=(BLOCK, "filling_min_rate_m3s", "min_diversion_m3s", "min_spillage_m3s", "max_spillage_m3s"),
)
_constraint_bounds = replace(
    generic_constraint_bounds.FILE,
    columns=(*generic_constraint_bounds.FILE.columns[:3], number("bound")),
)

FILES = (
    _renamed(contract_bounds.FILE, without=(BLOCK,)),
    _constraint_bounds,
    replace(_hydro_bounds, columns=(*_hydro_bounds.columns, override("filling_inflow_m3s"))),
    _renamed(line_bounds.FILE, without=(BLOCK,)),
    _renamed(penalty_overrides_hydro.FILE, turbined_cost="fpha_turbined_cost"),
    _renamed(penalty_overrides_ncs.FILE, ncs_id="source_id"),
    _renamed(pumping_bounds.FILE, without=(BLOCK,), pumping_station_id="station_id"),
    _renamed(external_ncs_scenarios.FILE, availability_factor="value"),
    _history,
)
"""Every table whose columns differ; the history may already have windows."""

NAMES = {
    "hydro_penalties": {"fpha_turbined_cost": "turbined_cost"},
    "ncs_penalties": {"source_id": "ncs_id"},
    "pumping_bounds": {"station_id": "pumping_station_id"},
    "external_ncs": {"value": "availability_factor"},
    "hydro_bounds": {"filling_inflow_m3s": "filling_min_rate_m3s"},
}
"""By attribute of the table: columns that only changed their name, from then to now."""
