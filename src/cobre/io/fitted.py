"""What was fitted to the history of a case, and how well: read, fitted and checked without training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.core.entities import Hydro
from cobre.errors import ValidationError
from cobre.io.assemble.settings import DEFAULT_SEED
from cobre.io.assemble.system import build_system
from cobre.io.loading import examine
from cobre.io.problems import ValidationReport, raise_if_invalid
from cobre.io.read.config import EstimationRecord
from cobre.io.read.files import CaseFiles
from cobre.io.validate.lag_seeds import UNKNOWN_LAGS
from cobre.stochastic.fitting import InflowFit
from cobre.stochastic.fitting.diagnostics import LevelDiagnostics, diagnose
from cobre.stochastic.fitting.verdicts import Verdict, verdicts_of_levels

__all__ = ["FitResult", "fit_case"]

HISTORY = "scenarios/inflow_history.parquet"
DEFAULT_SERIES = 200


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted inflow model. Without series drawn there are no diagnostics and no verdicts."""

    fit: InflowFit
    hydros: tuple[Hydro, ...]
    """In the order of the fit's arrays."""
    report: ValidationReport
    residuals: str
    diagnostics: tuple[LevelDiagnostics, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    files: CaseFiles = field(repr=False, default_factory=lambda: CaseFiles(Path()))
    """The case as read, with the fitted rows in its tables."""

    def __repr__(self) -> str:
        return f"FitResult({self.summary})"

    @property
    def summary(self) -> str:
        """How many plants were fitted, and how many of each verdict."""
        n = len(self.hydros)
        plants = f"{n} plant" + ("" if n == 1 else "s")
        words = [verdict.word for verdict in self.verdicts]
        counts = [f"{words.count(word)} {word}" for word in ("good", "fair", "poor") if word in words]
        return f"fitted {plants}" + (f": {', '.join(counts)}" if counts else "")

    @property
    def orders(self) -> list[list[int]]:
        """Number of lags by hydro and season, of the finest level."""
        orders: list[list[int]] = self.fit.levels[0].orders.tolist()
        return orders


def fit_case(
    path: str | PathLike[str],
    config_overrides: Mapping[str, Any] | None = None,
    n_series: int = DEFAULT_SERIES,
) -> FitResult:
    """Fit the inflow model of the case in a folder and compare it with ``n_series`` synthetic series; 0: do not.

    Raises `cobre.errors.ValidationError` if the case is wrong, or has no history or a complete inflow model.
    """
    checked, report = examine(path, config_overrides)
    files = checked.files
    if HISTORY not in files.present and not report.errors:
        raise ValidationError(
            f"the case {path} has no {HISTORY}, so there is nothing to fit",
            kind="MissingFile",
            context={"file": HISTORY},
            suggestion="add the observed inflows: hydro_id, start_date, end_date (in 0.5.1 also date), value_m3s",
        )
    if files.inflow_fit is not None:
        report = _with_unknown_lags_as_warnings(report)
    raise_if_invalid(report, str(path))
    fit = files.inflow_fit
    if fit is None:
        raise ValidationError(
            f"the case {path} gives its inflow model itself, so there is nothing to fit",
            kind="IncompatibleSettings",
            context={"case": str(path)},
            suggestion="move scenarios/inflow_seasonal_stats.parquet and scenarios/inflow_ar_coefficients.parquet away",
        )
    kind = (files.config.estimation or EstimationRecord()).residuals
    seed = files.config.training.tree_seed
    diagnostics = diagnose(fit, n_series, DEFAULT_SEED if seed is None else seed, kind) if n_series else ()
    found = tuple(verdicts_of_levels(diagnostics, fit.options)) if diagnostics else ()
    return FitResult(fit, build_system(files).hydros, report, kind, diagnostics, found, files)


def _with_unknown_lags_as_warnings(report: ValidationReport) -> ValidationReport:
    """Inflows just before the study: training needs them, a fit does not."""
    unknown = tuple(each for each in report.errors if each.rule == UNKNOWN_LAGS)
    errors = tuple(each for each in report.errors if each.rule != UNKNOWN_LAGS)
    told = tuple(replace(each, message=f"{each.message}; training refuses that") for each in unknown)
    return replace(report, errors=errors, warnings=(*report.warnings, *told))
