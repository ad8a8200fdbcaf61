"""``post_study_stages.json``: the calendar after the study, and what thermals decided in the study may do there."""

from typing import Annotated

from pydantic import Field

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, IsoDate, Limit, NonNegative, Positive, Record


class PostStudyStageRecord(Record):
    """A stage after the study."""

    start_date: IsoDate
    duration_hours: Positive


class PostStudyThermalRecord(Record):
    """Cost and limits of an anticipated thermal in a stage after the study."""

    thermal_id: Id
    post_study_stage_index: Annotated[int, Field(ge=0)]
    cost_per_mwh: NonNegative
    min_mw: NonNegative
    max_mw: Limit


class PostStudyRecord(Record):
    """The whole file."""

    stages: tuple[PostStudyStageRecord, ...] = ()
    thermal_bounds: tuple[PostStudyThermalRecord, ...] = ()


FILE = Document("post_study_stages.json", PostStudyRecord, "post_study")
