"""The part of a case that one stage problem is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.entities import System
from cobre.core.horizon import HM3_PER_M3S_HOUR, Block, Stage
from cobre.core.tables import Tables
from cobre.sddp.subproblem.builder import ABSENT, Indices


@dataclass(frozen=True)
class StageScope:
    """A case seen from one stage; ``index`` is the column of the stage in the case's tables."""

    case: Case
    index: int

    @property
    def stage(self) -> Stage:
        return self.case.horizon.stages[self.index]

    @property
    def system(self) -> System:
        return self.case.system

    @property
    def tables(self) -> Tables:
        return self.case.tables

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.stage.blocks

    @property
    def is_last(self) -> bool:
        return self.index == self.case.horizon.n_stages - 1

    @cached_property
    def hours(self) -> NDArray[np.float64]:
        """Of each block."""
        return self.stage.block_hours

    @cached_property
    def block_hm3(self) -> NDArray[np.float64]:
        """Volume of one m3/s during each block."""
        return HM3_PER_M3S_HOUR * self.hours

    @property
    def stage_hm3(self) -> float:
        """Volume of one m3/s during the whole stage."""
        return HM3_PER_M3S_HOUR * self.stage.hours

    def at(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """This stage's column of an ``[entity, stage]`` table."""
        column: NDArray[np.float64] = table[:, self.index]
        return column

    def by_block(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """This stage's ``[entity, block]`` part of an ``[entity, stage-block]`` table."""
        part: NDArray[np.float64] = table[:, self.case.horizon.blocks_of(self.index)]
        return part

    def cost(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """``[entity, block]`` cost of one unit during a block, from a table of prices per hour."""
        return self.at(table)[:, None] * self.hours

    def stage_cost(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """``[entity]`` cost of one unit during the stage, from a table of prices per hour."""
        return self.at(table) * self.stage.hours

    @cached_property
    def downstream(self) -> Indices:
        """``[hydro]``: who receives its water by the river; -1 for the sea."""
        return _positions(h.downstream for h in self.system.hydros)

    @cached_property
    def diversion_target(self) -> Indices:
        """``[hydro]``: who receives its diverted water; -1 without a canal."""
        return _positions(h.diversion.downstream if h.diversion else None for h in self.system.hydros)


def _positions(values: Iterable[int | None]) -> Indices:
    return np.array([ABSENT if value is None else value for value in values], dtype=np.int64)
