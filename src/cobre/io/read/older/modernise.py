"""A case of 0.5.1 that was read, rewritten in the shape of 0.18."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cobre.io.read.catalogue import DOCUMENTS, TABLES
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles, PastInflows
from cobre.io.read.older.config import OlderConfig
from cobre.io.read.older.documents import OlderConstraints, OlderInitialConditions, OlderThermals
from cobre.io.read.older.exchange_factors import ExchangeFactorsFile
from cobre.io.read.older.tables import NAMES
from cobre.io.read.older.upgrade import upgrade_documents
from cobre.io.read.records import Record


def modernise(files: CaseFiles, records: dict[str, Record], tables: dict[str, Table]) -> None:
    """Put into ``files`` what the records and tables of 0.5.1, by path and by attribute, mean."""
    dumped = {
        path: json.loads(record.model_dump_json(by_alias=True, exclude_unset=True))
        for path, record in records.items()
    }
    for path, data in dumped.items():
        _drop_unknown(data, records[path])
    for path, data in upgrade_documents(dumped).items():
        document = next(each for each in DOCUMENTS if each.path == path)
        setattr(files, document.attribute, document.record.model_validate_json(json.dumps(data)))
    older = records.get("config.json")
    files.older_config = older if isinstance(older, OlderConfig) else None
    past = records.get("initial_conditions.json")
    if isinstance(past, OlderInitialConditions):
        files.past_inflows = tuple(
            PastInflows(each.hydro_id, tuple(map(float, each.values_m3s)), each.season_ids)
            for each in past.past_inflows
        )
    thermals = records.get("system/thermals.json")
    if isinstance(thermals, OlderThermals):
        files.idle_lead_times = tuple(
            each.id for each in thermals.thermals if each.gnl_config and each.gnl_config.lag_stages == 0
        )
    factors = records.get("constraints/exchange_factors.json")
    if isinstance(factors, ExchangeFactorsFile):
        files.exchange_factors = factors
    constraints = records.get("constraints/generic_constraints.json")
    senses = (
        {each.id: each.sense for each in constraints.constraints}
        if isinstance(constraints, OlderConstraints)
        else {}
    )
    for attribute, table in tables.items():
        if attribute == "thermal_bounds":
            of_stages = table["block_id"] == ABSENT
            files.reserved_rows = int(np.count_nonzero(~of_stages))
            table = table.take(of_stages)
        files.tables[attribute] = upgrade_table(table, senses)
    for file in TABLES:
        files.tables.setdefault(file.attribute, file.empty())


def upgrade_table(table: Table, senses: Mapping[int, str]) -> Table:
    """A table of 0.5.1 with the columns of 0.18; ``senses`` are those of the generic constraints by id."""
    attribute = table.file.attribute
    file = next(each for each in TABLES if each.attribute == attribute)
    if attribute == "inflow_history" and "date" in table.columns:
        return table  # dates and windows are told apart where the calendar is known
    columns: dict[str, Any] = {
        NAMES.get(attribute, {}).get(name, name): values for name, values in table.columns.items()
    }
    if attribute == "constraint_bounds":
        bound = columns.pop("bound")
        sense = np.array([senses.get(each, "==") for each in table["constraint_id"].tolist()], dtype=object)
        columns["bound_lower"] = np.where(sense != "<=", bound, np.nan)
        columns["bound_upper"] = np.where(sense != ">=", bound, np.nan)
    n_rows = len(table)
    named = {column.name: columns.get(column.name, column.blank(n_rows)) for column in file.columns}
    older_names = {now: then for then, now in NAMES.get(attribute, {}).items()}
    with_older_names = tuple(
        replace(column, older_name=older_names.get(column.name, "")) for column in file.columns
    )
    return Table(replace(file, columns=with_older_names), named)


def _drop_unknown(data: Any, record: Record) -> None:
    """Remove keys that the shape does not know; they have been reported."""
    for name in record.model_extra or {}:
        data.pop(name, None)
    for name, each in type(record).model_fields.items():
        _drop_inside(data.get(each.alias or name), getattr(record, name))


def _drop_inside(data: Any, value: Any) -> None:
    if isinstance(value, Record) and isinstance(data, dict):
        _drop_unknown(data, value)
    elif isinstance(value, tuple) and isinstance(data, list):
        for part, each in zip(data, value, strict=True):
            _drop_inside(part, each)
    elif isinstance(value, dict) and isinstance(data, dict):
        for key, each in value.items():
            _drop_inside(data.get(key), each)
