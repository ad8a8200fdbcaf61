"""Time: stages, their blocks, seasons, discounting and risk measures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.core.digest import LATER
from cobre.core.entities import Entity
from cobre.core.graph import PolicyGraph
from cobre.core.representation import counted

HM3_PER_M3S_HOUR = 0.0036
"""One cubic metre per second during one hour, in cubic hectometres."""

SamplingMethod = Literal[
    "saa", "lhs", "qmc_sobol", "qmc_sobol_lms", "qmc_halton", "selective", "historical_residuals"
]
CycleType = Literal["monthly", "weekly", "custom"]


@dataclass(frozen=True, slots=True)
class Block(Entity):
    """A share of a stage's hours with a load level of its own."""

    hours: float


@dataclass(frozen=True, slots=True)
class RiskMeasure:
    """``(1 - weight) * expectation + weight * CVaR``, the CVaR being the mean of the dearest share ``tail``.

    ``weight = 0`` or ``tail = 1`` is the plain expectation.
    """

    weight: float = 0.0
    tail: float = 1.0

    @property
    def is_expectation(self) -> bool:
        return self.weight == 0.0 or self.tail == 1.0


class OwnRiskMeasure(Protocol):
    """A coherent risk measure that a program defines, in the place of a `RiskMeasure`."""

    @property
    def is_expectation(self) -> bool:
        """Whether it is the plain expectation."""
        ...

    def opening_weights(self, costs: Any, probabilities: Any) -> Any:
        """Probabilities ``[point, opening]`` under which the expectation of ``costs`` is their risk."""
        ...


@dataclass(frozen=True, slots=True)
class Season:
    """One period of the yearly cycle; months and days are inclusive."""

    id: int
    label: str
    month_start: int
    day_start: int | None = None
    month_end: int | None = None
    day_end: int | None = None


@dataclass(frozen=True, slots=True)
class SeasonDefinitions:
    """The calendar that turns dates into seasons."""

    cycle_type: CycleType
    seasons: tuple[Season, ...]


@dataclass(frozen=True, slots=True)
class PreStudyStage:
    """A stage before the study, known only through the statistics that lags refer to. Its id is negative."""

    id: int
    start_date: dt.date
    end_date: dt.date
    season_id: int | None = None


@dataclass(frozen=True)
class Stage:
    """One decision period. ``end_date`` is exclusive; block hours may differ a little from the dates."""

    id: int
    start_date: dt.date
    end_date: dt.date
    blocks: tuple[Block, ...]
    n_openings: int
    season_id: int | None = None
    risk: RiskMeasure | OwnRiskMeasure = field(default_factory=RiskMeasure)
    sampling_method: SamplingMethod = "saa"
    discount: float = 1.0
    """Factor that brings the cost of the next stage to this one."""
    season_year: int | None = None
    """Year in which the stage's occurrence of its season begins; None: the year of ``start_date``."""
    is_chronological: bool = field(default=False, metadata=LATER)
    """Whether its blocks follow one another, with a storage between them; otherwise they are parallel."""

    @property
    def n_blocks(self) -> int:
        return len(self.blocks)

    @cached_property
    def block_hours(self) -> NDArray[np.float64]:
        return np.array([block.hours for block in self.blocks])

    @property
    def hours(self) -> float:
        """All hours of the stage, added in block order."""
        return sum(block.hours for block in self.blocks)

    @property
    def days(self) -> int:
        return (self.end_date - self.start_date).days


@dataclass(frozen=True, slots=True)
class PostStudyStage:
    """A stage after the study, for water and commitments that are under way as it ends."""

    start_date: dt.date
    hours: float
    discount: float = 1.0
    """Factor that brings the cost of the next stage to this one."""


@dataclass(frozen=True)
class Horizon:
    """The stages in order, and how dates map to seasons."""

    stages: tuple[Stage, ...]
    pre_study_stages: tuple[PreStudyStage, ...] = ()
    season_definitions: SeasonDefinitions | None = None
    graph: PolicyGraph | None = field(default=None, metadata=LATER)
    """None: the stages are a chain."""
    post_study: tuple[PostStudyStage, ...] = field(default=(), metadata=LATER)

    def __repr__(self) -> str:
        if not self.stages:
            return "<Horizon without stages>"
        dates = f"{self.stages[0].start_date} to {self.stages[-1].end_date}"
        return f"<Horizon of {counted(self.n_stages, 'stage')}, {dates}>"

    @property
    def n_stages(self) -> int:
        return len(self.stages)

    @cached_property
    def policy_graph(self) -> PolicyGraph:
        """The graph, also of a chain."""
        return PolicyGraph.chain(self.n_stages) if self.graph is None else self.graph

    @cached_property
    def block_offsets(self) -> NDArray[np.int64]:
        """Where each stage's blocks begin in arrays that have one column per (stage, block)."""
        return np.concatenate(([0], np.cumsum([stage.n_blocks for stage in self.stages]))).astype(np.int64)

    @property
    def n_stage_blocks(self) -> int:
        return int(self.block_offsets[-1])

    def blocks_of(self, stage: int) -> slice:
        """Columns of stage index ``stage`` in arrays over (stage, block)."""
        return slice(int(self.block_offsets[stage]), int(self.block_offsets[stage + 1]))

    def over_blocks(self, table: NDArray[Any]) -> NDArray[Any]:
        """``[entity, stage-block]``: the value of each stage in all of its blocks; such a table as it is."""
        if table.shape[1] != self.n_stages:
            return table
        return np.repeat(table, [stage.n_blocks for stage in self.stages], axis=1)

    @cached_property
    def index_of(self) -> dict[int, int]:
        """Stage id to stage index."""
        return {stage.id: index for index, stage in enumerate(self.stages)}


def discount_factor(annual_rate: float, days: float) -> float:
    """Value today of one unit after ``days`` days; exactly 1 at rate 0."""
    return 1.0 if annual_rate == 0.0 else (1.0 + annual_rate) ** (-days / 365.25)


def cumulative_discounts(stages: Sequence[Stage]) -> NDArray[np.float64]:
    """Factor that brings each stage's cost to the first stage, multiplied in stage order."""
    factors = np.ones(len(stages))
    for index in range(1, len(stages)):
        factors[index] = factors[index - 1] * stages[index - 1].discount
    return factors
