"""Generation that was decided before the study for days after it."""

from __future__ import annotations

from pathlib import Path

from cobre.core.arrow import arrow_table
from cobre.core.case import Case
from cobre.core.simulation_tables import FIXED_DELIVERIES
from cobre.files import write_atomically
from cobre.io.write.parquet import parquet_bytes

FOLDER = "anticipated"


def write_fixed_deliveries(folder: Path, case: Case) -> None:
    """Write ``anticipated/fixed_deliveries.parquet`` if there is any."""
    end, thermals = case.horizon.stages[-1].end_date, case.system.thermals
    found = [
        (thermals[each.entity].id, max(each.start_date, end), each.end_date, each.value)
        for each in case.initial.commitments
        if each.end_date > end
    ]
    if found:
        columns = zip(FIXED_DELIVERIES.column_names, zip(*found, strict=True), strict=True)
        table = arrow_table(FIXED_DELIVERIES, {name: list(values) for name, values in columns})
        write_atomically(folder / FOLDER / f"{FIXED_DELIVERIES.name}.parquet", parquet_bytes(table))
