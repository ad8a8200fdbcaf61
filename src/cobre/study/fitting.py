"""Fits the inflow model of a case to its history and judges it, without training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.errors import CobreError
from cobre.io.fitted import DEFAULT_SERIES, FitResult, fit_case
from cobre.io.write.fit_plots import check_plots, write_plots
from cobre.io.write.fitted import write_fit
from cobre.stochastic.fitting.diagnostics import FEWEST_SERIES

__all__ = ["fit"]


def fit(
    case: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    config_overrides: Mapping[str, Any] | None = None,
    n_series: int = DEFAULT_SERIES,
    plots: bool = False,
    on_picture: Callable[[int, int], None] | None = None,
) -> FitResult:
    """Fit the inflow model of a case directory to its history, and judge it by ``n_series`` synthetic series.

    ``n_series`` is 100 or more, or 0 to leave the judging out. Nothing is written unless ``output`` names a folder: the
    fitted model as files of a case, a report, tables of diagnostics, and pictures if ``plots``. ``on_picture`` is
    called after each one with the numbers of drawn and of all pictures.
    """
    if n_series and n_series < FEWEST_SERIES:
        raise CobreError(
            f"{n_series} synthetic series are too few to judge a model by",
            kind="OutOfRange",
            context={"n_series": n_series},
            suggestion=f"draw {FEWEST_SERIES} or more, or 0 for none",
        )
    if plots and (not n_series or output is None):
        raise CobreError(
            f"plots need {'a folder to be written to' if n_series else 'synthetic series to compare with'}",
            kind="IncompatibleSettings",
            context={"n_series": n_series, "output": None if output is None else str(output)},
            suggestion=f"draw {FEWEST_SERIES} series or more, name an output folder, or leave the plots out",
        )
    if plots:
        check_plots()
    result = fit_case(case, config_overrides, n_series)
    if output is not None:
        write_fit(Path(output), result)
        if plots:
            write_plots(Path(output), result, on_picture)
    return result
