"""``system/pumping_stations.json``."""

from cobre.io.read.documents import listing
from cobre.io.read.records import EntityRecord, Id, IsoDate, Limit, NonNegative, Record


class PumpFlowRecord(Record):
    """Hard limits of the pumped flow."""

    min_m3s: NonNegative
    max_m3s: Limit


class PumpingStationFields(EntityRecord):
    """Lifts water from one reservoir to another."""

    bus_id: Id
    source_hydro_id: Id
    destination_hydro_id: Id
    consumption_mw_per_m3s: NonNegative
    flow: PumpFlowRecord


class PumpingStationRecord(PumpingStationFields):
    """A pumping station."""

    operational_start_date: IsoDate


class PumpingStationsRecord(Record):
    """The whole file."""

    pumping_stations: tuple[PumpingStationRecord, ...] = ()


FILE = listing("system/pumping_stations.json", PumpingStationsRecord, "id")
