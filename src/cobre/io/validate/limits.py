"""Checks of plants and network: limits that contradict each other, ends that are the same, lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import Horizon
from cobre.io.assemble.bounds import build_contracts, build_pumping, build_thermals
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.hydros import hydro_limit
from cobre.io.assemble.system import by_date, by_id
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.naming import Named, called

HYDROS = "system/hydros.json"


class Pair(NamedTuple):
    """A lower and an upper limit of one entity."""

    file: str
    entity: str
    low_field: str
    low: float
    high_field: str
    high: float


def check_limits(files: CaseFiles, problems: Problems) -> None:
    """Report contradictions in limits, ends of lines and pumps, and lifetimes."""
    has_base_conflict = False
    for pair in _base_pairs(files):
        if pair.low > pair.high:
            has_base_conflict = True
            _report(pair, problems)
    if not has_base_conflict and not files.damaged and not files.unusable and not problems.errors:
        _check_by_stage(files, build_horizon(files.stages), problems)
    _check_loops(files, problems)
    _check_lifetimes(files, problems)


def _report(pair: Pair, problems: Problems) -> None:
    problems.error(
        "PhysicalConstraint",
        Place(pair.file, pair.entity, pair.low_field, pair.low),
        f"{pair.low_field} = {pair.low:g} is above {pair.high_field} = {pair.high:g}",
        f"lower {pair.low_field} or raise {pair.high_field}",
    )


def _base_pairs(files: CaseFiles) -> Iterator[Pair]:
    for hydro in files.hydros.hydros:
        place = (HYDROS, called("hydro", hydro))
        yield _pair(*place, "reservoir", hydro.reservoir, "storage_hm3")
        yield _pair(*place, "generation", hydro.generation, "turbined_m3s")
        yield _pair(*place, "generation", hydro.generation, "generation_mw")
        if hydro.outflow.max_outflow_m3s is not None:
            yield _pair(*place, "outflow", hydro.outflow, "outflow_m3s")
    kinds: tuple[tuple[str, str, Sequence[Named], str, str], ...] = (
        ("thermals", "thermal", files.thermals.thermals, "generation", "mw"),
        ("pumping_stations", "pumping station", files.pumping_stations.pumping_stations, "flow", "m3s"),
        ("energy_contracts", "contract", files.contracts.contracts, "limits", "mw"),
    )
    for file, kind, entities, group, quantity in kinds:
        for entity in entities:
            limits = getattr(entity, group)
            yield _pair(f"system/{file}.json", called(kind, entity), group, limits, quantity)


def _pair(file: str, entity: str, group: str, limits: object, quantity: str) -> Pair:
    """The fields ``min_`` and ``max_`` of a quantity in one group of an entity's fields."""
    low, high = f"min_{quantity}", f"max_{quantity}"
    return Pair(file, entity, f"{group}.{low}", getattr(limits, low), high, getattr(limits, high))


