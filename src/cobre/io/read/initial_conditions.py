"""``initial_conditions.json``: stored water and past inflows at the start of the study."""

from __future__ import annotations

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, IsoDate, NonNegative, Number, Record


class StorageRecord(Record):
    """Water in one reservoir."""

    hydro_id: Id
    value_hm3: NonNegative


class PastInflowsRecord(Record):
    """Inflows of one hydro before the study, most recent first."""

    hydro_id: Id
    values_m3s: tuple[Number, ...]
    season_ids: tuple[Id, ...] | None = None


class ObservationRecord(Record):
    """Mean inflow of one hydro between two dates (the second exclusive) of the season under way."""

    hydro_id: Id
    start_date: IsoDate
    end_date: IsoDate
    value_m3s: Number


class InitialConditionsRecord(Record):
    """The whole file."""

    storage: tuple[StorageRecord, ...]
    filling_storage: tuple[StorageRecord, ...]
    past_inflows: tuple[PastInflowsRecord, ...] = ()
    recent_observations: tuple[ObservationRecord, ...] = ()


FILE = Document(
    "initial_conditions.json",
    InitialConditionsRecord,
    "initial_conditions",
    is_required=True,
    unique={
        "storage": ("hydro_id",),
        "filling_storage": ("hydro_id",),
        "past_inflows": ("hydro_id",),
        "recent_observations": ("hydro_id", "start_date"),
    },
)
