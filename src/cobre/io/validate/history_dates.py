"""Checks of the dates of an inflow history to which something is fitted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from cobre.core.representation import counted
from cobre.io.assemble.inflow_fitting.records import has_windows
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.fit_wanted import HISTORY
from cobre.io.validate.naming import called
from cobre.stochastic.fitting import InflowHistory
from cobre.stochastic.fitting.calendar import EPOCH

__all__ = ["hydros_by_index", "report_late", "report_merged"]


def hydros_by_index(files: CaseFiles) -> list[HydroRecord]:
    """The hydros in the order of a fit's arrays."""
    index = entity_indices(files)["hydro"]
    return sorted(files.hydros.hydros, key=lambda hydro: index[hydro.id])


def report_merged(files: CaseFiles, merged: Sequence[int], problems: Problems) -> None:
    """Records that share a month with another one; ``merged`` counts them by hydro."""
    for hydro, count in zip(hydros_by_index(files), merged, strict=True):
        if count:
            problems.warn(
                "DuplicateId",
                Place(HISTORY, called("hydro", hydro), "date", count),
                f"{count} records share their month with another one; their mean is used",
                "keep one record per month, or give start_date and end_date",
                rule="5b.31.1",
            )


def report_late(files: CaseFiles, history: InflowHistory, start: dt.date, problems: Problems) -> None:
    """Records after the start of the study: forecasts in place of observations, or wrong dates."""
    is_late = history.end_day > (start - EPOCH).days
    for h, hydro in enumerate(hydros_by_index(files)):
        ends = history.end_day[is_late & (history.hydro == h)]
        if len(ends):
            last = EPOCH + dt.timedelta(days=int(ends.max()) - 1)
            problems.warn(
                "OutOfRange",
                Place(
                    HISTORY,
                    called("hydro", hydro),
                    "end_date" if has_windows(files.tables["inflow_history"]) else "date",
                    str(last),
                ),
                f"{counted(len(ends), 'record')} after the start of the study ({start}), the last until {last}: used "
                "like all others",
                "check the dates, or end the history where the study begins",
            )
