"""``system/buses.json``."""

from __future__ import annotations

from cobre.io.read.documents import Document
from cobre.io.read.penalties import DeficitSegmentRecord
from cobre.io.read.records import Id, Record


class BusRecord(Record):
    """A node of the network; without segments of its own it takes the system's."""

    id: Id
    name: str
    deficit_segments: tuple[DeficitSegmentRecord, ...] | None = None


class BusesRecord(Record):
    """The whole file."""

    buses: tuple[BusRecord, ...]


FILE = Document("system/buses.json", BusesRecord, "buses", is_required=True, unique={"buses": ("id",)})
