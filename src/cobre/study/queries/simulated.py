"""Columns of a simulation by scenario, stage and entity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.io.grids import Fold, Keys, columns_in_turn, read_grid
from cobre.io.simulation_results import NAMED_BY, SCHEMAS, Calendar, SimulationFiles
from cobre.study.quantiles import hour_weights, speaks_for_stage


@dataclass(frozen=True)
class StageValues:
    """A column for whole stages, of the entities of one kind."""

    column: str
    stages: list[int]
    """Ids in the order of the study."""
    entities: list[int]
    names: list[str]
    values: Floats
    """``[scenario, stage, entity]``; NaN where an entity has no row."""

    def total(self) -> Floats:
        """``[scenario, stage]``: all entities together; what is not there counts as 0."""
        return np.stack([np.nansum(each, axis=1) for each in self.values])


def stage_values(
    files: SimulationFiles, calendar: Calendar, table: str, entity: str, columns: Sequence[str]
) -> Iterator[StageValues]:
    """Each column in turn, in memory that the next one takes over.

    Blocks are added up (money, energy, water) or averaged by their hours.
    """
    schema = SCHEMAS[table]
    described = {column.name: column for column in schema if column.name in columns}
    keys = ["stage_id", *(name for name in ("block_id", entity) if name in schema.column_names)]
    found: list[tuple[Ints, Ints, Ints]] = []

    def plan(rows: Keys) -> dict[str, Fold]:
        stages, stage = np.unique(rows["stage_id"], return_inverse=True)
        entities, place = np.unique(rows[entity], return_inverse=True)
        places, group = np.unique(stage * len(entities) + place, return_inverse=True)
        found.append((stages, entities, places))
        folds = {}
        for name, column in described.items():
            has_one = column.is_of_stage and "block_id" in rows
            numbers = np.where(speaks_for_stage(column, rows), group, -1) if has_one else group
            folds[name] = Fold.by(numbers, len(places), hour_weights(calendar, column, ["stage_id"], rows))
        return folds

    names = files.entity_names(NAMED_BY[entity])
    for name, values in columns_in_turn(files, table, keys, plan):
        stages, entities, places = found[-1]
        yield StageValues(
            name,
            stages.tolist(),
            entities.tolist(),
            [names.get(each, str(each)) for each in entities.tolist()],
            _dense(values, places, len(stages), len(entities)),
        )


def _dense(values: Floats, places: Ints, n_stages: int, n_entities: int) -> Floats:
    shape = (len(values), n_stages, n_entities)
    if len(places) == n_stages * n_entities:
        return values.reshape(shape)
    found = np.full((len(values), n_stages * n_entities), np.nan)
    found[:, places] = values
    return found.reshape(shape)


def summary_values(files: SimulationFiles, columns: Sequence[str]) -> dict[str, Floats]:
    """``[scenario, stage]`` of columns of ``stage_summary``, which is about the whole system."""

    def plan(rows: Keys) -> dict[str, Fold]:
        stages, stage = np.unique(rows["stage_id"], return_inverse=True)
        return {column: Fold.by(stage, len(stages)) for column in columns}

    return read_grid(files, "stage_summary", ["stage_id"], plan).values


@dataclass(frozen=True)
class BusValues:
    """Prices by block; deficit and demand by stage."""

    stages: list[int]
    entities: list[int]
    names: list[str]
    hours: Floats
    """``[time]``: of every block of every stage."""
    stage_of: Ints
    """``[time]``: place of its stage in ``stages``."""
    price: Floats
    """``[scenario, time, bus]``."""
    deficit_mwh: Floats
    """``[scenario, stage, bus]``."""
    load_mwh: Floats

    def stage_price(self) -> Floats:
        """``[scenario, stage, bus]``: averaged by hours."""
        starts = np.searchsorted(self.stage_of, np.arange(len(self.stages)))
        sums = np.add.reduceat(self.price * self.hours[:, np.newaxis], starts, axis=1)
        found: Floats = sums / np.add.reduceat(self.hours, starts)[:, np.newaxis]
        return found


def bus_values(files: SimulationFiles, calendar: Calendar) -> BusValues:
    """All buses, which have a row in every block of every stage."""
    found: list[Keys] = []

    def plan(rows: Keys) -> dict[str, Fold]:
        order = np.lexsort((rows["bus_id"], rows["block_id"], rows["stage_id"]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        found.append({key: each[order] for key, each in rows.items()})
        buses, bus = np.unique(rows["bus_id"], return_inverse=True)
        stages, stage = np.unique(rows["stage_id"], return_inverse=True)
        group, n_groups = stage * len(buses) + bus, len(stages) * len(buses)
        by_stage = Fold.by(group, n_groups)
        return {"spot_price": Fold.by(place, len(order)), "deficit_mwh": by_stage, "load_mwh": by_stage}

    grid = read_grid(files, "buses", ["stage_id", "block_id", "bus_id"], plan)
    rows, buses = found[-1], np.unique(found[-1]["bus_id"])
    n, n_buses = len(grid.scenarios), len(buses)
    stages, stage_of = np.unique(rows["stage_id"][::n_buses], return_inverse=True)
    times = zip(rows["stage_id"][::n_buses].tolist(), rows["block_id"][::n_buses].tolist(), strict=True)
    names = files.entity_names("bus")
    return BusValues(
        stages.tolist(),
        buses.tolist(),
        [names.get(each, str(each)) for each in buses.tolist()],
        np.array([calendar.hours(stage, None if block < 0 else block) for stage, block in times]),
        stage_of,
        grid.values["spot_price"].reshape(n, -1, n_buses),
        grid.values["deficit_mwh"].reshape(n, -1, n_buses),
        grid.values["load_mwh"].reshape(n, -1, n_buses),
    )
