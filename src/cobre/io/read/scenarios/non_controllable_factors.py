"""``scenarios/non_controllable_factors.json``: what each block offers, relative to the stage."""

from cobre.io.read.documents import listing
from cobre.io.read.records import BlockFactor, BlockFactors, Id, Record


class NonControllableFactorsRecord(BlockFactors[BlockFactor]):
    """The factors of one source in one stage; blocks not listed have 1."""

    ncs_id: Id


class NonControllableFactorsFile(Record):
    """The whole file."""

    non_controllable_factors: tuple[NonControllableFactorsRecord, ...] = ()


FILE = listing("scenarios/non_controllable_factors.json", NonControllableFactorsFile, "ncs_id", "stage_id")
