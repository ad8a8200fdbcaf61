"""Storage, inflow and the value of water."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre import draw
from cobre.draw.charts import SHARES, fan_figure, heat_figure
from cobre.study.queries.runs import INFLOW_ENERGY, RunData, rows_of

MOST_RESERVOIRS = 6
MOST_ROWS = 60


def water(run: RunData, other: RunData | None) -> str:
    """All charts of the section."""
    if run.simulation is None or "hydro" not in run.entities:
        return ""
    return "".join(
        [_energy(run, other), _reservoirs(run, other), _inflows(run, other), _water_values(run, other)]
    )


def _energy(run: RunData, other: RunData | None) -> str:
    beside = other if other is not None and other.simulation is not None else None
    stored = run.fan(run.summary["stored_energy_final_mwh"] / 1000.0)
    theirs = None if beside is None else beside.fan(beside.summary["stored_energy_final_mwh"] / 1000.0)
    inflow = run.entities["hydro"].totals[INFLOW_ENERGY]
    their_hydros = None if beside is None else beside.entities.get("hydro")
    their_inflow = None if their_hydros is None else their_hydros.totals[INFLOW_ENERGY]
    return fan_figure("Stored energy", "GWh", run.stage_labels, stored, theirs) + fan_figure(
        "Natural inflow as energy", "MW", run.stage_labels, inflow, their_inflow
    )


def largest_reservoirs(run: RunData, n: int) -> list[int]:
    """Places of the hydros with the widest range of simulated storage, the widest first."""
    storage = run.entities["hydro"].fans["storage_final_hm3"]
    span = np.nanmax(storage.at(0.95), axis=0)
    order = np.argsort(-span, kind="stable").tolist()
    return [place for place in order if span[place] > 0][:n]


def _reservoirs(run: RunData, other: RunData | None) -> str:
    return "".join(
        hydro_figure(run, other, place, "storage_final_hm3", "Storage of", "hm3")
        for place in largest_reservoirs(run, MOST_RESERVOIRS)
    )


def _inflows(run: RunData, other: RunData | None) -> str:
    inflow = run.entities["hydro"].fans["incremental_inflow_m3s"]
    order = np.argsort(-np.nanmean(inflow.mean, axis=0), kind="stable")[:MOST_RESERVOIRS].tolist()
    return "".join(
        hydro_figure(run, other, place, "incremental_inflow_m3s", "Natural inflow of", "m3/s")
        for place in order
    )


def hydro_figure(
    run: RunData,
    other: RunData | None,
    place: int,
    column: str,
    what: str,
    unit: str,
    shares: Sequence[float] = SHARES,
    *,
    is_late: bool = False,
) -> str:
    """A fan of one hydro, with the limits of its storage and the other run's beside it."""
    hydros = run.entities["hydro"]
    entity = hydros.entities[place]
    theirs = None
    if other is not None and "hydro" in other.entities:
        found = other.entities["hydro"]
        theirs = found.fans[column].of(found.entities.index(entity)) if entity in found.entities else None
    limits = []
    if column == "storage_final_hm3":
        limits = [
            draw.Line(label, run.bounds[key].tolist(), 6)
            for label, key in (
                ("highest", ("hydro", entity, "storage_max")),
                ("lowest", ("hydro", entity, "storage_min")),
            )
            if key in run.bounds
        ]
    title = f"{what} {draw.visible(hydros.names[place], 60)}"
    fan = hydros.fans[column].of(place)
    return fan_figure(
        title, unit, run.stage_labels, fan, theirs, limits=limits, shares=shares, is_late=is_late
    )


def _water_values(run: RunData, other: RunData | None) -> str:
    hydros = run.entities["hydro"]
    value = hydros.fans["water_value_per_hm3"].mean
    places = largest_reservoirs(run, MOST_ROWS)
    if not places:
        return ""
    beside = None
    if other is not None and "hydro" in other.entities:
        theirs = other.entities["hydro"]
        chosen = [hydros.entities[place] for place in places]
        beside = rows_of(theirs.fans["water_value_per_hm3"].mean, chosen, theirs.entities)
    return heat_figure(
        "Mean value of water",
        "What one more hm3 that arrives saves, mean over scenarios; the largest reservoirs on top.",
        run.stage_labels,
        [hydros.names[place] for place in places],
        [value[:, place].tolist() for place in places],
        "$/hm3",
        other=beside,
    )
