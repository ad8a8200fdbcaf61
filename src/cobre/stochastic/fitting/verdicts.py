"""A verdict per plant about its fitted model: whether it can be trusted, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cobre.stochastic.fitting.diagnostics import LevelDiagnostics
from cobre.stochastic.fitting.measures import SEASON_MEASURES, YEAR_MEASURES
from cobre.stochastic.fitting.model import FitOptions

__all__ = ["Verdict", "verdicts", "verdicts_of_levels"]

MOST_OUTSIDE = 1.0 / 3.0
"""Of seasons or pairs; one in ten lies outside a band of nine in ten by chance."""
MOST_NEGATIVE, MANY_NEGATIVE = 0.05, 0.25
"""Shares of negative synthetic inflows: beyond the first a reason, beyond the second a serious one."""
LEAST_P_VALUE = 0.01
FEWEST_TO_TRUST = 10
"""Observations of a season. With fewer the model is poor, whatever it reproduces."""
MOST_REASONS_OF_FAIR = 2

SEASON_TEXTS = {
    "mean": "the mean of {n} of {of} seasons is not reproduced",
    "deviation": "the deviation of {n} of {of} seasons is not reproduced",
    "skewness": "the skewness of {n} of {of} seasons is not reproduced",
    "autocorrelation": "the correlation with the season before is not reproduced in {n} of {of} seasons",
}
Word = Literal["good", "fair", "poor"]
WORDS: tuple[Word, ...] = ("good", "fair", "poor")
SERIOUS = ("mean", "deviation", "autocorrelation")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``good``: the synthetic series look like the history. ``fair``: but for ``reasons``. ``poor``: they do not."""

    hydro: int
    word: Word
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return self.word + (f": {'; '.join(self.reasons)}" if self.reasons else "")


def verdicts_of_levels(diagnostics: Sequence[LevelDiagnostics], options: FitOptions) -> list[Verdict]:
    """One per hydro over all levels of the calendar: the worst word, and the reasons of each level."""
    by_level = [verdicts(each, options) for each in diagnostics]
    found = []
    for h, finest in enumerate(by_level[0]):
        reasons = list(finest.reasons)
        for each, level in zip(diagnostics[1:], by_level[1:], strict=True):
            reasons += [f"{each.fit.level.n_seasons} seasons a year: {text}" for text in level[h].reasons]
        worst = max((level[h].word for level in by_level), key=WORDS.index)
        found.append(Verdict(h, worst, tuple(reasons)))
    return found


def verdicts(diagnostics: LevelDiagnostics, options: FitOptions) -> list[Verdict]:
    """One per hydro."""
    return [_verdict(diagnostics, options, h) for h in range(len(diagnostics.fit.phi))]


def _verdict(each: LevelDiagnostics, options: FitOptions, h: int) -> Verdict:
    used = [s for s, season in enumerate(each.fit.level.season_ids) if season is not None]
    if not each.fit.statistics.count[h, used].any():
        return Verdict(h, "fair", ("it has no history to compare with",))
    found = [
        *_record_reasons(each, options, h, used),
        *_season_reasons(each, h, used),
        *((text, False) for text in _year_reasons(each, h)),
        *_noise_reasons(each, h),
    ]
    if not found:
        return Verdict(h, "good", ())
    reasons = tuple(text for text, _ in found)
    is_poor = any(is_serious for _, is_serious in found) or len(found) > MOST_REASONS_OF_FAIR
    return Verdict(h, "poor" if is_poor else "fair", reasons)


def _record_reasons(
    each: LevelDiagnostics, options: FitOptions, h: int, used: list[int]
) -> Iterator[tuple[str, bool]]:
    """Too few observations, and seasons without deviation; a reason and whether it is a serious one."""
    fewest = int(each.fit.statistics.count[h, used].min())
    if fewest < max(options.min_observations, FEWEST_TO_TRUST):
        yield f"a season has only {fewest} observations", fewest < FEWEST_TO_TRUST
    still = int(np.count_nonzero(each.fit.std_m3s[h, used] == 0.0))
    if still:
        yield (
            f"the inflow of {still} of {len(used)} seasons does not vary",
            still > MOST_OUTSIDE * len(used),
        )


def _season_reasons(each: LevelDiagnostics, h: int, used: list[int]) -> Iterator[tuple[str, bool]]:
    for m, measure in enumerate(SEASON_MEASURES):
        outside = int(np.count_nonzero(each.seasons.is_outside[m, h, used]))
        if outside > MOST_OUTSIDE * len(used):
            yield SEASON_TEXTS[measure].format(n=outside, of=len(used)), measure in SERIOUS


def _noise_reasons(each: LevelDiagnostics, h: int) -> Iterator[tuple[str, bool]]:
    others = np.delete(each.pairs.is_outside[h], h)
    if len(others) and np.count_nonzero(others) > MOST_OUTSIDE * len(others):
        count = np.count_nonzero(others)
        yield f"the correlation with {count} of {len(others)} plants is not reproduced", False
    if each.ljung_box[1, h] < LEAST_P_VALUE:
        yield "what the lags leave unexplained is still correlated in time", False
    negative = float(each.negative_share[h])
    if negative > MOST_NEGATIVE:
        yield f"{100.0 * negative:.1f} % of synthetic inflows are negative", negative > MANY_NEGATIVE


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
