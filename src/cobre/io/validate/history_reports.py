"""What a fit says about the history, as findings about the case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from cobre.core.horizon import Stage
from cobre.io.problems import Place, Problems
from cobre.io.read.config import EstimationRecord
from cobre.io.read.files import CaseFiles
from cobre.io.validate.fit_wanted import HISTORY
from cobre.io.validate.history_dates import hydros_by_index
from cobre.io.validate.naming import called, listed
from cobre.stochastic.fitting import Finding, InflowFit
from cobre.stochastic.fitting.plausibility import copies

__all__ = [
    "HISTORY",
    "report_certain_seasons",
    "report_copies",
    "report_finding",
    "report_findings",
    "report_given_statistics",
    "report_unused_annual",
    "report_years",
]

FEWEST_YEARS = 10
"""A bootstrap from fewer years repeats itself."""
SHAPE_FACTOR = 2.0


def report_findings(files: CaseFiles, fit: InflowFit, problems: Problems, *, has_stats: bool) -> None:
    """Errors and warnings of the fit. A hydro without history is none where the case has its statistics."""
    for finding in fit.findings:
        if not (has_stats and finding.field == "hydro_id"):
            report_finding(files, finding, problems)


def report_copies(files: CaseFiles, fit: InflowFit, problems: Problems) -> None:
    """Plants that have the records of another one."""
    hydros = hydros_by_index(files)
    for h, other in copies(fit.levels[0].observations):
        problems.warn(
            "OutOfRange",
            Place(HISTORY, called("hydro", hydros[h]), "value_m3s", hydros[other].id),
            f"its records are those of {called('hydro', hydros[other])}, number by number: their inflows are never "
            "different",
            "check that they were not copied by mistake; split the inflow of a common gauge between its plants",
        )


def report_years(files: CaseFiles, fit: InflowFit, stages: Sequence[Stage], problems: Problems) -> None:
    """Whether there are years enough, in which all plants have a residual, to draw from."""
    estimation = files.config.estimation or EstimationRecord()
    if estimation.residuals != "bootstrap":
        return
    counts = {}
    for season in sorted({stage.season_id for stage in stages if stage.season_id is not None}):
        counts[season] = len(fit.residual_years(season))
    few = [season for season, count in counts.items() if count < FEWEST_YEARS]
    none = [season for season, count in counts.items() if count < 2]
    if few:
        report = problems.error if none else problems.warn
        report(
            "CoverageMismatch",
            "config.json",
            f"estimation.residuals = 'bootstrap', but season {listed(none or few)} has "
            f"{min(counts.values())} years in which all plants have a residual",
            "give all plants records of the same years, or use normal or lognormal residuals",
            field="estimation.residuals",
            value=min(counts.values()),
        )


def report_given_statistics(files: CaseFiles, fit: InflowFit, problems: Problems) -> None:
    """Statistics of the case beside which the fitted coefficients make no sense."""
    stats = files.tables["inflow_stats"]
    for h, hydro in enumerate(hydros_by_index(files)):
        mine = stats.take(stats["hydro_id"] == hydro.id)
        if not any(level.statistics.count[h].any() for level in fit.levels):
            continue
        place = {"entity": called("hydro", hydro), "field": "std_m3s"}
        if not len(mine):
            problems.error(
                "CoverageMismatch",
                stats.file.path,
                "has an inflow history but no row here",
                "add its statistics, or remove the file to have them fitted",
                value=None,
                **place,
            )
            continue
        given = dict(zip(mine["stage_id"].tolist(), mine["std_m3s"].tolist(), strict=True))
        still = [s.id for s in files.stages.stages if given.get(s.id) == 0.0 and _order(fit, h, s.season_id)]
        if still:
            problems.error(
                "IncompatibleSettings",
                stats.file.path,
                f"std_m3s = 0 in stage {listed(still)}, where lags were fitted to the history",
                "give the deviation there, or coefficients in scenarios/inflow_ar_coefficients.parquet",
                value=0.0,
                **place,
            )
        _report_shape(fit, h, given, files, place, problems)


def report_certain_seasons(files: CaseFiles, fit: InflowFit, problems: Problems) -> None:
    """Coefficients of the case in seasons in which the history does not vary."""
    for h, hydro in enumerate(hydros_by_index(files)):
        stages = [
            stage.id
            for stage in files.stages.stages
            if _order(fit, h, stage.season_id) and not _deviation(fit, h, stage.season_id)
        ]
        if stages:
            problems.error(
                "IncompatibleSettings",
                Place(files.tables["inflow_lags"].file.path, called("hydro", hydro), "coefficient", stages),
                f"has coefficients in stage {listed(stages)}, where all observations of the history are the same",
                "remove the coefficients there, or give the deviation in scenarios/inflow_seasonal_stats.parquet",
            )


def _report_shape(
    fit: InflowFit,
    h: int,
    given: dict[int, float],
    files: CaseFiles,
    place: dict[str, str],
    problems: Problems,
) -> None:
    """Deviations that rise and fall over the year otherwise than the history's."""
    stages = sorted(files.stages.stages, key=lambda stage: stage.id)
    odd = []
    for before, after in pairwise(stages):
        fitted = [_deviation(fit, h, stage.season_id) for stage in (before, after)]
        stated = [given.get(stage.id, 0.0) for stage in (before, after)]
        if min(*fitted, *stated) > 0.0:
            ratio = (stated[0] / stated[1]) / (fitted[0] / fitted[1])
            if max(ratio, 1.0 / ratio) > SHAPE_FACTOR:
                odd.append(after.id)
    if odd:
        problems.warn(
            "OutOfRange",
            files.tables["inflow_stats"].file.path,
            f"the deviation changes towards stage {listed(odd)} by more than {SHAPE_FACTOR:g} times otherwise than "
            "that of the history, to which the coefficients are fitted",
            "check that statistics and history are of the same place and period",
            value=odd,
            **place,
        )


def report_unused_annual(files: CaseFiles, fit: InflowFit, problems: Problems, *, has_lags: bool) -> None:
    """An annual component beside coefficients that are fitted."""
    path = "scenarios/inflow_annual_component.parquet"
    if path in files.present and not has_lags:
        problems.warn(
            "IncompatibleSettings",
            path,
            "is not used: coefficients are fitted to the history, the annual term with them if order_selection asks",
            "remove it, or give scenarios/inflow_ar_coefficients.parquet as well",
            field="annual_coefficient",
            value=None,
        )


def _deviation(fit: InflowFit, h: int, season_id: int | None) -> float:
    found = fit.place(season_id)
    return float(found[0].statistics.std_m3s[h, found[1]]) if found else 0.0


def _order(fit: InflowFit, h: int, season_id: int | None) -> int:
    found = fit.place(season_id)
    return int(found[0].orders[h, found[1]]) if found else 0


def report_finding(files: CaseFiles, finding: Finding, problems: Problems) -> None:
    """One finding in its file, or in the settings of the fit."""
    is_setting = finding.field.startswith("estimation.")
    report = problems.error if finding.severity == "error" else problems.warn
    report(
        finding.kind,
        Place(
            "config.json" if is_setting else HISTORY,
            "" if finding.hydro is None else called("hydro", hydros_by_index(files)[finding.hydro]),
            finding.field,
            finding.value,
        ),
        finding.message,
        finding.remedy,
        **{"rule": finding.rule} if finding.rule else {},
    )
