"""What is shown of the gap between the lower bound and the cost of the policy."""

from __future__ import annotations

from cobre.core.wording import percent
from cobre.sddp.gap import GapEstimate

__all__ = ["gap_column", "gap_sentence"]

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
        return f"not shown: {NOT_SHOWN[estimate.status]}"
    if estimate.half_width == 0.0:  # the cost is exact
        return gap_column(estimate)
    if estimate.status == "within":
        return f"{gap_column(estimate)} with 95 % confidence: the lower bound lies within the interval"
    return f"{gap_column(estimate)}: the lower bound is not yet within the interval"
