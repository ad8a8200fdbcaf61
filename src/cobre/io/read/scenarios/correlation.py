"""``scenarios/correlation.json``: which noises move together."""

from typing import Annotated, Literal

from pydantic import Field

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, Record


class CorrelatedEntity(Record):
    """One noise."""

    type: Literal["inflow", "load", "ncs"]
    id: Id


class CorrelationGroupRecord(Record):
    """Noises of one class and the matrix between them, in their order."""

    name: str = ""
    entities: tuple[CorrelatedEntity, ...]
    matrix: tuple[tuple[float, ...], ...]


class ProfileRecord(Record):
    """A set of groups."""

    correlation_groups: tuple[CorrelationGroupRecord, ...]


class ScheduleRecord(Record):
    """The profile of one stage."""

    stage_id: Id
    profile_name: str


class CorrelationFile(Record):
    """The whole file."""

    method: str = "spectral"
    profiles: Annotated[dict[str, ProfileRecord], Field(min_length=1)]
    schedule: tuple[ScheduleRecord, ...] | None = None


FILE = Document("scenarios/correlation.json", CorrelationFile, "correlation")
