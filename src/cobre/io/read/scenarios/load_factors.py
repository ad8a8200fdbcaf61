"""``scenarios/load_factors.json``: the load of each block, relative to the stage's."""

from cobre.io.read.documents import listing
from cobre.io.read.records import Id, Positive, Record


class BlockFactorRecord(Record):
    """The factor of one block."""

    block_id: Id
    factor: Positive


class LoadFactorsRecord(Record):
    """The factors of one bus in one stage; blocks not listed have 1."""

    bus_id: Id
    stage_id: Id
    block_factors: tuple[BlockFactorRecord, ...]


class LoadFactorsFile(Record):
    """The whole file."""

    load_factors: tuple[LoadFactorsRecord, ...] = ()


FILE = listing("scenarios/load_factors.json", LoadFactorsFile, "load_factors", "bus_id", "stage_id")
