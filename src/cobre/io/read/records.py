"""The shapes that JSON files are made of: a strict base record and the number types of the format.

Modules with records do not postpone annotations: pydantic would parse the text of each one again when it is imported.
"""

import datetime as dt
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

HUGE = 1e15
"""No power, volume, price or count of a real system comes near; beyond, sums lose the small numbers."""


Factor = TypeVar("Factor")


class Record(BaseModel):
    """An object of a JSON file. Keys it does not know are kept, so that they can be named in a warning."""

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        defer_build=True,  # a record of a file that a case does not have is never checked
    )


class ClosedRecord(Record):
    """An object whose unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")


Id = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
StageId = Annotated[int, Field(ge=0, le=2**31 - 1)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Number = Annotated[float, Field(ge=-HUGE, le=HUGE)]
NonNegative = Annotated[float, Field(ge=0, le=HUGE)]
Positive = Annotated[float, Field(gt=0, le=HUGE)]
Share = Annotated[float, Field(ge=0, le=1)]
Limit = Annotated[float, Field(ge=0)]
"""An upper limit: any finite number, since planners write huge ones where there is none."""


def _parse_date(value: Any) -> dt.date:
    if isinstance(value, str) and len(value) == 10:
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            pass
    raise PydanticCustomError(
        "TypeMismatch",
        "is no date",
        {"remedy": 'write a real date as "YYYY-MM-DD", for instance "2024-01-31"'},
    )


IsoDate = Annotated[dt.date, BeforeValidator(_parse_date)]


class BlockFactor(Record):
    """The factor of one block."""

    block_id: Id
    factor: NonNegative


class BlockFactors(Record, Generic[Factor]):
    """The factors of an entity in one stage; blocks not listed have 1."""

    stage_id: Id
    block_factors: tuple[Factor, ...]


class PowerLimits(Record):
    """Hard limits of power."""

    min_mw: NonNegative
    max_mw: Limit


class NamedRecord(Record):
    """An entry with a name, and an id that is unique among its kind."""

    id: Id
    name: str


class EntityRecord(NamedRecord):
    """A part of the system; it operates from its entry stage until before its exit stage."""

    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None
