"""``initial_conditions.json``: stored water, and what was observed or decided before the study."""

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, IsoDate, NonNegative, Number, Record


class StorageRecord(Record):
    """Water in one reservoir."""

    hydro_id: Id
    value_hm3: NonNegative


class ObservationRecord(Record):
    """Mean inflow of one hydro between two dates (the second exclusive)."""

    hydro_id: Id
    start_date: IsoDate
    end_date: IsoDate
    value_m3s: Number


class CommitmentRecord(Record):
    """Generation of an anticipated thermal that was decided before the study."""

    thermal_id: Id
    start_date: IsoDate
    end_date: IsoDate
    value_mw: NonNegative


class DefluenceRecord(Record):
    """Water that a hydro released before the study and that is still on its way."""

    hydro_id: Id
    start_date: IsoDate
    end_date: IsoDate
    value_m3s: NonNegative


class InitialFields(Record):
    """What both generations of the format have."""

    storage: tuple[StorageRecord, ...]
    filling_storage: tuple[StorageRecord, ...]
    recent_observations: tuple[ObservationRecord, ...] = ()


class InitialConditionsRecord(InitialFields):
    """The whole file."""

    past_anticipated_commitments: tuple[CommitmentRecord, ...] = ()
    past_defluences: tuple[DefluenceRecord, ...] = ()


UNIQUE = {
    "storage": ("hydro_id",),
    "filling_storage": ("hydro_id",),
    "recent_observations": ("hydro_id", "start_date"),
    "past_anticipated_commitments": ("thermal_id", "start_date"),
    "past_defluences": ("hydro_id", "start_date"),
}
FILE = Document("initial_conditions.json", InitialConditionsRecord, "initial_conditions", True, UNIQUE)
