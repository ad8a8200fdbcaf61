"""``inflow_history`` of either generation as windows of days, sorted by hydro and day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Ints
from cobre.io.assemble.system import entity_indices
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles

if TYPE_CHECKING:
    from cobre.stochastic.fitting import InflowHistory

__all__ = ["has_windows", "records_of"]


def has_windows(table: Table) -> bool:
    """Whether the records have a first and a last day; otherwise each has one date."""
    return "start_date" in table.columns


def records_of(files: CaseFiles) -> tuple[InflowHistory, list[int]]:
    """The records by hydro index, and for every hydro how many of them shared a window and were averaged."""
    from cobre.stochastic.fitting import InflowHistory, windows_of_dates

    table, index = files.tables["inflow_history"], entity_indices(files)["hydro"]
    hydro = np.array([index[each] for each in table["hydro_id"].tolist()], dtype=np.int64)
    start = _days(table["start_date" if has_windows(table) else "date"])
    order = np.lexsort((start, hydro))
    hydro, start, value = hydro[order], start[order], table["value_m3s"][order]
    if not has_windows(table):
        return windows_of_dates(len(index), hydro, start, value)
    return InflowHistory(len(index), hydro, start, _days(table["end_date"])[order], value), [0] * len(index)


def _days(dates: NDArray[np.datetime64]) -> Ints:
    return dates.astype("datetime64[D]").astype(np.int64)
