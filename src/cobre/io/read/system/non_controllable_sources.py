"""``system/non_controllable_sources.json``."""

from cobre.io.read.documents import Document
from cobre.io.read.records import EntityRecord, Id, IsoDate, Limit, NonNegative, Record


class NonControllableFields(EntityRecord):
    """What both generations of the format say of a source."""

    bus_id: Id
    max_generation_mw: Limit
    curtailment_cost: NonNegative | None = None


class NonControllableRecord(NonControllableFields):
    """A source that gives what nature offers, or less where curtailment is allowed."""

    operational_start_date: IsoDate
    allow_curtailment: bool = True


class NonControllablesRecord(Record):
    """The whole file."""

    non_controllable_sources: tuple[NonControllableRecord, ...] = ()


FILE = Document(
    "system/non_controllable_sources.json",
    NonControllablesRecord,
    "non_controllables",
    unique={"non_controllable_sources": ("id",)},
)
