"""Generic constraints: a planner's own linear relations between decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre.core.entities import ConstraintTerm, GenericConstraint
from cobre.errors import ValidationError
from cobre.sddp.subproblem.builder import INFINITY, Indices, LpBuilder
from cobre.sddp.subproblem.layout import (
    ConstraintColumns,
    HydroColumns,
    NetworkColumns,
    ParameterLayout,
    StateColumns,
)
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver import Target

TARGETS = {"<=": Target.ROW_UPPER, ">=": Target.ROW_LOWER, "==": Target.ROW_EQUAL}


@dataclass
class Expression:
    """``sum factor * column + sum factor * parameter + constant``."""

    columns: list[tuple[int, float]] = field(default_factory=list)
    parameters: list[tuple[int, float]] = field(default_factory=list)
    constant: float = 0.0


@dataclass(frozen=True)
class Vocabulary:
    """What the variable names of a constraint mean in one stage.

    Of each stage it means: hydro storage at the end, evaporation and withdrawal; of each block all else.
    """

    scope: StageScope
    parameters: ParameterLayout
    state: StateColumns
    hydro: HydroColumns
    network: NetworkColumns

    def add(self, expression: Expression, term: ConstraintTerm, block: int) -> None:
        """Adds ``term`` to ``expression``; ``block`` holds where the term names none."""
        meaning = MEANINGS[term.variable]
        meaning(self, expression, term.coefficient, term.entity, block if term.block is None else term.block)


Meaning = Callable[[Vocabulary, Expression, float, int, int], None]


def _columns(*columns: Callable[[Vocabulary], Indices]) -> Meaning:
    """The sum of the given columns, each ``[entity]`` or ``[entity, block]``."""

    def add(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
        for choose in columns:
            chosen = choose(words)[entity]
            expression.columns.append((int(chosen if chosen.ndim == 0 else chosen[block]), factor))

    return add


def _hydro_withdrawal(
    words: Vocabulary, expression: Expression, factor: float, entity: int, block: int
) -> None:
    expression.constant += factor * float(words.scope.at(words.scope.tables.hydro.withdrawal_m3s)[entity])
    expression.columns.append((int(words.hydro.withdrawal_above[entity]), factor))
    expression.columns.append((int(words.hydro.withdrawal_below[entity]), -factor))


def _hydro_generation(
    words: Vocabulary, expression: Expression, factor: float, entity: int, block: int
) -> None:
    power = float(words.hydro.generation_factor[entity])
    expression.columns.append((int(words.hydro.generation[entity, block]), factor * power))


def _line_exchange(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    expression.columns.append((int(words.network.line_direct[entity, block]), factor))
    expression.columns.append((int(words.network.line_reverse[entity, block]), -factor))


def _bus_deficit(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    segments = np.flatnonzero(words.network.deficit_bus == entity)
    expression.columns.extend((int(column), factor) for column in words.network.deficit[segments, block])


def _pumping_power(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    rate = words.scope.system.pumping_stations[entity].consumption_mw_per_m3s
    expression.columns.append((int(words.network.pumping[entity, block]), factor * rate))


def _contract(is_import: bool) -> Meaning:
    def add(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
        if words.scope.system.contracts[entity].is_import == is_import:
            expression.columns.append((int(words.network.contract[entity, block]), factor))

    return add


def _curtailment(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    share = float(words.scope.by_block(words.scope.tables.non_controllable.factor)[entity, block])
    expression.parameters.append((words.parameters.available.start + entity, factor * share))
    expression.columns.append((int(words.network.non_controllable[entity, block]), -factor))


MEANINGS: dict[str, Meaning] = {
    "hydro_storage": _columns(lambda words: words.state.storage),
    "hydro_evaporation": _columns(lambda words: words.hydro.evaporation),
    "hydro_withdrawal": _hydro_withdrawal,
    "hydro_turbined": _columns(lambda words: words.hydro.turbined),
    "hydro_spillage": _columns(lambda words: words.hydro.spillage),
    "hydro_diversion": _columns(lambda words: words.hydro.diversion),
    "hydro_outflow": _columns(lambda words: words.hydro.turbined, lambda words: words.hydro.spillage),
    "hydro_generation": _hydro_generation,
    "thermal_generation": _columns(lambda words: words.network.thermal),
    "line_direct": _columns(lambda words: words.network.line_direct),
    "line_reverse": _columns(lambda words: words.network.line_reverse),
    "line_exchange": _line_exchange,
    "bus_deficit": _bus_deficit,
    "bus_excess": _columns(lambda words: words.network.excess),
    "pumping_flow": _columns(lambda words: words.network.pumping),
    "pumping_power": _pumping_power,
    "contract_import": _contract(is_import=True),
    "contract_export": _contract(is_import=False),
    "non_controllable_generation": _columns(lambda words: words.network.non_controllable),
    "non_controllable_curtailment": _curtailment,
}
"""Every variable that a constraint may name."""


def add_generic_constraints(lp: LpBuilder, words: Vocabulary) -> tuple[Indices, ConstraintColumns]:
    """Rows ``[active]`` and their violations, for each constraint and block that has a bound in this stage."""
    scope, table = words.scope, words.scope.tables.constraint
    active = np.flatnonzero(table.stage == scope.index)
    constraint, block = table.constraint[active], table.block[active]
    chosen = [scope.system.generic_constraints[c] for c in constraint]
    names, blocks = labels_of(scope.system.generic_constraints), labels_of(scope.blocks)
    labels = [f"{names[c]},{blocks[k]}" for c, k in zip(constraint, block, strict=True)]
    penalty = np.array([c.slack_penalty or 0.0 for c in chosen])
    is_soft = np.array([c.slack_penalty is not None for c in chosen], dtype=np.bool_)
    cost = penalty * scope.hours[block] if active.size else penalty
    limits_above = np.array([c.sense != ">=" for c in chosen], dtype=np.bool_)
    limits_below = np.array([c.sense != "<=" for c in chosen], dtype=np.bool_)
    above = lp.add_columns("constraint_above", labels, cost=cost, where=is_soft & limits_above)
    below = lp.add_columns("constraint_below", labels, cost=cost, where=is_soft & limits_below)

    expressions = list(_expressions(words, chosen, block))
    bound = table.bound[active] - np.array([expression.constant for expression in expressions])
    rows = lp.add_rows(
        "constraint",
        labels,
        lower=np.where(limits_below, bound, -INFINITY),
        upper=np.where(limits_above, bound, INFINITY),
    )
    for row, one, limit, expression in zip(rows, chosen, bound, expressions, strict=True):
        _add_row(lp, int(row), one, float(limit), expression)
    lp.add_terms(rows, above, -1.0)
    lp.add_terms(rows, below, 1.0)
    return rows, ConstraintColumns(constraint, block, above, below)


def _add_row(lp: LpBuilder, row: int, constraint: GenericConstraint, bound: float, terms: Expression) -> None:
    if terms.columns:
        lp.add_terms(row, [column for column, _ in terms.columns], [factor for _, factor in terms.columns])
    if terms.parameters:
        lp.patch(
            TARGETS[constraint.sense],
            row,
            [source for source, _ in terms.parameters],
            offset=[bound] + [0.0] * (len(terms.parameters) - 1),
            factor=[-factor for _, factor in terms.parameters],
        )


def _expressions(
    words: Vocabulary, constraints: list[GenericConstraint], blocks: NDArray[np.int64]
) -> Iterator[Expression]:
    n_blocks = len(words.scope.blocks)
    for constraint, block in zip(constraints, blocks.tolist(), strict=True):
        expression = Expression()
        for term in constraint.terms:
            if term.block is not None and term.block >= n_blocks:
                raise ValidationError(
                    f"generic constraint {constraint.name!r} refers to block {term.block} in stage "
                    f"{words.scope.stage.id}, which has {n_blocks} block(s)",
                    kind="StageMismatch",
                    context={"constraint": constraint.id, "stage": words.scope.stage.id, "block": term.block},
                    suggestion="give the constraint bounds only in stages that have the block",
                )
            words.add(expression, term, block)
        yield expression
