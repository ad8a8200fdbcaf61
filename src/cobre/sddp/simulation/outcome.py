"""What the solves of one stage say, for a group of simulated scenarios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cobre.core.energy import EnergyConversion
from cobre.sddp.subproblem import StageProblem
from cobre.sddp.subproblem.builder import ABSENT, Indices
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver import BatchOutput

Floats = NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class StageView:
    """A stage as the tables of a simulation see it: its data and where its quantities are in the program."""

    scope: StageScope
    problem: StageProblem
    discount_factor: float
    """Brings a cost of this stage to the first one."""
    n_inflow_lags: int
    """Lags that the inflow model has; the state may hold more."""
    energy: EnergyConversion
    """Of the whole case."""

    @property
    def n_blocks(self) -> int:
        return len(self.scope.blocks)

    @cached_property
    def hours(self) -> Floats:
        return self.scope.hours

    @cached_property
    def _facts(self) -> dict[Callable[[StageView], Any], Any]:
        return {}

    def once(self, find: Callable[[StageView], Fact]) -> Fact:
        """``find(self)``, computed for the first chunk of scenarios and kept for the others."""
        if find not in self._facts:
            self._facts[find] = find(self)
        fact: Fact = self._facts[find]
        return fact


@dataclass(frozen=True)
class StageOutcome:
    """``n`` solves of one stage. Rows of every array are scenarios."""

    view: StageView
    parameters: Floats
    """``[n, parameter]``: incoming state and what nature gave, inflows clamped."""
    objective: Floats
    primal: Floats
    """``[n, column]``."""
    dual: Floats
    """``[n, row]`` of the program without its cuts."""

    @classmethod
    def of(cls, view: StageView, parameters: Floats, batch: BatchOutput) -> StageOutcome:
        """From solves that wrote all columns and rows."""
        if batch.primal is None or batch.dual is None:
            raise ValueError("the batch has no primal and dual values\n  fix: allocate it with solution=True")
        return cls(view, parameters, batch.objective, batch.primal, batch.dual)

    def __len__(self) -> int:
        return len(self.objective)

    def values(self, columns: Indices) -> Floats:
        """``[n, *columns.shape]`` of the solution; 0 where the stage has no such column."""
        is_absent = columns == ABSENT
        if not is_absent.any():
            return np.take(self.primal, columns, axis=1)
        if is_absent.all():
            return np.zeros((len(self), *columns.shape))
        return np.where(is_absent, 0.0, np.take(self.primal, np.where(is_absent, 0, columns), axis=1))

    def duals(self, rows: Indices) -> Floats:
        """``[n, *rows.shape]``: what one unit more on the right-hand side costs."""
        return np.take(self.dual, rows, axis=1)

    def charges(self, columns: Indices) -> Floats:
        """``[n, *columns.shape]``: cost of each of these columns in the objective."""
        prices = self.view.problem.template.column_cost[np.where(columns == ABSENT, 0, columns)]
        return self.values(columns) * prices


def sum_in_order(terms: Floats) -> Floats:
    """``[n]``: the sum of each row, from left to right.

    Never pairwise: how NumPy pairs terms depends on the shape of the whole array, and so on how scenarios are grouped.
    """
    if not terms.shape[1]:
        return np.zeros(len(terms))
    total: Floats = np.add.accumulate(terms, axis=1)[:, -1]
    return total


def by_block(view: StageView, values: NDArray[Scalar]) -> NDArray[Scalar]:
    """``[..., entity, block]``: values ``[..., entity]`` of the whole stage, repeated for each block."""
    if view.n_blocks == 1:
        return values[..., np.newaxis]
    return np.repeat(values[..., np.newaxis], view.n_blocks, axis=-1)
