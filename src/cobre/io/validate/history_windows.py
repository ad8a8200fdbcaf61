"""Checks of the windows of days that the records of a history are about."""

from __future__ import annotations

import numpy as np

from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.fit_wanted import HISTORY

__all__ = ["check_windows"]


def check_windows(files: CaseFiles, problems: Problems) -> bool:
    """Report windows that end before they begin or overlap; whether there is none.

    Fits need them, and lags and trajectories that the history gives.
    """
    table = files.tables["inflow_history"]
    if HISTORY in files.damaged | files.unusable | files.ambiguous or "start_date" not in table.columns:
        return True
    start, end, hydro = table["start_date"], table["end_date"], table["hydro_id"]
    is_empty = end <= start
    for row in np.flatnonzero(is_empty).tolist():
        problems.error(
            "OutOfRange",
            Place(HISTORY, table.label(row), "end_date", str(end[row])),
            f"end_date {end[row]} is not after start_date {start[row]}",
            "end_date is the first day after the record",
        )
    overlaps = (hydro[1:] == hydro[:-1]) & (start[1:] < end[:-1])  # rows are sorted by hydro and start
    for row in (np.flatnonzero(overlaps) + 1).tolist():
        problems.error(
            "DuplicateId",
            Place(HISTORY, table.label(row), "start_date", str(start[row])),
            f"begins on {start[row]}, while the record before it lasts until {end[row - 1]}",
            "let the records of a hydro follow each other",
        )
    n_short = int(
        np.count_nonzero((hydro[1:] == hydro[:-1]) & (start[1:] - end[:-1] == np.timedelta64(1, "D")))
    )
    if 2 * n_short > len(hydro):
        problems.warn(
            "OutOfRange",
            HISTORY,
            f"{n_short} of {len(hydro)} records end one day before the next one begins",
            "end_date is the first day after the record, not its last day",
            field="end_date",
            value=n_short,
        )
    return not (is_empty.any() or overlaps.any())
