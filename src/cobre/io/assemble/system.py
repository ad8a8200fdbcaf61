"""Entities as `cobre.core.entities` has them: sorted by id, referring to each other by index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from cobre.core.entities import (
    Bus,
    ConstraintTerm,
    DeficitSegment,
    Diversion,
    EnergyContract,
    GenericConstraint,
    Hydro,
    Line,
    NonControllableSource,
    PumpingStation,
    System,
    Thermal,
)
from cobre.io.read.constraints.expression import VARIABLES, parse_expression
from cobre.io.read.constraints.generic_constraints import GenericConstraintRecord
from cobre.io.read.files import CaseFiles
from cobre.io.read.penalties import DeficitSegmentRecord
from cobre.io.read.system.hydros import HydroRecord


class _Identified(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=_Identified)


def by_id(entries: Iterable[T]) -> list[T]:
    """``entries`` sorted by id."""
    return sorted(entries, key=lambda entry: entry.id)


def indices(entries: Iterable[_Identified]) -> dict[int, int]:
    """From id to position in id order."""
    return {entry.id: index for index, entry in enumerate(by_id(entries))}


def entity_indices(files: CaseFiles) -> dict[str, dict[int, int]]:
    """For each kind of entity, from id to index."""
    return {
        "bus": indices(files.buses.buses),
        "line": indices(files.lines.lines),
        "hydro": indices(files.hydros.hydros),
        "thermal": indices(files.thermals.thermals),
        "non-controllable source": indices(files.non_controllables.non_controllable_sources),
        "pumping station": indices(files.pumping_stations.pumping_stations),
        "contract": indices(files.contracts.contracts),
        "generic constraint": indices(files.generic_constraints.constraints),
    }


def build_system(files: CaseFiles) -> System:
    """All entities. The files must have passed validation."""
    index = entity_indices(files)
    bus, hydro = index["bus"], index["hydro"]
    common = files.penalties.bus.deficit_segments
    return System(
        buses=tuple(
            Bus(b.id, b.name, _segments(common if b.deficit_segments is None else b.deficit_segments))
            for b in by_id(files.buses.buses)
        ),
        lines=tuple(
            Line(n.id, n.name, bus[n.source_bus_id], bus[n.target_bus_id], float(n.losses_percent or 0.0))
            for n in by_id(files.lines.lines)
        ),
        thermals=tuple(Thermal(t.id, t.name, bus[t.bus_id]) for t in by_id(files.thermals.thermals)),
        hydros=tuple(_build_hydro(h, bus, hydro) for h in by_id(files.hydros.hydros)),
        non_controllables=tuple(
            NonControllableSource(s.id, s.name, bus[s.bus_id])
            for s in by_id(files.non_controllables.non_controllable_sources)
        ),
        pumping_stations=tuple(
            PumpingStation(
                p.id,
                p.name,
                bus[p.bus_id],
                hydro[p.source_hydro_id],
                hydro[p.destination_hydro_id],
                float(p.consumption_mw_per_m3s),
            )
            for p in by_id(files.pumping_stations.pumping_stations)
        ),
        contracts=tuple(
            EnergyContract(c.id, c.name, bus[c.bus_id], c.type == "import")
            for c in by_id(files.contracts.contracts)
        ),
        generic_constraints=tuple(
            _build_constraint(c, index) for c in by_id(files.generic_constraints.constraints)
        ),
    )


def _segments(records: Iterable[DeficitSegmentRecord]) -> tuple[DeficitSegment, ...]:
    return tuple(
        DeficitSegment(None if s.depth_mw is None else float(s.depth_mw), float(s.cost)) for s in records
    )


def _build_hydro(record: HydroRecord, bus: Mapping[int, int], hydro: Mapping[int, int]) -> Hydro:
    canal = record.diversion
    return Hydro(
        record.id,
        record.name,
        bus[record.bus_id],
        None if record.downstream_id is None else hydro[record.downstream_id],
        None if canal is None else Diversion(hydro[canal.downstream_id]),
        record.evaporation is not None,
        float(record.reservoir.min_storage_hm3),
    )


def _build_constraint(
    record: GenericConstraintRecord, index: Mapping[str, Mapping[int, int]]
) -> GenericConstraint:
    return GenericConstraint(
        record.id,
        record.name,
        tuple(
            ConstraintTerm(
                term.coefficient,
                term.variable,
                index[VARIABLES[term.variable]][term.entity_id],
                term.block_id,
            )
            for term in parse_expression(record.expression)
        ),
        record.sense,
        float(record.slack.penalty or 0.0) if record.slack.enabled else None,
    )
