"""What the case says about randomness: statistics, lag coefficients, correlation, given scenarios."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from cobre.arrays import Floats, Indices
from cobre.core.representation import named_parts

EntityClass = Literal["inflow", "load", "ncs"]


@dataclass(frozen=True)
class HydroRows:
    """Rows of hydros in stages."""

    hydro: Indices
    stage_id: Indices


@dataclass(frozen=True)
class InflowStatistics(HydroRows):
    """Rows of mean and standard deviation, sorted by hydro and stage id; pre-study ids are negative."""

    mean_m3s: Floats
    std_m3s: Floats


@dataclass(frozen=True)
class LagCoefficients(HydroRows):
    """Rows of standardised autoregressive coefficients, sorted by hydro, stage id and lag (from 1)."""

    lag: Indices
    coefficient: Floats
    residual_std_ratio: Floats


@dataclass(frozen=True)
class AnnualComponent(HydroRows):
    """Rows of the PAR(p)-A term, sorted by hydro and stage id."""

    coefficient: Floats
    mean_m3s: Floats
    std_m3s: Floats


@dataclass(frozen=True, eq=False)
class InflowResiduals:
    """How the noise of inflows is distributed where it is not normal.

    ``vectors`` has for a bootstrap, by stage index, the standardised residuals of past years ``[year, hydro]``.
    """

    kind: Literal["lognormal", "lognormal_nonnegative", "bootstrap"]
    vectors: dict[int, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CorrelationGroup:
    """Entities whose noises move together."""

    name: str
    entities: tuple[tuple[EntityClass, int], ...]
    """Class and index of each entity, in the order of the matrix."""
    matrix: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Correlation:
    """Profiles of correlation groups, and which stage (by index) uses which profile."""

    profiles: dict[str, tuple[CorrelationGroup, ...]]
    default_profile: str
    profile_of_stage: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GivenOpenings:
    """A tree of noises supplied by the user, already correlated; rows sorted by stage, opening, entity."""

    stage: Indices
    opening: Indices
    entity: Indices
    value: Floats
    probability: Floats | None = None
    """Of the opening, in each of its rows; NaN where the openings of a stage are equally likely. None: they all are."""


@dataclass(frozen=True, eq=False)
class GivenScenarios:
    """Values supplied by the user, sorted by stage, scenario, entity."""

    stage: Indices
    scenario: Indices
    entity: Indices
    value: Floats


@dataclass(frozen=True, slots=True)
class PastInflows:
    """Inflows before the study, most recent first, for one hydro."""

    hydro: int
    values_m3s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class InflowObservation:
    """Mean inflow of one hydro from ``start_date`` until before ``end_date``, observed before the study."""

    hydro: int
    start_date: dt.date
    end_date: dt.date
    value_m3s: float


@dataclass(frozen=True, eq=False)
class InflowRecords:
    """Observed inflows, sorted by hydro and start: each is the mean over a window of days, counted from 1970-01-01.

    The end is exclusive; windows of one hydro do not overlap.
    """

    hydro: Indices
    start_day: Indices
    end_day: Indices
    value_m3s: Floats


@dataclass(frozen=True)
class Scenarios:
    """All of it; None where the case has no such file."""

    inflow: InflowStatistics
    lags: LagCoefficients
    annual: AnnualComponent | None = None
    residuals: InflowResiduals | None = None
    correlation: Correlation | None = None
    openings: GivenOpenings | None = None
    external_inflow: GivenScenarios | None = None
    external_load: GivenScenarios | None = None
    external_ncs: GivenScenarios | None = None
    history: InflowRecords | None = None
    external_sets_statistics: bool = False
    """Whether external scenarios set mean and deviation also where the case gives statistics (format 0.18)."""

    __repr__ = named_parts
