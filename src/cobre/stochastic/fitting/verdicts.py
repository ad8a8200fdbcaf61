"""A plain word per plant about a fitted model: can it be trusted, and if not, why?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cobre.stochastic.fitting.diagnostics import LevelDiagnostics
from cobre.stochastic.fitting.measures import SEASON_MEASURES, YEAR_MEASURES
from cobre.stochastic.fitting.model import FitOptions

__all__ = ["Verdict", "verdicts"]

MOST_OUTSIDE = 1.0 / 3.0
"""Of seasons or pairs; one in ten lies outside a band of nine in ten by chance."""
MOST_NEGATIVE = 0.05
LEAST_P_VALUE = 0.01
MOST_REASONS_OF_FAIR = 2

SEASON_TEXTS = {
    "mean": "the mean of {n} of {of} seasons is not reproduced",
    "deviation": "the deviation of {n} of {of} seasons is not reproduced",
    "skewness": "the skewness of {n} of {of} seasons is not reproduced",
    "autocorrelation": "the correlation with the season before is not reproduced in {n} of {of} seasons",
}
SERIOUS = ("mean", "deviation", "autocorrelation")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``good``: the synthetic series look like the history. ``fair``: but for ``reasons``. ``poor``: they do not."""

    hydro: int
    word: Literal["good", "fair", "poor"]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return self.word + (f": {'; '.join(self.reasons)}" if self.reasons else "")


def verdicts(diagnostics: LevelDiagnostics, options: FitOptions) -> list[Verdict]:
    """One per hydro."""
    return [_verdict(diagnostics, options, h) for h in range(len(diagnostics.fit.phi))]


def _verdict(each: LevelDiagnostics, options: FitOptions, h: int) -> Verdict:
    used = [s for s, season in enumerate(each.fit.level.season_ids) if season is not None]
    reasons, is_serious = [], False
    for m, measure in enumerate(SEASON_MEASURES):
        outside = int(np.count_nonzero(each.seasons.is_outside[m, h, used]))
        if outside > MOST_OUTSIDE * len(used):
            reasons.append(SEASON_TEXTS[measure].format(n=outside, of=len(used)))
            is_serious |= measure in SERIOUS
    reasons += _year_reasons(each, h)
    others = np.delete(each.pairs.is_outside[h], h)
    if len(others) and np.count_nonzero(others) > MOST_OUTSIDE * len(others):
        reasons.append(
            f"the correlation with {np.count_nonzero(others)} of {len(others)} plants is not reproduced"
        )
    if each.ljung_box[1, h] < LEAST_P_VALUE:
        reasons.append("what the lags leave unexplained is still correlated in time")
    if each.negative_share[h] > MOST_NEGATIVE:
        reasons.append(f"{100.0 * each.negative_share[h]:.1f} % of synthetic inflows are negative")
    fewest = int(each.fit.statistics.count[h, used].min(initial=10**9))
    if fewest < options.min_observations:
        reasons.append(f"a season has only {fewest} observations")
    if not reasons:
        return Verdict(h, "good", ())
    return Verdict(h, "poor" if is_serious or len(reasons) > MOST_REASONS_OF_FAIR else "fair", tuple(reasons))


def _year_reasons(each: LevelDiagnostics, h: int) -> list[str]:
    """Droughts that the history has and series of the model hardly have, and years that vary too little or too much."""
    band, reasons = each.years, []
    longest, deficit, annual = (YEAR_MEASURES.index(name) for name in YEAR_MEASURES)
    if band.is_outside[longest, h] and band.observed[longest, h] > band.high[longest, h]:
        reasons.append(
            f"the longest observed drought ({band.observed[longest, h]:.0f} periods) is longer than in 95 % of series "
            f"({band.high[longest, h]:.0f})"
        )
    if band.is_outside[deficit, h] and band.observed[deficit, h] > band.high[deficit, h]:
        reasons.append(
            f"the most severe observed drought ({band.observed[deficit, h]:.0f} hm3) is worse than in 95 % of series "
            f"({band.high[deficit, h]:.0f} hm3)"
        )
    if band.is_outside[annual, h]:
        word = "more" if band.observed[annual, h] > band.high[annual, h] else "less"
        reasons.append(f"observed years vary {word} than synthetic ones")
    return reasons
