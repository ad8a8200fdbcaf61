"""Entities as `cobre.core.entities` has them: in order, referring to each other by index."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from cobre.core.entities import (
    Bus,
    DeficitSegment,
    Diversion,
    EnergyContract,
    GenericConstraint,
    Hydro,
    LeadTime,
    Line,
    NonControllableSource,
    PumpingStation,
    System,
    Thermal,
)
from cobre.io.read.files import CaseFiles
from cobre.io.read.penalties import DeficitSegmentRecord
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.read.system.thermals import AnticipatedRecord


class _Identified(Protocol):
    @property
    def id(self) -> int: ...


class _Dated(_Identified, Protocol):
    @property
    def operational_start_date(self) -> dt.date: ...


T = TypeVar("T", bound=_Identified)
D = TypeVar("D", bound=_Dated)


def by_id(entries: Iterable[T]) -> list[T]:
    """``entries`` sorted by id."""
    return sorted(entries, key=lambda entry: entry.id)


def by_date(entries: Iterable[D]) -> list[D]:
    """``entries`` in the order of hydros: by the date on which they began to operate, then by id."""
    return sorted(entries, key=lambda entry: (entry.operational_start_date, entry.id))


def indices(entries: Sequence[_Identified]) -> dict[int, int]:
    """From id to position in entries that are in order."""
    return {entry.id: index for index, entry in enumerate(entries)}


def entity_indices(files: CaseFiles) -> dict[str, dict[int, int]]:
    """For each kind of entity, from id to index."""
    return {
        "bus": indices(by_id(files.buses.buses)),
        "line": indices(by_id(files.lines.lines)),
        "hydro": indices(by_date(files.hydros.hydros)),
        "thermal": indices(by_id(files.thermals.thermals)),
        "non-controllable source": indices(by_id(files.non_controllables.non_controllable_sources)),
        "pumping station": indices(by_id(files.pumping_stations.pumping_stations)),
        "contract": indices(by_id(files.contracts.contracts)),
        "generic constraint": indices(by_id(files.generic_constraints.constraints)),
    }


def build_system(files: CaseFiles, constraints: Iterable[GenericConstraint] = ()) -> System:
    """All entities and the given constraints. The files must have passed validation."""
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
        thermals=tuple(
            Thermal(t.id, t.name, bus[t.bus_id], _lead(t.anticipated_config))
            for t in by_id(files.thermals.thermals)
        ),
        hydros=tuple(_build_hydro(h, bus, hydro) for h in by_date(files.hydros.hydros)),
        non_controllables=tuple(
            NonControllableSource(s.id, s.name, bus[s.bus_id], not s.allow_curtailment)
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
        generic_constraints=tuple(constraints),
    )


def _segments(records: Iterable[DeficitSegmentRecord]) -> tuple[DeficitSegment, ...]:
    return tuple(
        DeficitSegment(None if s.depth_mw is None else float(s.depth_mw), float(s.cost)) for s in records
    )


def _build_hydro(record: HydroRecord, bus: Mapping[int, int], hydro: Mapping[int, int]) -> Hydro:
    canal = record.diversion
    buses = sorted({bus[group.bus_id] for group in record.unit_groups})
    return Hydro(
        record.id,
        record.name,
        buses[0],
        None if record.downstream_id is None else hydro[record.downstream_id],
        None if canal is None else Diversion(hydro[canal.downstream_id]),
        record.evaporation is not None,
        float(record.reservoir.min_storage_hm3),
        tuple(buses[1:]),
        0.0 if record.downstream_id is None else float(record.travel_time_hours or 0.0),
    )


def _lead(record: AnticipatedRecord | None) -> LeadTime | None:
    if record is None:
        return None
    hours = record.lead_time_hours
    return LeadTime(record.lead_stages, None if hours is None else float(hours))
