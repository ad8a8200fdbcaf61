"""The power system's plants, buses and lines: what does not change from stage to stage.

Tuples of entities are sorted by id, hydros by the date on which they began to operate and then by id; an *index* is a
position in such a tuple. Everything that may vary by
stage (bounds, costs, productivities) is in :mod:`cobre.core.tables`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal, Protocol

from cobre.core.digest import LATER
from cobre.core.representation import counted

ProductionModel = Literal["constant_productivity", "linearized_head", "fpha"]


class Identified(Protocol):
    """Anything with an id that is unique among its kind."""

    @property
    def id(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Entity:
    """Anything with a name, and an id that is unique among its kind."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class DeficitSegment:
    """Load that may stay unserved at a price; ``depth_mw`` None means without limit."""

    depth_mw: float | None
    cost_per_mwh: float


@dataclass(frozen=True, slots=True)
class Bus(Entity):
    """A node of the network where supply meets load."""

    deficit_segments: tuple[DeficitSegment, ...]


@dataclass(frozen=True, slots=True)
class Line(Entity):
    """A transport link between two buses."""

    source_bus: int
    """Index of the bus where direct flow leaves."""
    target_bus: int
    losses_percent: float = 0.0

    @property
    def efficiency(self) -> float:
        """Share of the power sent that arrives."""
        return 1.0 - self.losses_percent / 100.0


@dataclass(frozen=True, slots=True)
class LeadTime:
    """How long before its delivery generation is decided: in stages, or in hours before the end of the delivery."""

    stages: int | None = None
    hours: float | None = None


@dataclass(frozen=True, slots=True)
class Thermal(Entity):
    """A plant that burns fuel."""

    bus: int
    lead: LeadTime | None = field(default=None, metadata=LATER)
    """None where each stage decides for itself."""


@dataclass(frozen=True, slots=True)
class Diversion:
    """A canal that takes water to another plant than the river does."""

    downstream: int
    """Index of the hydro that receives the water."""


@dataclass(frozen=True, slots=True)
class Hydro(Entity):
    """A reservoir with turbines. ``downstream`` and ``bus`` are indices."""

    bus: int
    downstream: int | None
    diversion: Diversion | None = None
    has_evaporation: bool = False
    min_storage_hm3: float = 0.0
    """The plant's own; a stage may ask for another."""
    more_buses: tuple[int, ...] = ()
    """Indices of the other buses that units of the plant feed, ascending; ``bus`` is the first."""
    travel_time_hours: float = field(default=0.0, metadata=LATER)
    """How long turbined and spilled water takes to the plant below."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The units of one hydro at one bus, both as indices."""

    hydro: int
    bus: int


@dataclass(frozen=True, slots=True)
class NonControllableSource(Entity):
    """Wind, sun or run of river: produces what nature gives, or less at a price."""

    bus: int
    must_run: bool = False
    """Whether all that nature gives has to be taken."""


@dataclass(frozen=True, slots=True)
class PumpingStation(Entity):
    """Lifts water from one reservoir to another and takes power for it."""

    bus: int
    source_hydro: int
    destination_hydro: int
    consumption_mw_per_m3s: float


@dataclass(frozen=True, slots=True)
class EnergyContract(Entity):
    """Power bought from or sold to the outside at a fixed price."""

    bus: int
    is_import: bool


@dataclass(frozen=True, slots=True)
class ConstraintTerm:
    """``coefficient * variable(entity[, block])``; ``block`` None takes the block of the row."""

    coefficient: float
    variable: str
    entity: int
    """Index in the tuple of entities that ``variable`` belongs to."""
    block: int | None = None
    parameter: int | None = None
    """Row of `ConstraintTables.parameters` that the coefficient is multiplied by."""
    bus: int | None = None
    """Index of the bus whose units of a hydro are meant; None: all."""


@dataclass(frozen=True, slots=True)
class GenericConstraint(Entity):
    """A linear relation between decisions that a planner writes as text."""

    terms: tuple[ConstraintTerm, ...]
    slack_penalty: float | None
    """Price of one unit of violation during one hour; None makes the constraint hard."""


@dataclass(frozen=True)
class System:
    """All entities, each kind in order."""

    buses: tuple[Bus, ...]
    lines: tuple[Line, ...] = ()
    thermals: tuple[Thermal, ...] = ()
    hydros: tuple[Hydro, ...] = ()
    non_controllables: tuple[NonControllableSource, ...] = ()
    pumping_stations: tuple[PumpingStation, ...] = ()
    contracts: tuple[EnergyContract, ...] = ()
    generic_constraints: tuple[GenericConstraint, ...] = ()

    def __repr__(self) -> str:
        return f"<System of {self.described()}>"

    def described(self) -> str:
        """How many of each kind there are, those left out of which there are none."""
        kinds = {each.name: getattr(self, each.name) for each in fields(self)}
        nouns = {"buses": "bus", "non_controllables": "non-controllable source"}
        singular = {kind: nouns.get(kind, kind.removesuffix("s").replace("_", " ")) for kind in kinds}
        return ", ".join(counted(len(found), singular[kind]) for kind, found in kinds.items() if found)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The units of each hydro at each of its buses, in order of hydros and buses."""
        return tuple(
            Cell(h, bus) for h, plant in enumerate(self.hydros) for bus in (plant.bus, *plant.more_buses)
        )

    @cached_property
    def upstream_of(self) -> tuple[tuple[int, ...], ...]:
        """For each hydro, the indices of the plants whose water it receives by the river."""
        return tuple(
            tuple(i for i, plant in enumerate(self.hydros) if plant.downstream == h)
            for h in range(len(self.hydros))
        )
