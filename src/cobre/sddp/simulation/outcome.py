"""What the solves of one stage say, for a group of simulated scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.core.energy import EnergyConversion
from cobre.sddp.subproblem import StageProblem
from cobre.sddp.subproblem.builder import ABSENT
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver import BatchOutput

Scalar = TypeVar("Scalar", bound=np.generic)
Fact = TypeVar("Fact")

FEW_SCENARIOS = 16
"""For fewer a loop over columns takes longer than one call that adds up the rows; the sums are the same."""


@dataclass(frozen=True, eq=False)
class Places:
    """Columns of a stage's program, some of which it may lack."""

    columns: Indices
    present: Indices | None
    """The columns, 0 for those that are absent; None if all are."""
    is_absent: NDArray[np.bool_] | None
    """None if no column is absent."""
    prices: Floats
    """Cost of each column in the objective."""

    @classmethod
    def of(cls, columns: Indices, costs: Floats) -> Places:
        is_absent = columns == ABSENT
        present = np.where(is_absent, 0, columns)
        return cls(
            columns,
            None if is_absent.all() else present,
            is_absent if is_absent.any() else None,
            costs[present],
        )


@dataclass(frozen=True, eq=False)
class Reported:
    """Columns of a table that are columns of a stage's program, all taken out of a solution at once."""

    columns: Indices
    """Of the program, 0 for those that the stage lacks: the rows of one column of the table after those of another."""
    is_absent: NDArray[np.bool_] | None
    """None if no column is absent."""
    rows: dict[str, slice]
    """Where the rows of each column of the table are in `columns`."""
    zeros: dict[str, Floats]
    """``[row]``: columns of the table for which the stage has nothing at all."""

    @classmethod
    def of(cls, columns: Mapping[str, Indices]) -> Reported:
        """From the program's column in each row of each column of the table; any shape, read row by row."""
        found = {name: each.ravel() for name, each in columns.items() if (each != ABSENT).any()}
        zeros = {name: np.zeros(each.size) for name, each in columns.items() if name not in found}
        ends = np.cumsum([len(each) for each in found.values()]).tolist()
        rows = {
            name: slice(end - len(each), end) for (name, each), end in zip(found.items(), ends, strict=True)
        }
        together = np.concatenate([*found.values(), np.empty(0, dtype=np.int64)])
        is_absent = together == ABSENT
        present = np.where(is_absent, 0, together)
        return cls(present, is_absent if is_absent.any() else None, rows, zeros)


@dataclass(frozen=True, eq=False)
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

    def hours_of_rows(self, n_entities: int) -> Floats:
        """``[row]``: of a table that has a row for each of so many entities and each block."""
        if n_entities not in self._hours_of_rows:
            self._hours_of_rows[n_entities] = np.tile(self.hours, n_entities)
        return self._hours_of_rows[n_entities]

    @cached_property
    def _hours_of_rows(self) -> dict[int, Floats]:
        return {}

    @cached_property
    def _facts(self) -> dict[Callable[[StageView], Any], Any]:
        return {}

    @cached_property
    def _places(self) -> dict[int, Places]:
        return {}

    def places(self, columns: Indices) -> Places:
        """What is known of ``columns``, which must be an array of `problem`: found once and kept."""
        if id(columns) not in self._places:
            self._places[id(columns)] = Places.of(columns, self.problem.template.column_cost)
        return self._places[id(columns)]

    def once(self, find: Callable[[StageView], Fact]) -> Fact:
        """``find(self)``, computed for the first chunk of scenarios and kept for the others."""
        if find not in self._facts:
            self._facts[find] = find(self)
        fact: Fact = self._facts[find]
        return fact


