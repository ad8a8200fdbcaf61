"""What diagnostics measured, as tables: columns of equal length, hydros by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cobre.stochastic.fitting.diagnostics import Band, LevelDiagnostics
from cobre.stochastic.fitting.measures import SEASON_MEASURES, YEAR_MEASURES
from cobre.stochastic.fitting.orders import significance_bound
from cobre.stochastic.fitting.verdicts import Verdict

__all__ = ["Columns", "diagnostic_tables"]

Columns = dict[str, list[Any]]

BAND = ("observed", "synthetic", "low", "high")


def diagnostic_tables(
    diagnostics: Sequence[LevelDiagnostics], verdicts: Sequence[Verdict]
) -> dict[str, Columns]:
    """All tables by name. Those over years, pairs and residuals are of the finest level."""
    return {
        "seasons": season_rows(diagnostics),
        "autocorrelation": lag_rows(diagnostics),
        "years": year_rows(diagnostics[0]),
        "pairs": pair_rows(diagnostics[0]),
        "residuals": residual_rows(diagnostics[0]),
        "verdicts": verdict_rows(verdicts),
    }


def season_rows(diagnostics: Sequence[LevelDiagnostics]) -> Columns:
    """One row per hydro, season and measure."""
    rows = _blank("hydro", "season_id", "measure", "observations", *BAND)
    for each in diagnostics:
        for m, measure in enumerate(SEASON_MEASURES):
            for h, s in np.ndindex(each.fit.orders.shape):
                season = each.fit.level.season_ids[s]
                if season is not None:
                    count = int(each.fit.statistics.count[h, s])
                    _append(rows, h, season, measure, count, *_of_band(each.seasons, m, h, s))
    return rows


def lag_rows(diagnostics: Sequence[LevelDiagnostics]) -> Columns:
    """One row per hydro, season and lag: observed and implied correlation, the partial one, its bound, φ."""
    names = ("observed", "model", "partial", "bound", "coefficient")
    rows = _blank("hydro", "season_id", "lag", "order", *names)
    for each in diagnostics:
        fit = each.fit
        bounds = significance_bound(fit.statistics.count)
        for h, s in np.ndindex(fit.orders.shape):
            season = fit.level.season_ids[s]
            if season is None:
                continue
            for lag in range(1, fit.rho.shape[2]):
                implied = fit.implied_rho[h, s, lag] if lag < fit.implied_rho.shape[2] else np.nan
                partial, phi = fit.partial[h, s, lag - 1], fit.phi[h, s, lag - 1]
                numbers = (fit.rho[h, s, lag], implied, partial, bounds[h, s], phi)
                _append(rows, h, season, lag, int(fit.orders[h, s]), *map(float, numbers))
    return rows


def year_rows(diagnostics: LevelDiagnostics) -> Columns:
    """One row per hydro and measure over the years."""
    rows = _blank("hydro", "measure", *BAND)
    for h in range(len(diagnostics.fit.phi)):
        for m, measure in enumerate(YEAR_MEASURES):
            _append(rows, h, measure, *_of_band(diagnostics.years, m, h))
    return rows


def pair_rows(diagnostics: LevelDiagnostics) -> Columns:
    """One row per pair of hydros."""
    rows = _blank("hydro", "other_hydro", *BAND)
    n = len(diagnostics.fit.phi)
    for h in range(n):
        for other in range(h + 1, n):
            _append(rows, h, other, *_of_band(diagnostics.pairs, h, other))
    return rows


def residual_rows(diagnostics: LevelDiagnostics) -> Columns:
    """One row per hydro: what its residuals look like, and how often synthetic inflows are negative."""
    names = ("ljung_box", "ljung_box_p", "skewness", "excess_kurtosis", "jarque_bera", "jarque_bera_p")
    rows = _blank("hydro", *names, "negative_share")
    for h in range(len(diagnostics.fit.phi)):
        tests = [*diagnostics.ljung_box[:, h].tolist(), *diagnostics.normality[:, h].tolist()]
        _append(rows, h, *tests, float(diagnostics.negative_share[h]))
    return rows


def verdict_rows(verdicts: Sequence[Verdict]) -> Columns:
    """One row per hydro."""
    rows = _blank("hydro", "verdict", "reasons")
    for verdict in verdicts:
        _append(rows, verdict.hydro, verdict.word, "; ".join(verdict.reasons))
    return rows


def _of_band(band: Band, *place: int) -> tuple[float, float, float, float]:
    each = (band.observed[place], band.mean[place], band.low[place], band.high[place])
    return float(each[0]), float(each[1]), float(each[2]), float(each[3])


def _blank(*names: str) -> Columns:
    return {name: [] for name in names}


def _append(rows: Columns, *values: float | str) -> None:
    for column, value in zip(rows.values(), values, strict=True):
        column.append(value)
