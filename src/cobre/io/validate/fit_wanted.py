"""Whether something of the inflow model of a case comes from its history."""

from __future__ import annotations

from cobre.io.read.config import EstimationRecord
from cobre.io.read.files import CaseFiles

__all__ = ["CORRELATION", "HISTORY", "LAGS", "STATS", "wants_fit"]

HISTORY = "scenarios/inflow_history.parquet"
STATS, LAGS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
CORRELATION = "scenarios/correlation.json"


def wants_fit(files: CaseFiles) -> bool:
    """Whether something of the inflow model comes from the history."""
    if HISTORY not in files.present:
        return False
    estimation = files.config.estimation or EstimationRecord()
    return not {STATS, LAGS} <= files.present or estimation.residuals == "bootstrap"
