"""``system/buses.json``."""

from cobre.io.read.documents import listing
from cobre.io.read.penalties import DeficitSegmentRecord
from cobre.io.read.records import IsoDate, NamedRecord, Record


class BusFields(NamedRecord):
    """What both generations of the format say of a bus; without segments of its own it takes the system's."""

    deficit_segments: tuple[DeficitSegmentRecord, ...] | None = None


class BusRecord(BusFields):
    """A node of the network."""

    operational_start_date: IsoDate


class BusesRecord(Record):
    """The whole file."""

    buses: tuple[BusRecord, ...]


FILE = listing("system/buses.json", BusesRecord, "id", is_required=True)
