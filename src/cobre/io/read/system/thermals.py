"""``system/thermals.json``."""

from cobre.io.read.documents import Document
from cobre.io.read.records import Count, Id, IsoDate, Limit, NonNegative, Positive, Record


class ThermalGenerationRecord(Record):
    """Hard limits of generation."""

    min_mw: NonNegative
    max_mw: Limit


class AnticipatedRecord(Record):
    """Generation that must be decided ahead, by stages or by hours."""

    lead_stages: Count | None = None
    lead_time_hours: Positive | None = None


class ThermalFields(Record):
    """What both generations of the format say of a thermal plant."""

    id: Id
    name: str
    bus_id: Id
    generation: ThermalGenerationRecord
    cost_per_mwh: NonNegative
    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None


class ThermalRecord(ThermalFields):
    """A thermal plant."""

    operational_start_date: IsoDate
    anticipated_config: AnticipatedRecord | None = None


class ThermalsRecord(Record):
    """The whole file."""

    thermals: tuple[ThermalRecord, ...]


FILE = Document(
    "system/thermals.json", ThermalsRecord, "thermals", is_required=True, unique={"thermals": ("id",)}
)
