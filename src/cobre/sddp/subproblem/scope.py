"""The part of a case that one stage problem is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.core.case import Case
from cobre.core.entities import System
from cobre.core.horizon import HM3_PER_M3S_HOUR, Block, Stage
from cobre.core.tables import Tables
from cobre.sddp.subproblem.builder import ABSENT

FILLING, OPERATING = 1, 2


@dataclass(frozen=True, eq=False)
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
    def hours(self) -> Floats:
        """Of each block."""
        return self.stage.block_hours

    @cached_property
    def block_hm3(self) -> Floats:
        """Volume of one m3/s during each block."""
        return HM3_PER_M3S_HOUR * self.hours

    @property
    def stage_hm3(self) -> float:
        """Volume of one m3/s during the whole stage."""
        return HM3_PER_M3S_HOUR * self.stage.hours

    @property
    def is_chronological(self) -> bool:
        return self.stage.is_chronological

    @property
    def periods(self) -> tuple[tuple[Block, ...], ...]:
        """The axis of water balances: one period for each block of a chronological stage, otherwise no axis at all."""
        return (self.blocks,) if self.is_chronological else ()

    @cached_property
    def period_hm3(self) -> Floats:
        """Volume of one m3/s during each period of the water balance: a block, or the whole stage."""
        return self.block_hm3 if self.is_chronological else np.array([self.stage_hm3])

    @cached_property
    def period_hours(self) -> Floats:
        return self.hours if self.is_chronological else np.array([self.stage.hours])

    @cached_property
    def block_of_period(self) -> Indices:
        """``[period]``: the block whose storages are those of the period."""
        return np.arange(self.period_hm3.size)

    def per_period(self, values: NDArray[Any]) -> NDArray[Any]:
        """``values [hydro, period]`` in the shape of columns and rows with the axes hydros and `periods`."""
        return values if self.is_chronological else values[:, 0]

    @cached_property
    def period_of_block(self) -> Indices:
        """``[block]``: the period of the water balance that it belongs to."""
        n = len(self.blocks)
        return np.arange(n) if self.is_chronological else np.zeros(n, dtype=np.int64)

    def at(self, table: Floats) -> Floats:
        """This stage's column of an ``[entity, stage]`` table."""
        column: Floats = table[:, self.index]
        return column

    def by_block(self, table: Floats) -> Floats:
        """This stage's ``[entity, block]`` part of an ``[entity, stage-block]`` table."""
        part: Floats = table[:, self.case.horizon.blocks_of(self.index)]
        return part

    def limit(self, table: Floats) -> Floats:
        """``[entity, block]`` of a limit or price that may differ by block."""
        if table.shape[1] != self.case.horizon.n_stages:
            return self.by_block(table)
        return np.repeat(self.at(table)[:, None], len(self.blocks), axis=1)

    def cost(self, table: Floats) -> Floats:
        """``[entity, block]`` cost of one unit during a block, from a table of prices per hour."""
        return self.at(table)[:, None] * self.hours

    def stage_cost(self, table: Floats) -> Floats:
        """``[entity]`` cost of one unit during the stage, from a table of prices per hour."""
        return self.at(table) * self.stage.hours

    @cached_property
    def hydro_states(self) -> NDArray[np.int8]:
        """``[hydro]``: codes of `cobre.core.tables.OperationTables`."""
        states = self.tables.operation.hydro
        if states is None:
            return np.full(len(self.system.hydros), OPERATING, dtype=np.int8)
        column: NDArray[np.int8] = states[:, self.index]
        return column

    @property
    def is_present(self) -> NDArray[np.bool_]:
        """``[hydro]``: whether it holds water back; the others let all of it pass."""
        present: NDArray[np.bool_] = (self.hydro_states == FILLING) | (self.hydro_states == OPERATING)
        return present

    @property
    def operates(self) -> NDArray[np.bool_]:
        """``[hydro]``: whether its turbines run."""
        operates: NDArray[np.bool_] = self.hydro_states == OPERATING
        return operates

    @cached_property
    def receiver(self) -> Indices:
        """``[hydro]``: itself, or the first plant below that is present; -1 if there is none."""
        below = _positions(h.downstream for h in self.system.hydros)
        found = np.arange(below.size)
        for h in range(below.size):
            while found[h] != ABSENT and not self.is_present[found[h]]:
                found[h] = below[found[h]]
        return found

    def passing(self, starts: Iterable[int | None], site: int) -> list[int]:
        """Hydros whose water, from where ``starts`` says it goes first, comes by a site before a plant holds it."""
        found = []
        for hydro, start in enumerate(starts):
            at = start
            while at is not None and at != site and not self.is_present[at]:
                at = self.system.hydros[at].downstream
            if at == site:
                found.append(hydro)
        return found

    @cached_property
    def downstream(self) -> Indices:
        """``[hydro]``: who receives its water by the river; -1 for the sea."""
        return self._received(_positions(h.downstream for h in self.system.hydros))

    @cached_property
    def diversion_target(self) -> Indices:
        """``[hydro]``: who receives its diverted water; -1 without a canal or if it leaves the system."""
        return self._received(
            _positions(h.diversion.downstream if h.diversion else None for h in self.system.hydros)
        )

    def _received(self, hydros: Indices) -> Indices:
        return np.where(hydros == ABSENT, ABSENT, self.receiver[hydros] if self.receiver.size else hydros)

    @cached_property
    def cell_hydro(self) -> Indices:
        """``[cell]``: the hydro of each cell."""
        return np.array([cell.hydro for cell in self.system.cells], dtype=np.int64)

    @cached_property
    def cell_bus(self) -> Indices:
        """``[cell]``: the bus of each cell."""
        return np.array([cell.bus for cell in self.system.cells], dtype=np.int64)


def _positions(values: Iterable[int | None]) -> Indices:
    return np.array([ABSENT if value is None else value for value in values], dtype=np.int64)
