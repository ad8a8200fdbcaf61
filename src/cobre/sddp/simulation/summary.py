"""What most questions ask of a scenario and a stage, and what statistics need of a whole scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.core.simulation_tables import COST_CATEGORIES
from cobre.sddp.simulation.outcome import StageView, sum_in_order, sum_of

Rows = Mapping[str, NDArray[Any]]
OF_STAGES = (
    "deficit_mwh",
    "max_deficit_mw",
    "curtailment_mwh",
    "spillage_hm3",
    "spillage_mwh",
    *(f"{kind}_cost" for kind in COST_CATEGORIES),
)
"""Sums over the stages of a scenario, of ``max_deficit_mw`` the greatest."""
END_COST = "end_cost"
"""What follows the last stage, by the cuts of another study that the policy ends in, discounted to the first one."""
TOTALS = (*OF_STAGES, END_COST)
"""What is kept of every scenario."""


def summarise(view: StageView, tables: Mapping[str, Rows], n: int) -> dict[str, Floats]:
    """The columns ``[scenario]`` of `STAGE_SUMMARY` for one stage; ``tables`` has the rows of that stage by table."""
    return {**_energy(view, tables, n), **_water(view, tables, n), **_costs(tables["costs"], n)}


def add_stage(totals: Floats, stage: Mapping[str, Floats]) -> None:
    """Add a stage to ``totals [scenario, value]``, whose values are those of `TOTALS`."""
    for k, name in enumerate(OF_STAGES):
        if name == "max_deficit_mw":
            np.maximum(totals[:, k], stage[name], out=totals[:, k])
        else:
            totals[:, k] += stage[name]


def end_cost(view: StageView, costs: Rows) -> Floats:
    """``[scenario]``: `END_COST`, from the rows of the last stage."""
    discounted: Floats = view.discount_factor * costs["future_cost"][:, 0]
    return discounted


def _energy(view: StageView, tables: Mapping[str, Rows], n: int) -> dict[str, Floats]:
    is_import = view.once(_is_import)
    deficit = tables["buses"]["deficit_mw"]
    return {
        "load_mwh": _total(tables, n, "buses", "load_mwh"),
        "hydro_mwh": _total(tables, n, "hydros", "generation_mwh"),
        "thermal_mwh": _total(tables, n, "thermals", "generation_mwh"),
        "non_controllable_mwh": _total(tables, n, "non_controllables", "generation_mwh"),
        "pumping_mwh": _total(tables, n, "pumping_stations", "energy_consumption_mwh"),
        "losses_mwh": _total(tables, n, "exchanges", "losses_mwh"),
        "deficit_mwh": _total(tables, n, "buses", "deficit_mwh"),
        "excess_mwh": _total(tables, n, "buses", "excess_mwh"),
        "curtailment_mwh": _total(tables, n, "non_controllables", "curtailment_mwh"),
        "import_mwh": _total(tables, n, "contracts", "energy_mwh", is_import),
        "export_mwh": _total(tables, n, "contracts", "energy_mwh", ~is_import),
        "max_deficit_mw": deficit.max(axis=1, initial=0.0),
    }


def _is_import(view: StageView) -> NDArray[np.bool_]:
    """Of each row of contracts."""
    contracts = view.scope.system.contracts
    return np.repeat(np.array([each.is_import for each in contracts], dtype=np.bool_), view.n_blocks)


def _water(view: StageView, tables: Mapping[str, Rows], n: int) -> dict[str, Floats]:
    volume, energy, is_last = view.once(_factors_of_plants)
    return {
        "spillage_hm3": _total(tables, n, "hydros", "spillage_m3s", volume),
        "spillage_mwh": _total(tables, n, "hydros", "spillage_m3s", energy),
        "storage_final_hm3": _total(tables, n, "hydros", "storage_final_hm3", is_last),
        "stored_energy_final_mwh": _total(tables, n, "hydros", "stored_energy_final_mwh", is_last),
    }


def _factors_of_plants(view: StageView) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Of each row of hydros: hm3 and MWh of one m3/s, and whether it is the last row of its plant."""
    n_hydros = len(view.scope.system.hydros)
    hours = np.tile(view.hours, n_hydros)
    productivity = view.energy.equivalent_productivity[:, view.scope.index]
    is_last = np.tile(np.arange(view.n_blocks) == view.n_blocks - 1, n_hydros)
    return HM3_PER_M3S_HOUR * hours, np.repeat(productivity, view.n_blocks) * hours, is_last


def _costs(costs: Rows, n: int) -> dict[str, Floats]:
    groups = {
        f"{kind}_cost": np.broadcast_to(sum_of([costs[name][..., 0] for name in names]), n)
        for kind, names in COST_CATEGORIES.items()
    }
    return {"immediate_cost": costs["immediate_cost"][:, 0].astype(np.float64), **groups}


def _total(
    tables: Mapping[str, Rows], n: int, table: str, column: str, factor: NDArray[Any] | None = None
) -> Floats:
    """``[scenario]``: the sum over all rows of a column, times ``factor``; 0 where there is no such table."""
    if table not in tables:
        return np.zeros(n)
    values = tables[table][column]
    terms = values if factor is None else values * factor
    if terms.ndim == 1:
        return np.full(n, sum_in_order(terms[np.newaxis, :])[0])
    return sum_in_order(terms)
