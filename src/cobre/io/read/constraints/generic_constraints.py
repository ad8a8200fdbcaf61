"""``constraints/generic_constraints.json``: linear relations that planners write as text."""

from cobre.io.read.documents import Document
from cobre.io.read.records import NamedRecord, NonNegative, Record


class SlackRecord(Record):
    """Whether the relation may be broken, and at which price per unit and hour."""

    enabled: bool = False
    penalty: NonNegative | None = None


class GenericConstraintRecord(NamedRecord):
    """One relation; it holds only where it has a bound."""

    description: str | None = None
    expression: str
    slack: SlackRecord = SlackRecord()


class NamedExpressionRecord(Record):
    """A part of expressions that they call by name."""

    name: str
    expression: str
    description: str | None = None


class GenericConstraintsFile(Record):
    """The whole file."""

    constraints: tuple[GenericConstraintRecord, ...] = ()
    expressions: tuple[NamedExpressionRecord, ...] = ()


FILE = Document(
    "constraints/generic_constraints.json",
    GenericConstraintsFile,
    "generic_constraints",
    unique={"constraints": ("id",), "expressions": ("name",)},
)
