"""How lagged inflows move from one stage to the next.

A lag is the mean inflow of one *period* of the seasonal calendar: a month in a monthly cycle, a week in a weekly
one, a season in a custom one. Where every stage is one whole period, each stage shifts the lags: its inflow z becomes
lag 1, lag 1 becomes lag 2. Where a period has several stages (the weeks of a month), the lags stand still until the
last of them, and then lag 1 becomes the mean of the period, weighted by days; what has been gathered of it so far is
kept in one more component, the *accumulator*, behind the lags.

So every outgoing component is an incoming one, or none, plus a weight times z::

    out[k] = in[source[t, k]] + weight[t, k] z          (without the first term where source is -1)

A cut over the outgoing state must use these very expressions, or it would price a state that the forward pass never
reaches. `LagTransition.is_plain_shift` says that they are the simple ones: outgoing lag 1 is z, outgoing lag l is
incoming lag l - 1, in every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import SeasonDefinitions, Stage
from cobre.stochastic.periods import WHOLE_PERIOD, Share, period_shares

__all__ = ["LagTransition"]


@dataclass(frozen=True, slots=True, eq=False)
class LagTransition:
    """The map of every stage: ``source`` (stages, components) and ``weight`` (stages, components).

    Components are lags 1..n_lags, then the accumulator if ``has_accumulator``. ``observed_weight`` is the share of
    the first period that was observed before the study.
    """

    n_lags: int
    has_accumulator: bool
    source: NDArray[np.int64]
    weight: NDArray[np.float64]
    observed_weight: float = 0.0

    @classmethod
    def build(
        cls,
        stages: Sequence[Stage],
        n_lags: int,
        seasons: SeasonDefinitions | None = None,
        *,
        observed_days: int = 0,
    ) -> LagTransition:
        """The map for these stages. Without ``seasons`` every stage is a period of its own.

        ``observed_days`` of the first period lie before the study and are known for every hydro (the
        ``recent_observations``). Other days before the study do not count in the mean.
        """
        if n_lags == 0 or seasons is None:
            return cls._of(n_lags, [WHOLE_PERIOD] * len(stages))
        shares = period_shares(stages, seasons, observed_days)
        first_period = next(t for t, share in enumerate(shares) if share.is_last) + 1
        observed = 1.0 - sum(share.weight for share in shares[:first_period]) if observed_days else 0.0
        return cls._of(n_lags, shares, observed)

    @classmethod
    def _of(cls, n_lags: int, shares: Sequence[Share], observed: float = 0.0) -> LagTransition:
        has_accumulator = any(share != WHOLE_PERIOD for share in shares)
        n_components = n_lags + has_accumulator
        source = np.full((len(shares), n_components), -1, dtype=np.int64)
        weight = np.zeros((len(shares), n_components))
        for t, share in enumerate(shares if n_lags else ()):
            if not share.is_last:
                source[t] = np.arange(n_components)
                weight[t, n_lags] = share.weight
                continue
            source[t, 1:n_lags] = np.arange(n_lags - 1)
            weight[t, 0] = share.weight
            if has_accumulator:
                source[t, 0] = n_lags
                weight[t, n_lags] = share.spill
        return cls(n_lags, has_accumulator, source, weight, observed)

    @property
    def n_components(self) -> int:
        return int(self.source.shape[1])

    @property
    def is_plain_shift(self) -> bool:
        """Whether outgoing lag 1 is z and outgoing lag l incoming lag l - 1, in every stage."""
        return not self.has_accumulator

    def advance(
        self, stage: int, components: NDArray[np.float64], inflow_m3s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The outgoing components (..., components, hydros) of incoming ones and of inflows (..., hydros)."""
        rows = np.broadcast_shapes(components.shape[:-2], inflow_m3s.shape[:-1])
        outgoing = np.zeros((*rows, self.n_components, inflow_m3s.shape[-1]))
        for k in range(self.n_components):
            if self.source[stage, k] >= 0:
                outgoing[..., k, :] = components[..., self.source[stage, k], :]
            if self.weight[stage, k] != 0.0:
                outgoing[..., k, :] += self.weight[stage, k] * inflow_m3s
        return outgoing

    def initial(
        self, past_inflows_m3s: NDArray[np.float64], observed_m3s: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The components (components, hydros) at the start.

        ``past_inflows_m3s`` is (any number, hydros), most recent first; what it lacks is 0. ``observed_m3s`` (hydros)
        is the mean over the observed days of the first period.
        """
        start = np.zeros((self.n_components, past_inflows_m3s.shape[-1]))
        given = min(self.n_lags, len(past_inflows_m3s))
        start[:given] = past_inflows_m3s[:given]
        if self.has_accumulator and observed_m3s is not None:
            start[self.n_lags] = self.observed_weight * observed_m3s
        return start
