"""``system/thermals.json``."""

from __future__ import annotations

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, Limit, NonNegative, Record


class ThermalGenerationRecord(Record):
    """Hard limits of generation."""

    min_mw: NonNegative
    max_mw: Limit


class GnlRecord(Record):
    """Fuel that must be ordered stages ahead."""

    lag_stages: int


class ThermalRecord(Record):
    """A thermal plant."""

    id: Id
    name: str
    bus_id: Id
    generation: ThermalGenerationRecord
    cost_per_mwh: NonNegative
    gnl_config: GnlRecord | None = None
    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None


class ThermalsRecord(Record):
    """The whole file."""

    thermals: tuple[ThermalRecord, ...]


FILE = Document(
    "system/thermals.json", ThermalsRecord, "thermals", is_required=True, unique={"thermals": ("id",)}
)
