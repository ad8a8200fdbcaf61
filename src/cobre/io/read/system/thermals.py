"""``system/thermals.json``."""

from cobre.io.read.documents import listing
from cobre.io.read.records import Count, EntityRecord, Id, IsoDate, NonNegative, Positive, PowerLimits, Record


class AnticipatedRecord(Record):
    """Generation that must be decided ahead, by stages or by hours."""

    lead_stages: Count | None = None
    lead_time_hours: Positive | None = None


class ThermalFields(EntityRecord):
    """What both generations of the format say of a thermal plant."""

    bus_id: Id
    generation: PowerLimits
    cost_per_mwh: NonNegative


class ThermalRecord(ThermalFields):
    """A thermal plant."""

    operational_start_date: IsoDate
    anticipated_config: AnticipatedRecord | None = None


class ThermalsRecord(Record):
    """The whole file."""

    thermals: tuple[ThermalRecord, ...]


FILE = listing("system/thermals.json", ThermalsRecord, "id", is_required=True)
