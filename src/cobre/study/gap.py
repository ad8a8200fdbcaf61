"""What is shown of the gap between the lower bound and the cost of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cobre.core.wording import percent
from cobre.sddp.gap import GapEstimate

__all__ = ["gap_column", "gap_sentence", "recorded_gap", "why_not_shown"]

NOT_SHOWN = {
    "one_trajectory": "one trajectory says nothing about the mean cost",
    "above": "the sample is too small, its costs lie below the lower bound",
    "risk_adjusted": "the lower bound is risk-adjusted, the mean cost is not",
    "other_scenarios": "trajectories do not follow the openings that the lower bound is about",
}


def gap_column(estimate: GapEstimate | None) -> str:
    """A few characters for a table: a gap, a limit that it is below, or a dash.

    >>> gap_column(GapEstimate("within", 100.0, 5.0, 40, 5, None, 0.034)), gap_column(None)
    ('<3.40%', '-')
    """
    if estimate is None or estimate.largest_gap is None:
        return "-"
    return percent(estimate.gap) if estimate.gap is not None else f"<{percent(estimate.largest_gap)}"


def gap_sentence(estimate: GapEstimate) -> str:
    """The same for people, with what it means."""
    if estimate.status in NOT_SHOWN:
        return why_not_shown(estimate.status)
    if estimate.half_width == 0.0:  # the cost is exact
        return gap_column(estimate)
    if estimate.status == "within" and estimate.largest_gap is not None:
        limit = percent(estimate.largest_gap)
        return f"below {limit} with 95 % confidence: the lower bound lies within the interval"
    return f"{gap_column(estimate)}: the lower bound is not yet within the interval"


def why_not_shown(status: str) -> str:
    """For people, of an estimate without a gap.

    >>> why_not_shown("one_trajectory")
    'not shown: one trajectory says nothing about the mean cost'
    """
    return f"not shown: {NOT_SHOWN.get(status, status)}"


def recorded_gap(facts: Mapping[str, Any] | None) -> GapEstimate | None:
    """The estimate that an event or a metadata file holds; None in those of early versions, which have none."""
    return GapEstimate(**facts) if facts else None
