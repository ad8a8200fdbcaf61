"""Where the inflow model of a study comes from, and how long it took to make the study ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["user_file", "estimated", "n/a"]
EstimationPath = Literal[
    "deterministic",
    "user_stats_white_noise",
    "user_provided_no_history",
    "full_estimation",
    "partial_estimation",
    "user_ar_history_stats",
    "user_provided_all",
]


@dataclass(frozen=True)
class InflowProvenance:
    """What the case gave and what was fitted to its inflow history, in words of the public Cobre."""

    estimation_path: EstimationPath
    seasonal_stats_source: Source
    ar_coefficients_source: Source
    correlation_source: Source
    opening_tree_source: Source
    """``estimated``: drawn from the model."""
    ar_method: str | None
    """How orders were selected; None where no coefficients were fitted."""
    ar_max_order: int | None


@dataclass(frozen=True)
class SetupSeconds:
    """Wall time of reading a case and of what is fitted on the way."""

    load: float
    """Reading and checking, without the fits."""
    stochastic_fit: float
    production_fit: float
    evaporation_fit: float
