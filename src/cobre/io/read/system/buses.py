"""``system/buses.json``."""

from cobre.io.read.documents import Document
from cobre.io.read.penalties import DeficitSegmentRecord
from cobre.io.read.records import Id, IsoDate, Record


class BusFields(Record):
    """What both generations of the format say of a bus; without segments of its own it takes the system's."""

    id: Id
    name: str
    deficit_segments: tuple[DeficitSegmentRecord, ...] | None = None


class BusRecord(BusFields):
    """A node of the network."""

    operational_start_date: IsoDate


class BusesRecord(Record):
    """The whole file."""

    buses: tuple[BusRecord, ...]


FILE = Document("system/buses.json", BusesRecord, "buses", is_required=True, unique={"buses": ("id",)})
