"""Pictures of a fit: one per plant, observed against synthetic, and one of the correlations between plants."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cobre.errors import CobreError
from cobre.files import write_atomically
from cobre.io.fitted import FitResult
from cobre.stochastic.fitting.calendar import EPOCH, Level
from cobre.stochastic.fitting.diagnostics import LevelDiagnostics
from cobre.stochastic.fitting.measures import SEASON_MEASURES, YEAR_MEASURES
from cobre.stochastic.fitting.orders import significance_bound

__all__ = ["check_plots", "season_labels", "write_plots"]

FOLDER = "plots"
TITLES = {
    "mean": "mean (m³/s)",
    "deviation": "standard deviation (m³/s)",
    "skewness": "skewness",
    "autocorrelation": "correlation with the season before",
    "longest_drought": "longest drought (periods)",
    "largest_deficit_hm3": "largest deficit (hm³)",
    "annual_deviation": "deviation of yearly means (m³/s)",
}
FARTHEST_PARTIAL = 3.0
OBSERVED, SYNTHETIC = "black", "tab:blue"


def check_plots() -> None:
    """Refuse at once where pictures cannot be drawn."""
    _figure((1.0, 1.0))


def write_plots(
    folder: Path, result: FitResult, on_picture: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Write ``plots/hydro_ID.png`` for every plant and ``plots/correlation.png``; the paths.

    Where months and quarters are fitted, a picture shows the finer ones, and ``hydro_ID_4_seasons.png`` the quarters.
    ``on_picture`` is called after each one with the numbers of written and of all pictures.
    """
    if not result.diagnostics:
        return []
    pictures: dict[str, Callable[[], bytes]] = {}
    for each in result.diagnostics:
        suffix = "" if each is result.diagnostics[0] else f"_{each.fit.level.n_seasons}_seasons"
        for h, hydro in enumerate(result.hydros):
            title = f"{hydro.name} ({hydro.id}): {result.verdicts[h]}"
            pictures[f"{FOLDER}/hydro_{hydro.id}{suffix}.png"] = partial(_plant, each, h, title)
    if len(result.hydros) > 1:
        pictures[f"{FOLDER}/correlation.png"] = partial(_pairs, result.diagnostics[0])
    for count, (name, draw) in enumerate(pictures.items(), 1):
        write_atomically(folder / name, draw())
        if on_picture is not None:
            on_picture(count, len(pictures))
    return [folder / name for name in pictures]


def _plant(each: LevelDiagnostics, h: int, title: str) -> bytes:
    figure = _figure((13.0, 7.5))
    figure.suptitle("\n".join(textwrap.wrap(title, 150)), fontsize=10, parse_math=False)
    axes = figure.subplots(2, 4)
    seasons = np.arange(each.fit.level.n_seasons)
    labels = season_labels(each.fit.level)
    for m, measure in enumerate(SEASON_MEASURES):
        axis = axes.flat[m]
        low, high = each.seasons.low[m, h], each.seasons.high[m, h]
        axis.fill_between(seasons, low, high, color=SYNTHETIC, alpha=0.25, label="90 % of series")
        axis.plot(seasons, each.seasons.mean[m, h], color=SYNTHETIC, label="mean of series")
        axis.plot(seasons, each.seasons.observed[m, h], "o", color=OBSERVED, markersize=4, label="observed")
        axis.set_title(TITLES[measure], fontsize=9)
        axis.set_xlabel("month" if each.fit.level.is_monthly else "season", fontsize=8)
        if len(labels) <= 12:
            axis.set_xticks(seasons, labels)
    axes.flat[0].legend(fontsize=7)
    for m, measure in enumerate(YEAR_MEASURES):
        axis, band = axes.flat[4 + m], each.years
        low, mean, high = band.low[m, h], band.mean[m, h], band.high[m, h]
        axis.bar([0], [high - low], bottom=[low], width=0.5, color=SYNTHETIC, alpha=0.25)
        axis.plot([-0.25, 0.25], [mean, mean], color=SYNTHETIC)
        axis.plot([0], [band.observed[m, h]], "o", color=OBSERVED)
        axis.set_xlim(-1, 1)
        axis.set_ylim(0.0, 1.1 * max(high, float(band.observed[m, h])) or 1.0)
        axis.set_xticks([])
        axis.set_title(TITLES[measure], fontsize=9)
    _partial(axes.flat[7], each, h)
    return _png(figure)


def season_labels(level: Level) -> list[str]:
    """Initials of months, numbers of weeks, ids of other seasons."""
    if level.is_monthly:
        months = (level.occurrence(s, EPOCH.year)[0].month for s in range(level.n_seasons))
        return ["JFMAMJJASOND"[month - 1] for month in months]
    return [str(season) for season in level.season_ids]


def _partial(axis: Any, each: LevelDiagnostics, h: int) -> None:
    """Partial autocorrelations by lag, a dot per season, beside the bound of significance."""
    partial = each.fit.partial[h]
    for lag in range(partial.shape[1]):
        values = partial[:, lag]
        axis.plot(np.full(len(values), lag + 1), values, ".", color=OBSERVED, alpha=0.6)
    bound = float(np.median(significance_bound(each.fit.statistics.count[h])))
    for sign in (-1.0, 1.0):
        axis.axhline(sign * bound, color=SYNTHETIC, linestyle="--", linewidth=1)
    highest = float(
        np.nanmax(np.abs(partial), initial=max(1.0, bound))
    )  # beyond 1 where equations are near singular
    axis.set_ylim(-1.05 * min(highest, FARTHEST_PARTIAL), 1.05 * min(highest, FARTHEST_PARTIAL))
    axis.set_xticks(range(1, partial.shape[1] + 1))
    axis.set_xlabel("lag", fontsize=8)
    axis.set_title("partial autocorrelation, a dot per season", fontsize=9)


def _pairs(each: LevelDiagnostics) -> bytes:
    figure = _figure((6.0, 6.0))
    axis = figure.subplots()
    above = np.triu_indices(len(each.fit.phi), 1)
    observed, low, high = (values[above] for values in (each.pairs.observed, each.pairs.low, each.pairs.high))
    axis.vlines(observed, low, high, color=SYNTHETIC, alpha=0.25, label="90 % of series")
    axis.plot(observed, each.pairs.mean[above], ".", color=SYNTHETIC, label="mean of series")
    axis.plot([-1, 1], [-1, 1], color=OBSERVED, linewidth=0.8, label="as observed")
    axis.set_aspect("equal")
    axis.set_xlabel("observed")
    axis.set_ylabel("synthetic")
    axis.legend(fontsize=7)
    axis.set_title("correlation between plants, a dot per pair", fontsize=10)
    return _png(figure)


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CobreError(
            "plots need matplotlib, which is not installed", suggestion="pip install 'matplotlib>=3.8'"
        ) from error
    return Figure(figsize=size, layout="constrained")


def _png(figure: Any) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=110)
    return sink.getvalue()
