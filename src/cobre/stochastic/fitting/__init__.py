"""Fits inflow models to observed inflows.

In the order in which a fit meets them:

1. **Observations** (`history`, `calendar`). Daily, weekly or monthly records become one number per plant and season of
   each year.
2. **Statistics** (`statistics`, `quality`). Mean and deviation of every season, and what is wrong with the records.
3. **Lags** (`autocorrelation`, `equations`, `orders`, `reductions`). Periodic correlations, the Yule-Walker
   equations of every order, the order chosen, and lowered where coefficients make no sense. PAR(p), and PAR(p)-A with
   the mean of the year before.
4. **Noise** (`closure`, `stationarity`, `residuals`, `spatial`). How much of each deviation is noise, whether the model
   settles, and how the noises of plants go together.
5. **Trust** (`synthetic`, `diagnostics`). Series drawn from the model, compared with the history.

Everything takes and gives NumPy arrays over hydros by index. Sums run in a fixed order and no BLAS or LAPACK is used,
so a fit has the same bits on every machine.
"""

from __future__ import annotations

from cobre._lazy import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from cobre.stochastic.fitting.calendar import levels_of
    from cobre.stochastic.fitting.findings import Finding
    from cobre.stochastic.fitting.fit import fit_inflows
    from cobre.stochastic.fitting.history import InflowHistory, observe, windows_of_dates
    from cobre.stochastic.fitting.model import FitOptions, GivenCoefficients, GivenModel, InflowFit, LevelFit

__all__ = [
    "Finding",
    "FitOptions",
    "GivenCoefficients",
    "GivenModel",
    "InflowFit",
    "InflowHistory",
    "LevelFit",
    "fit_inflows",
    "levels_of",
    "observe",
    "windows_of_dates",
]

__getattr__ = lazy_names(
    __name__,
    {
        "levels_of": "cobre.stochastic.fitting.calendar",
        "Finding": "cobre.stochastic.fitting.findings",
        "fit_inflows": "cobre.stochastic.fitting.fit",
        **dict.fromkeys(("InflowHistory", "observe", "windows_of_dates"), "cobre.stochastic.fitting.history"),
        **dict.fromkeys(
            ("FitOptions", "GivenCoefficients", "GivenModel", "InflowFit", "LevelFit"),
            "cobre.stochastic.fitting.model",
        ),
    },
)
