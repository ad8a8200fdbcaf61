"""The example study with a history in the place of its inflow model."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from case_folders import example_case
from cobre.io import load_with_report
from cobre.io.examples.small import small_documents, small_tables
from cobre.io.examples.writing import write_case
from cobre.io.loading import validate
from inflow_records import month_days, river

HISTORY = "scenarios/inflow_history.parquet"
STATS = "scenarios/inflow_seasonal_stats.parquet"
LAGS = "scenarios/inflow_ar_coefficients.parquet"
CORRELATION = "scenarios/correlation.json"


def dated(values, first="1961-01", hydro_ids=(0, 1)):
    """Columns with a date per month, from values (hydros, months); NaN leaves a month out."""
    starts, _ = month_days(first, values.shape[1])
    hydro, month = np.nonzero(~np.isnan(values))
    return {
        "hydro_id": [hydro_ids[h] for h in hydro.tolist()],
        "date": starts[month].tolist(),
        "value_m3s": values[hydro, month].tolist(),
    }


def windowed(values, first="1961-01", hydro_ids=(0, 1)):
    """The same with first and last day."""
    columns = dated(values, first, hydro_ids)
    starts, ends = month_days(first, values.shape[1])
    end_of = dict(zip(starts.tolist(), ends.tolist(), strict=True))
    start = columns.pop("date")
    return {
        "hydro_id": columns["hydro_id"],
        "start_date": start,
        "end_date": [end_of[day] for day in start],
        "value_m3s": columns["value_m3s"],
    }


def history_case(path, values=None, columns=dated, **estimation):
    """A case with monthly inflows (hydros, months) until the end of 2020 and no inflow model."""
    case = example_case(path)
    values = river(60) if values is None else values
    case.tables[HISTORY] = columns(values)
    del case.tables[STATS], case.tables[LAGS], case.documents[CORRELATION]
    case.documents["initial_conditions.json"]["past_inflows"] = [
        {"hydro_id": 0, "values_m3s": [100.0] * 12},
        {"hydro_id": 1, "values_m3s": [200.0] * 12},
    ]
    for stage in case.documents["stages.json"]["stages"]:
        stage["state_variables"] = {"storage": True, "inflow_lags": True}
    if estimation:
        case.documents["config.json"]["estimation"] = estimation
    return case


def history_018(folder, values=None, first="1966-01", columns=windowed, change=None):
    """The example of ``cobre init`` (0.18) with monthly inflows until the end of 2025 and no inflow model."""
    documents, tables = small_documents(), small_tables()
    del tables[STATS], tables[LAGS], documents[CORRELATION]
    if change is not None:
        change(documents)
    write_case(folder, documents, tables)
    write_history(folder, columns(river(60) if values is None else values, first))
    return folder


def write_history(folder, columns):
    """``columns`` with days since 1970 as the history of the case in ``folder``."""
    types = {"hydro_id": pa.int32(), "value_m3s": pa.float64()}
    arrays = {
        name: pa.array(column, types[name])
        if name in types
        else pa.array(column, pa.int32()).cast(pa.date32())
        for name, column in columns.items()
    }
    pq.write_table(pa.table(arrays), folder / HISTORY)


def monthly(**columns):
    """A table of both hydros in twelve stages; a column may be one number."""
    given = {name: each if isinstance(each, list) else [each] * 24 for name, each in columns.items()}
    return {"hydro_id": [h for h in (0, 1) for _ in range(12)], "stage_id": list(range(12)) * 2, **given}


def loaded(case):
    study, report = load_with_report(case.write())
    return study, [str(warning) for warning in report.warnings]


def errors(case):
    return validate(case.write()).errors
