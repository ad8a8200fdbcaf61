"""``system/energy_contracts.json``."""

from typing import Literal

from cobre.io.read.documents import listing
from cobre.io.read.records import EntityRecord, Id, IsoDate, Number, PowerLimits, Record


class ContractFields(EntityRecord):
    """Power bought or sold; the price of an export is what is paid, so it is negative."""

    bus_id: Id
    type: Literal["import", "export"]
    price_per_mwh: Number
    limits: PowerLimits


class ContractRecord(ContractFields):
    """An energy contract."""

    operational_start_date: IsoDate


class ContractsRecord(Record):
    """The whole file."""

    contracts: tuple[ContractRecord, ...] = ()


FILE = listing("system/energy_contracts.json", ContractsRecord, "id")
