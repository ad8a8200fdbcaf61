"""Where the inflow model of a case comes from: its own files, or a fit to its history."""

from __future__ import annotations

from cobre.core.provenance import EstimationPath, InflowProvenance, Source
from cobre.io.read.files import CaseFiles
from cobre.io.validate.fit_wanted import CORRELATION, HISTORY, LAGS, STATS

OPENINGS = "scenarios/noise_openings.parquet"
PATHS: dict[tuple[bool, bool, bool], EstimationPath] = {
    (False, False, False): "deterministic",
    (False, False, True): "deterministic",
    (False, True, False): "user_stats_white_noise",
    (False, True, True): "user_provided_no_history",
    (True, False, False): "full_estimation",
    (True, True, False): "partial_estimation",
    (True, False, True): "user_ar_history_stats",
    (True, True, True): "user_provided_all",
}
"""By whether the case has a history, statistics and coefficients."""


def inflow_provenance(files: CaseFiles) -> InflowProvenance:
    """Of a case that was read and, where something was missing, completed from its history."""
    fit = files.inflow_fit

    def source(file: str) -> Source:
        if file in files.present:
            return "user_file"
        return "n/a" if fit is None else "estimated"

    has_history, has_stats, has_lags = (file in files.present for file in (HISTORY, STATS, LAGS))
    fits_lags = fit is not None and not has_lags
    return InflowProvenance(
        PATHS[has_history, has_stats, has_lags],
        source(STATS),
        source(LAGS),
        source(CORRELATION),
        "user_file" if OPENINGS in files.present else "estimated",
        fit.options.order_selection.upper() if fit is not None and fits_lags else None,
        fit.options.max_order if fit is not None and fits_lags else None,
    )
