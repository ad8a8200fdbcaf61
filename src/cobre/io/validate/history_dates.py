"""Checks of the dates of an inflow history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np

from cobre.io.assemble.inflow_fitting.records import has_windows
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.fit_wanted import HISTORY
from cobre.io.validate.naming import called
from cobre.stochastic.fitting import InflowHistory
from cobre.stochastic.fitting.calendar import EPOCH

__all__ = ["check_windows", "hydros_by_index", "report_late", "report_merged"]


def hydros_by_index(files: CaseFiles) -> list[HydroRecord]:
    """The hydros in the order of a fit's arrays."""
    index = entity_indices(files)["hydro"]
    return sorted(files.hydros.hydros, key=lambda hydro: index[hydro.id])


def check_windows(files: CaseFiles, problems: Problems) -> bool:
    """Report windows that end before they begin or overlap; whether there is none."""
    table = files.tables["inflow_history"]
    if not has_windows(table):
        return True
    start, end, hydro = table["start_date"], table["end_date"], table["hydro_id"]
    is_empty = end <= start
    for row in np.flatnonzero(is_empty).tolist():
        problems.error(
            "OutOfRange",
            HISTORY,
            f"end_date {end[row]} is not after start_date {start[row]}",
            "end_date is the first day after the record",
            entity=table.label(row),
            field="end_date",
            value=str(end[row]),
        )
    overlaps = (hydro[1:] == hydro[:-1]) & (start[1:] < end[:-1])  # rows are sorted by hydro and start
    for row in (np.flatnonzero(overlaps) + 1).tolist():
        problems.error(
            "DuplicateId",
            HISTORY,
            f"begins on {start[row]}, while the record before it lasts until {end[row - 1]}",
            "let the records of a hydro follow each other",
            entity=table.label(row),
            field="start_date",
            value=str(start[row]),
        )
    return not (is_empty.any() or overlaps.any())


def report_merged(files: CaseFiles, merged: Sequence[int], problems: Problems) -> None:
    """Records that share a month with another one; ``merged`` counts them by hydro."""
    for hydro, count in zip(hydros_by_index(files), merged, strict=True):
        if count:
            problems.warn(
                "DuplicateId",
                HISTORY,
                f"{count} records share their month with another one; their mean is used",
                "keep one record per month, or give start_date and end_date",
                entity=called("hydro", hydro),
                field="date",
                value=count,
                rule="5b.31.1",
            )


def report_late(files: CaseFiles, history: InflowHistory, start: dt.date, problems: Problems) -> None:
    """Records after the start of the study: inflows that nobody knows yet, or wrong dates."""
    is_late = history.end_day > (start - EPOCH).days
    for h, hydro in enumerate(hydros_by_index(files)):
        ends = history.end_day[is_late & (history.hydro == h)]
        if len(ends):
            last = EPOCH + dt.timedelta(days=int(ends.max()) - 1)
            problems.warn(
                "OutOfRange",
                HISTORY,
                f"{len(ends)} records are after the start of the study ({start}), the last until {last}; they are used "
                "like all others",
                "check the dates, or end the history where the study begins",
                entity=called("hydro", hydro),
                field="end_date" if has_windows(files.tables["inflow_history"]) else "date",
                value=str(last),
            )