def _check_by_stage(files: CaseFiles, horizon: Horizon, problems: Problems) -> None:
    def compare(
        file: str, kind: str, owners: Sequence[Named], low: tuple[str, Floats], high: tuple[str, Floats]
    ) -> None:
        least, most = low[1], high[1]
        if least.shape != most.shape:
            least, most = horizon.over_blocks(least), horizon.over_blocks(most)
        for row, column in np.argwhere(least > most).tolist():
            entity = f"{called(kind, owners[row])}, {_column_name(horizon, least.shape[1], column)}"
            _report(Pair(file, entity, low[0], least[row, column], high[0], most[row, column]), problems)

    file, hydros = "constraints/hydro_bounds.parquet", by_date(files.hydros.hydros)
    for name in ("storage_hm3", "turbined_m3s", "outflow_m3s", "generation_mw"):
        low, high = hydro_limit(files, horizon, f"min_{name}"), hydro_limit(files, horizon, f"max_{name}")
        compare(file, "hydro", hydros, (f"min_{name}", low), (f"max_{name}", high))
    thermal, pumping = build_thermals(files, horizon), build_pumping(files, horizon)
    contract = build_contracts(files, horizon)
    thermals, stations = by_id(files.thermals.thermals), by_id(files.pumping_stations.pumping_stations)
    contracts = by_id(files.contracts.contracts)
    for table, kind, owners, quantity, least, most in (
        (
            "thermal",
            "thermal",
            thermals,
            "generation_mw",
            thermal.min_generation_mw,
            thermal.max_generation_mw,
        ),
        ("pumping", "pumping station", stations, "m3s", pumping.min_flow_m3s, pumping.max_flow_m3s),
        ("contract", "contract", contracts, "mw", contract.min_mw, contract.max_mw),
    ):
        bounds = f"constraints/{table}_bounds.parquet"
        compare(bounds, kind, owners, (f"min_{quantity}", least), (f"max_{quantity}", most))
    canals = {hydro.id for hydro in hydros if hydro.diversion is not None}
    bounds_table = files.tables["hydro_bounds"]
    for name in ("min_diversion_m3s", "max_diversion_m3s"):
        for row in np.flatnonzero(np.nan_to_num(bounds_table[name]) > 0.0).tolist():
            if int(bounds_table["hydro_id"][row]) not in canals:
                problems.error(
                    "PhysicalConstraint",
                    Place(file, bounds_table.label(row), name, float(bounds_table[name][row])),
                    f"{name} = {bounds_table[name][row]:g}, but the hydro has no diversion",
                    "give it a diversion in system/hydros.json, or remove the value",
                    rule="5a.46",
                )


def _column_name(horizon: Horizon, n_columns: int, column: int) -> str:
    if n_columns == horizon.n_stages:
        return f"stage {horizon.stages[column].id}"
    stage = int(np.searchsorted(horizon.block_offsets, column, side="right")) - 1
    return f"stage {horizon.stages[stage].id}, block {column - int(horizon.block_offsets[stage])}"


def _check_loops(files: CaseFiles, problems: Problems) -> None:
    for hydro in files.hydros.hydros:
        if hydro.diversion is not None and hydro.diversion.downstream_id == hydro.id:
            _same(HYDROS, called("hydro", hydro), "diversion.downstream_id", hydro.id, "hydro", problems)
    for line in files.lines.lines:
        if line.source_bus_id == line.target_bus_id:
            _same(
                "system/lines.json",
                called("line", line),
                "target_bus_id",
                line.target_bus_id,
                "bus",
                problems,
            )
    for station in files.pumping_stations.pumping_stations:
        if station.source_hydro_id == station.destination_hydro_id:
            place = ("system/pumping_stations.json", called("pumping station", station))
            _same(*place, "destination_hydro_id", station.destination_hydro_id, "hydro", problems)


def _same(file: str, entity: str, field: str, value: int, kind: str, problems: Problems) -> None:
    problems.error(
        "PhysicalConstraint",
        Place(file, entity, field, value),
        f"{field} = {value} leads back to the {kind} it comes from",
        f"give it another {kind}",
    )


def _check_lifetimes(files: CaseFiles, problems: Problems) -> None:
    for file, kind, entities in (
        ("system/lines.json", "line", files.lines.lines),
        ("system/thermals.json", "thermal", files.thermals.thermals),
        (HYDROS, "hydro", files.hydros.hydros),
        (
            "system/non_controllable_sources.json",
            "non-controllable source",
            files.non_controllables.non_controllable_sources,
        ),
        ("system/pumping_stations.json", "pumping station", files.pumping_stations.pumping_stations),
        ("system/energy_contracts.json", "contract", files.contracts.contracts),
    ):
        for entity in entities:
            entry, leave = entity.entry_stage_id, entity.exit_stage_id
            if entry is not None and leave is not None and entry >= leave:
                problems.error(
                    "PhysicalConstraint",
                    Place(file, called(kind, entity), "entry_stage_id", entry),
                    f"entry_stage_id = {entry} is not before exit_stage_id = {leave}",
                    "it operates from its entry until before its exit",
                )