@dataclass(frozen=True, eq=False)
class StageOutcome:
    """``n`` solves of one stage. Rows of every array are scenarios.

    In memory scenarios lie next to each other: NumPy then works on few long vectors instead of many short ones, and
    what is computed from such arrays lies in memory alike.
    """

    view: StageView
    parameters: Floats
    """``[n, parameter]``: incoming state and what nature gave, inflows clamped."""
    objective: Floats
    primal: Floats
    """``[n, column]``."""
    dual: Floats
    """``[n, row]`` of the program without its cuts."""
    node_ids: NDArray[np.int32] | None = None
    """``[n]``: of a policy graph, the node that each scenario is in."""

    @classmethod
    def of_zeros(cls, view: StageView) -> StageOutcome:
        """One scenario in which everything is 0: it shows which columns of the tables depend on the scenario."""
        template = view.problem.template
        parameters = np.zeros((1, template.patches.n_parameters))
        return cls(
            view, parameters, np.zeros(1), np.zeros((1, template.n_columns)), np.zeros((1, template.n_rows))
        )

    @classmethod
    def joined(
        cls, view: StageView, parts: Sequence[tuple[Any, Floats, BatchOutput, Floats]], n: int
    ) -> StageOutcome:
        """Of groups of the ``n`` scenarios: their rows, parameters and solves; the last entry is not looked at."""
        if len(parts) == 1:
            return cls.of(view, parts[0][1], parts[0][2])
        groups = [cls.of(view, parameters, batch) for _, parameters, batch, _ in parts]
        found = [np.empty((n, *field.shape[1:])) for field in groups[0].arrays()]
        for (rows, *_), group in zip(parts, groups, strict=True):
            for whole, part in zip(found, group.arrays(), strict=True):
                whole[rows] = part
        return cls(view, *found)

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Everything that has one row per scenario."""
        return self.parameters, self.objective, self.primal, self.dual

    @classmethod
    def of(cls, view: StageView, parameters: Floats, batch: BatchOutput) -> StageOutcome:
        """From solves that wrote all columns and rows."""
        if batch.primal is None or batch.dual is None:
            raise ValueError("the batch has no primal and dual values\n  fix: allocate it with solution=True")
        return cls(
            view,
            np.asfortranarray(parameters),
            batch.objective,
            np.asfortranarray(batch.primal),
            np.asfortranarray(batch.dual),
        )

    def __len__(self) -> int:
        return len(self.objective)

    def values(self, columns: Indices) -> Floats:
        """``[n, *columns.shape]`` of the solution; 0 where the stage has no such column."""
        places = self.view.places(columns)
        if places.present is None:
            return np.broadcast_to(0.0, (len(self), *columns.shape))
        found = taken(self.primal, places.present)
        if places.is_absent is not None:
            found[:, places.is_absent] = 0.0
        return found

    def duals(self, rows: Indices) -> Floats:
        """``[n, *rows.shape]``: what one unit more on the right-hand side costs."""
        return taken(self.dual, rows)

    def reported(self, reported: Reported) -> dict[str, NDArray[Any]]:
        """The columns of a table: ``[n, row]`` of the solution, or ``[row]`` of zeros where the stage has none."""
        found = taken(self.primal, reported.columns)
        if reported.is_absent is not None:
            found[:, reported.is_absent] = 0.0
        return {**reported.zeros, **{name: found[:, rows] for name, rows in reported.rows.items()}}

    @cached_property
    def _found(self) -> dict[Callable[[StageOutcome], Any], Any]:
        return {}

    def once(self, find: Callable[[StageOutcome], Fact]) -> Fact:
        """``find(self)``, computed for the first table that asks and kept for the others."""
        if find not in self._found:
            self._found[find] = find(self)
        fact: Fact = self._found[find]
        return fact

    def charges(self, columns: Indices) -> Floats:
        """``[n, *columns.shape]``: cost of each of these columns in the objective."""
        return self.values(columns) * self.view.places(columns).prices


def taken(values: NDArray[Scalar], places: Indices) -> NDArray[Scalar]:
    """``[n, *places.shape]``: these columns of ``values [n, column]``, scenarios next to each other in memory."""
    found = values.T[places]
    return found.transpose(found.ndim - 1, *range(found.ndim - 1))


def zeros(n: int, *shape: int) -> Floats:
    """``[n, *shape]``, scenarios next to each other in memory."""
    return np.zeros((*shape, n)).transpose(len(shape), *range(len(shape)))


def sum_in_order(terms: Floats) -> Floats:
    """``[n]``: the sum of each row, from left to right.

    Never pairwise: how NumPy pairs terms depends on the shape of the whole array, and so on how scenarios are grouped.
    """
    if not terms.shape[1]:
        return np.zeros(len(terms))
    if len(terms) < FEW_SCENARIOS:
        return np.ascontiguousarray(np.add.accumulate(terms, axis=1)[:, -1])
    if terms.flags.f_contiguous:  # whole columns are added to each other, one after the other
        return np.asarray(np.add.reduce(terms.T, axis=0), dtype=np.float64)
    total = terms[:, 0].copy()
    for column in range(1, terms.shape[1]):
        total += terms[:, column]
    return total


def sum_of(parts: Sequence[Floats]) -> Floats:
    """``[n]``: the sum of arrays ``[n]``, or ``[1]`` where they are the same for all scenarios, in order."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def by_block(view: StageView, values: NDArray[Scalar]) -> NDArray[Scalar]:
    """``[..., entity, block]``: values ``[..., entity]`` of the whole stage, the same for each block."""
    return np.broadcast_to(values[..., np.newaxis], (*values.shape, view.n_blocks))
