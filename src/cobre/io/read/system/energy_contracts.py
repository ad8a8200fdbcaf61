"""``system/energy_contracts.json``."""

from typing import Literal

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, IsoDate, Limit, NonNegative, Number, Record


class ContractLimitsRecord(Record):
    """Hard limits of the power exchanged."""

    min_mw: NonNegative
    max_mw: Limit


class ContractFields(Record):
    """Power bought or sold; the price of an export is what is paid, so it is negative."""

    id: Id
    name: str
    bus_id: Id
    type: Literal["import", "export"]
    price_per_mwh: Number
    limits: ContractLimitsRecord
    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None


class ContractRecord(ContractFields):
    """An energy contract."""

    operational_start_date: IsoDate


class ContractsRecord(Record):
    """The whole file."""

    contracts: tuple[ContractRecord, ...] = ()


FILE = Document("system/energy_contracts.json", ContractsRecord, "contracts", unique={"contracts": ("id",)})
