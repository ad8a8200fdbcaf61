"""``system/non_controllable_sources.json``."""

from __future__ import annotations

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, Limit, NonNegative, Record


class NonControllableRecord(Record):
    """A source that gives what nature offers, or less."""

    id: Id
    name: str
    bus_id: Id
    max_generation_mw: Limit
    curtailment_cost: NonNegative | None = None
    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None


class NonControllablesRecord(Record):
    """The whole file."""

    non_controllable_sources: tuple[NonControllableRecord, ...] = ()


FILE = Document(
    "system/non_controllable_sources.json",
    NonControllablesRecord,
    "non_controllables",
    unique={"non_controllable_sources": ("id",)},
)
