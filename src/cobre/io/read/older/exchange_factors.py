"""``constraints/exchange_factors.json`` of 0.5.1: the share of a line's capacity that each block has."""

from cobre.io.read.documents import listing
from cobre.io.read.records import BlockFactors, Id, NonNegative, Record


class ExchangeBlockFactor(Record):
    """The factors of one block."""

    block_id: Id
    direct_factor: NonNegative = 1.0
    reverse_factor: NonNegative = 1.0


class ExchangeFactorsRecord(BlockFactors[ExchangeBlockFactor]):
    """The factors of one line in one stage; blocks not listed have 1."""

    line_id: Id


class ExchangeFactorsFile(Record):
    """The whole file."""

    exchange_factors: tuple[ExchangeFactorsRecord, ...] = ()


FILE = listing("constraints/exchange_factors.json", ExchangeFactorsFile, "line_id", "stage_id")
