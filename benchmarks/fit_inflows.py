"""How long fitting inflow models takes: 160 plants, 90 years of months, on one core; and what judging them costs."""

from __future__ import annotations

import os

import numpy as np
from record import publish, seconds

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.stochastic.fitting import FitOptions, InflowHistory, fit_inflows
from cobre.stochastic.fitting.diagnostics import diagnose

N_HYDROS, N_YEARS, N_SERIES = 160, 90, 100
MONTHS = SeasonDefinitions("monthly", tuple(Season(m, str(m), m + 1) for m in range(12)))


def history() -> InflowHistory:
    """Monthly inflows with memory, a yearly cycle and correlation between plants."""
    rng = np.random.default_rng(0)
    n = 12 * N_YEARS
    noise = rng.normal(size=(n, N_HYDROS))
    noise[:, 1:] = 0.6 * noise[:, :1] + 0.8 * noise[:, 1:]
    z = np.zeros_like(noise)
    for t in range(1, n):
        z[t] = 0.6 * z[t - 1] + 0.8 * noise[t]
    level = 1.5 + np.cos(np.arange(n) % 12 / 2.0)
    values = np.maximum(100.0 * level[:, np.newaxis] * (1.0 + 0.3 * z), 1.0)
    days = (np.datetime64("1931-01") + np.arange(n + 1)).astype("datetime64[D]").astype(np.int64)
    return InflowHistory(
        N_HYDROS,
        np.repeat(np.arange(N_HYDROS), n),
        np.tile(days[:-1], N_HYDROS),
        np.tile(days[1:], N_HYDROS),
        np.ascontiguousarray(values.T).ravel(),
    )


def main() -> None:
    """Fits from records to correlation matrices, on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    records = history()
    figures = {}
    for selection in ("pacf", "pacf_annual", "bic"):
        options = FitOptions(order_selection=selection)
        clock, processor = seconds(lambda options=options: fit_inflows(records, MONTHS, range(12), options))
        figures[f"{selection}, by the clock"], figures[f"{selection}, processor"] = clock, processor
    fit = fit_inflows(records, MONTHS, range(12))
    clock, processor = seconds(lambda: diagnose(fit, N_SERIES), 1)
    figures[f"diagnostics of {N_SERIES} series, by the clock"] = clock
    figures[f"diagnostics of {N_SERIES} series, processor"] = processor
    publish("fit_inflows", "s", figures)


if __name__ == "__main__":
    main()
