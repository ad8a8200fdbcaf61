"""``system/lines.json``."""

from typing import Annotated

from pydantic import Field

from cobre.io.read.documents import listing
from cobre.io.read.records import EntityRecord, Id, IsoDate, Limit, NonNegative, Record


class CapacityRecord(Record):
    """Largest flow in each direction."""

    direct_mw: Limit
    reverse_mw: Limit


class LineFields(EntityRecord):
    """A link between two buses; it operates from its entry stage until before its exit stage."""

    source_bus_id: Id
    target_bus_id: Id
    capacity: CapacityRecord
    exchange_cost: NonNegative | None = None
    losses_percent: Annotated[float, Field(ge=0, lt=100)] | None = 0.0


class LineRecord(LineFields):
    """A link between two buses."""

    operational_start_date: IsoDate


class LinesRecord(Record):
    """The whole file."""

    lines: tuple[LineRecord, ...]


FILE = listing("system/lines.json", LinesRecord, "id", is_required=True)
