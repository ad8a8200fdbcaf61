"""Everything that a report says about one run, computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.errors import CobreError
from cobre.io.parquet import read_parquet
from cobre.io.simulation_results import Calendar, SimulationFiles
from cobre.io.write.dictionaries import CODES, ENTITY_TYPES
from cobre.io.write.dictionaries import FOLDER as DICTIONARIES
from cobre.sddp.policy import Policy
from cobre.study.queries.fans import Fan, fan_of, mean_of
from cobre.study.queries.simulated import BusValues, bus_values, stage_values, summary_values
from cobre.study.results import Results

HYDRO_COLUMNS = (
    "storage_final_hm3",
    "incremental_inflow_m3s",
    "turbined_m3s",
    "spillage_m3s",
    "generation_mw",
    "water_value_per_hm3",
)
INFLOW_ENERGY = "incremental_inflow_energy_mw"
PLANT_COLUMNS = {
    "hydro": ("hydros", HYDRO_COLUMNS),
    "thermal": ("thermals", ("generation_mw", "generation_cost")),
    "non_controllable": ("non_controllables", ("generation_mw", "curtailment_mw")),
    "line": ("exchanges", ("net_flow_mw",)),
    "contract": ("contracts", ("power_mw", "total_cost")),
    "pumping_station": ("pumping_stations", ("pumped_flow_m3s", "power_consumption_mw")),
}
"""Kinds of entities with their table and the columns that are shown of each."""


@dataclass(frozen=True)
class EntityFans:
    """Fans ``[stage, entity]`` of all entities of a kind."""

    entities: list[int]
    names: list[str]
    fans: dict[str, Fan]
    totals: dict[str, Fan]
    """``[stage]``: all entities together."""
    exceeding: dict[str, Floats]
    """``[stage, entity]``: share of scenarios with a value above rounding."""


class RunData:
    """One run. Tables are read once; what is kept of them are fans."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.training = results.training
        simulation = results.simulation
        self.simulation = simulation if simulation is not None and simulation.is_complete else None
        self.files = SimulationFiles(results.folder)

    @cached_property
    def policy(self) -> Policy | None:
        """None if the folder has none that can be read."""
        try:
            return self.results.policy
        except (CobreError, OSError):
            return None

    @cached_property
    def calendar(self) -> Calendar | None:
        """None if the folder has no dictionary of its stages."""
        try:
            return self.files.calendar()
        except CobreError:
            return None

    @property
    def stages(self) -> list[int]:
        """Ids of the stages."""
        return [] if self.calendar is None else list(self.calendar.seasons)

    @cached_property
    def stage_labels(self) -> list[str]:
        """Months or days in which stages begin."""
        return [] if self.calendar is None else self.calendar.stage_labels()

    @cached_property
    def start_dates(self) -> list[str]:
        """By stage, in ISO format."""
        return [] if self.calendar is None else [self.calendar.start_dates[stage] for stage in self.stages]

    @cached_property
    def summary(self) -> dict[str, Floats]:
        """``[scenario, stage]`` of every column of ``stage_summary``."""
        from cobre.core.simulation_tables import STAGE_SUMMARY

        return summary_values(self.files, STAGE_SUMMARY.column_names[2:])

    @cached_property
    def costs(self) -> Floats:
        """``[scenario]``: discounted cost."""
        table = self.files.read("scenario_summary", ["discounted_immediate_cost"])
        found: Floats = table["discounted_immediate_cost"].to_numpy()
        return found

    @cached_property
    def weights(self) -> Floats | None:
        """``[scenario]``: probabilities, if they differ."""
        return self.files.probabilities()

    def mean(self, values: NDArray[Any]) -> Any:
        """Over the first axis of ``values [scenario, …]``."""
        return mean_of(values, self.weights)

    def fan(self, values: Floats) -> Fan:
        """Over the first axis of ``values [scenario, …]``."""
        return fan_of(values, self.weights)

    @cached_property
    def buses(self) -> BusValues:
        """Prices, deficit and demand."""
        if self.calendar is None:
            raise CobreError("the folder has no stages.csv")
        return bus_values(self.files, self.calendar)

    @cached_property
    def entities(self) -> dict[str, EntityFans]:
        """By kind, as far as the study has such entities."""
        if self.simulation is None or self.calendar is None:
            return {}
        found = {}
        for kind, (table, columns) in PLANT_COLUMNS.items():
            fans = self._fans(self.calendar, kind, table, columns)
            if fans is not None:
                found[kind] = fans
        return found

    def _fans(self, calendar: Calendar, kind: str, table: str, columns: Sequence[str]) -> EntityFans | None:
        if not self.files.has(table):
            return None
        extra = (INFLOW_ENERGY,) if kind == "hydro" else ()
        fans: dict[str, Fan] = {}
        totals: dict[str, Fan] = {}
        exceeding: dict[str, Floats] = {}
        for found in stage_values(self.files, calendar, table, f"{kind}_id", [*columns, *extra]):
            entities, names = found.entities, found.names
            if found.column in extra:
                totals[found.column] = self.fan(found.total())
            else:
                fans[found.column] = self.fan(found.values)
            if found.column == "spillage_m3s":
                exceeding[found.column] = self.mean(found.values > 1e-6)
        return EntityFans(entities, names, {name: fans[name] for name in columns}, totals, exceeding)

    @cached_property
    def bounds(self) -> dict[tuple[str, int, str], Floats]:
        """``[stage]`` by kind of entity, its id and the limit's name; NaN where there is none."""
        path = self.results.folder / DICTIONARIES / "bounds.parquet"
        if not path.exists():
            return {}
        place = {stage: k for k, stage in enumerate(self.stages)}
        found: dict[tuple[str, int, str], Floats] = {}
        table = read_parquet(path)
        columns = [table[name].to_pylist() for name in (
            "entity_type_code", "entity_id", "stage_id", "block_id", "bound_type_code", "bound_value"
        )]  # fmt: skip
        for code, entity, stage, block, bound, value in zip(*columns, strict=True):
            if block in (None, 0) and stage in place:
                key = (ENTITY_TYPES[code], entity, CODES["bound_type"][bound])
                found.setdefault(key, np.full(len(place), np.nan))[place[stage]] = value
        return found

    def training_table(self, name: str) -> pa.Table | None:
        """A table of training by its name below ``training``; None if it was not written."""
        path = self.results.folder / "training" / f"{name}.parquet"
        return read_parquet(path) if path.exists() else None

    @property
    def metadata(self) -> dict[str, Any]:
        """What the files say about the run, training first."""
        simulation = self.results.simulation
        return {
            "training": None if self.training is None else self.training.metadata,
            "simulation": None if simulation is None else simulation.metadata,
        }


def rows_of(values: Floats, wanted: Sequence[int], entities: Sequence[int]) -> list[list[float]]:
    """Of each wanted entity its values by stage, from ``[stage, entity]``; NaN for those that are not there."""
    places = {entity: place for place, entity in enumerate(entities)}
    missing = [float("nan")] * len(values)
    return [values[:, places[each]].tolist() if each in places else missing for each in wanted]


def check_comparable(run: RunData, other: RunData) -> None:
    """Raise unless both runs have the same stages."""
    if run.stages != other.stages or run.start_dates != other.start_dates:
        raise CobreError(
            f"the runs in {run.results.folder} and {other.results.folder} cannot be compared: they have "
            f"{len(run.stages)} stages from {_first(run)} and {len(other.stages)} stages from {_first(other)}",
            kind="IncompatibleRuns",
            context={
                "field": "stages",
                "run_a_value": run.start_dates,
                "run_b_value": other.start_dates,
            },
            suggestion="compare runs of studies with the same stages",
        )


def _first(run: RunData) -> str:
    return run.start_dates[0] if run.start_dates else "an unknown date"
