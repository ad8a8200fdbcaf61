"""``system/pumping_stations.json``."""

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, IsoDate, Limit, NonNegative, Record


class PumpFlowRecord(Record):
    """Hard limits of the pumped flow."""

    min_m3s: NonNegative
    max_m3s: Limit


class PumpingStationFields(Record):
    """Lifts water from one reservoir to another."""

    id: Id
    name: str
    bus_id: Id
    source_hydro_id: Id
    destination_hydro_id: Id
    consumption_mw_per_m3s: NonNegative
    flow: PumpFlowRecord
    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None


class PumpingStationRecord(PumpingStationFields):
    """A pumping station."""

    operational_start_date: IsoDate


class PumpingStationsRecord(Record):
    """The whole file."""

    pumping_stations: tuple[PumpingStationRecord, ...] = ()


FILE = Document(
    "system/pumping_stations.json",
    PumpingStationsRecord,
    "pumping_stations",
    unique={"pumping_stations": ("id",)},
)
