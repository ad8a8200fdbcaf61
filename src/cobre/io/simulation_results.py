"""Reads back the tables of a simulation, in either layout."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from cobre.arrays import Floats
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import PATHS, SCENARIO_SUMMARY, SIMULATION_TABLES, STAGE_SUMMARY
from cobre.errors import IOError, ValidationError
from cobre.io.parquet import read_parquet
from cobre.io.results import damaged, read_json
from cobre.io.write.dictionaries import ENTITY_TYPES
from cobre.io.write.dictionaries import FOLDER as DICTIONARIES
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.folder import SUCCESS
from cobre.io.write.parts import DATA
from cobre.io.write.simulation_end import METADATA

SCHEMAS: dict[str, TableSchema] = {
    schema.name: schema for schema in (*SIMULATION_TABLES, PATHS, SCENARIO_SUMMARY, STAGE_SUMMARY)
}
NAMED_BY = {
    "hydro_id": "hydro",
    "thermal_id": "thermal",
    "bus_id": "bus",
    "line_id": "line",
    "pumping_station_id": "pumping_station",
    "contract_id": "contract",
    "non_controllable_id": "non_controllable",
}
"""The kind of entity that a column of ids is about."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Calendar:
    """Hours and seasons of the stages of a run."""

    block_hours: dict[tuple[int, int], float]
    """By stage id and block."""
    seasons: dict[int, int | None]
    """By stage id."""
    start_dates: dict[int, str] = field(default_factory=dict)
    """By stage id, in ISO format."""

    @classmethod
    def read(cls, path: Path) -> Calendar:
        """From ``stages.csv``."""
        return read_rows(path, cls._from_rows)

    @classmethod
    def _from_rows(cls, read: Iterator[dict[str, str]]) -> Calendar:
        rows = list(read)
        return cls(
            {(int(row["stage_id"]), int(row["block_id"])): float(row["hours"]) for row in rows},
            {int(row["stage_id"]): int(row["season_id"]) if row["season_id"] else None for row in rows},
            {int(row["stage_id"]): row["start_date"] for row in rows},
        )

    @cached_property
    def _stage_hours(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for (stage, _), hours in self.block_hours.items():
            found[stage] = found.get(stage, 0.0) + hours
        return found

    def stage_labels(self) -> list[str]:
        """Months in which stages begin, or days where several begin in one month."""
        dates = list(self.start_dates.values())
        months = [date[:7] for date in dates]
        return months if len(set(months)) == len(months) else dates

    def season_of(self, stage: int) -> int:
        """-1 without a season."""
        season = self.seasons[stage]
        return -1 if season is None else season

    def has(self, stage: int, block: int | None) -> bool:
        """Whether there is such a block, or such a stage."""
        return stage in self._stage_hours if block is None else (stage, block) in self.block_hours

    def hours(self, stage: int, block: int | None) -> float:
        """Of a block, or of the whole stage."""
        return self._stage_hours[stage] if block is None else self.block_hours[stage, block]

    def hours_of_group(self, stage: int, block: int | None, keys: Sequence[str]) -> float:
        """Of all that shares the ``keys`` (``stage_id``, ``block_id``, ``season``) with this stage and block."""
        stages = [stage] if "stage_id" in keys else list(self._stage_hours)
        if "season" in keys:
            stages = [each for each in stages if self.seasons[each] == self.seasons[stage]]
        if "block_id" in keys and block is not None:
            return sum(self.block_hours.get((each, block), 0.0) for each in stages)
        return sum(self._stage_hours[each] for each in stages)


class SimulationFiles:
    """The tables below ``simulation`` of an output folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / FOLDER

    @property
    def is_complete(self) -> bool:
        return (self.root / SUCCESS).exists()

    @property
    def tables(self) -> list[str]:
        """Names of the tables that are there."""
        return [name for name in SCHEMAS if self.has(name)]

    def has(self, name: str) -> bool:
        """Whether there is such a table; without looking for the files of all scenarios."""
        single = (self.root / f"{name}.parquet", self.root / name / DATA)
        return any(path.exists() for path in single) or any(_scenario_folders(self.root / name))

    def files(self, name: str) -> list[Path]:
        """The files of a table, in scenario order."""
        single = self.root / f"{name}.parquet"
        if single.exists():
            return [single]
        whole = self.root / name / DATA
        if whole.exists():
            return [whole]
        folder = self.root / name
        found = {int(each.partition("=")[2]): each for each in _scenario_folders(folder)}
        if found and self._n_scenarios is not None:
            self._check_scenarios(folder, found.keys())
        return [folder / found[scenario] / DATA for scenario in sorted(found)]

    @cached_property
    def _n_scenarios(self) -> int | None:
        """How many scenarios a table has files of; None for a simulation that did not end."""
        path = self.root / METADATA
        if not path.exists():
            return None
        metadata = read_json(path)
        scenarios = metadata.get("scenarios")
        is_known = metadata.get("statistics") is not None and isinstance(scenarios, dict)
        return scenarios.get("completed") if is_known and scenarios is not None else None

    def _check_scenarios(self, folder: Path, found: Set[int]) -> None:
        """Raise if a scenario of the simulation is not among ``found``, or one is that it did not have."""
        simulated = range(self._n_scenarios or 0)
        missing = next((each for each in simulated if each not in found), None)
        foreign = next((each for each in sorted(found) if each not in simulated), None)
        if missing is not None:
            why = f"scenario {missing} of {len(simulated)} is missing"
        elif foreign is not None:
            why = f"it has scenario {foreign}, and the simulation had {len(simulated)} scenarios"
        else:
            return
        raise damaged(folder, why, suggestion="simulate again")

    def read(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A table over all scenarios, or some of its columns."""
        paths = self.files(name)
        if not paths:
            known = ", ".join(self.tables) or "none"
            raise IOError(
                str(self.root / name),
                f"this simulation has no table {name!r}",
                suggestion=f"the tables are: {known}",
            )
        self.check_columns(name, columns or ())
        with self.reading(name):
            return pa.concat_tables([read_parquet(path, columns) for path in paths])

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Errors of Arrow and of the system in the ``with`` block become ours, with the name of the table."""
        try:
            yield
        except OSError as error:
            raise IOError(str(self.root / name), f"cannot read table {name}: {error}") from error
        except pa.ArrowException as error:
            raise damaged(self.root / name, error, suggestion="simulate again") from error

    @staticmethod
    def check_columns(name: str, columns: Sequence[str]) -> None:
        """Raise if table ``name`` lacks one of ``columns``."""
        unknown = [column for column in columns if column not in SCHEMAS[name].column_names]
        if unknown:
            raise ValidationError(
                f"table {name} has no column {', '.join(map(repr, unknown))}",
                kind="IncompatibleSettings",
                context={"table": name, "columns": unknown},
                suggestion=f"its columns are: {', '.join(SCHEMAS[name].column_names)}",
            )

    def calendar(self) -> Calendar:
        """Hours and seasons of the stages."""
        path = self.folder / DICTIONARIES / "stages.csv"
        try:
            return Calendar.read(path)
        except OSError as error:
            raise IOError(
                str(path),
                f"cannot read {path}, which has the hours of all blocks: {error.strerror or error}",
                suggestion="simulate again with this program, which writes it",
            ) from error

    def probabilities(self) -> Floats | None:
        """Of each scenario, if they are all paths of a policy graph; None if one is as likely as another."""
        if not self.has(SCENARIO_SUMMARY.name):
            return None
        found = self.read(SCENARIO_SUMMARY.name, ["probability"])["probability"]
        if not len(found) or found.null_count:
            return None
        shares: Floats = found.to_numpy()
        return shares

    def entity_names(self, kind: str) -> dict[int, str]:
        """Names by id of one kind of entities; empty if the folder has no dictionary."""
        path = self.folder / DICTIONARIES / "entities.csv"
        if not path.exists():
            return {}
        wanted = str(ENTITY_TYPES.index(kind))

        def named(rows: Iterator[dict[str, str]]) -> dict[int, str]:
            return {int(row["entity_id"]): row["name"] for row in rows if row["entity_type_code"] == wanted}

        return read_rows(path, named)


def read_rows(path: Path, take: Callable[[Iterator[dict[str, str]]], Found]) -> Found:
    """What ``take`` makes of the rows of a dictionary; an error that names the file if it cannot."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return take(csv.DictReader(file))
    except KeyError as error:
        raise damaged(path, f"it has no column {error}", suggestion="simulate again") from error
    except (TypeError, ValueError, csv.Error) as error:
        raise damaged(path, error, suggestion="simulate again") from error


def _scenario_folders(folder: Path) -> Iterator[str]:
    """Names of the folders of scenarios in that of a table, if they have a file."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                key, _, number = entry.name.partition("=")
                is_scenario = key == "scenario_id" and number.isdecimal()
                if is_scenario and os.path.exists(f"{entry.path}/{DATA}"):  # noqa: PTH110 - there are thousands
                    yield entry.name
    except (FileNotFoundError, NotADirectoryError):
        return


def with_names(files: SimulationFiles, table: pa.Table) -> pa.Table:
    """The table with a column ``..._name`` behind each column of ids that name an entity."""
    import pyarrow.compute as pc  # slow to import, and few commands look at tables

    for column, kind in NAMED_BY.items():
        if column in table.column_names:
            names = files.entity_names(kind)
            known = pa.array(list(names), table[column].type)
            found = pa.array(list(names.values()), pa.string()).take(pc.index_in(table[column], known))
            table = table.add_column(table.column_names.index(column) + 1, f"{kind}_name", found)
    return table
