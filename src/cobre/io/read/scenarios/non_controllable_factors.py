"""``scenarios/non_controllable_factors.json``: what each block offers, relative to the stage."""

from cobre.io.read.documents import listing
from cobre.io.read.records import Id, NonNegative, Record


class NonControllableBlockFactor(Record):
    """The factor of one block."""

    block_id: Id
    factor: NonNegative


class NonControllableFactorsRecord(Record):
    """The factors of one source in one stage; blocks not listed have 1."""

    ncs_id: Id
    stage_id: Id
    block_factors: tuple[NonControllableBlockFactor, ...]


class NonControllableFactorsFile(Record):
    """The whole file."""

    non_controllable_factors: tuple[NonControllableFactorsRecord, ...] = ()


FILE = listing(
    "scenarios/non_controllable_factors.json",
    NonControllableFactorsFile,
    "non_controllable_factors",
    "ncs_id",
    "stage_id",
)
