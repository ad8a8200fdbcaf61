"""``scenarios/load_factors.json``: the load of each block, relative to the stage's."""

from cobre.io.read.documents import listing
from cobre.io.read.records import BlockFactor, BlockFactors, Id, Positive, Record


class PositiveBlockFactor(BlockFactor):
    """The factor of one block."""

    factor: Positive


class LoadFactorsRecord(BlockFactors[PositiveBlockFactor]):
    """The factors of one bus in one stage; blocks not listed have 1."""

    bus_id: Id


class LoadFactorsFile(Record):
    """The whole file."""

    load_factors: tuple[LoadFactorsRecord, ...] = ()


FILE = listing("scenarios/load_factors.json", LoadFactorsFile, "bus_id", "stage_id")
