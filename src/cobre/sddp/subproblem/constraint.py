"""Generic constraints: a planner's own linear relations between decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cobre.arrays import Indices, Ints
from cobre.core.entities import ConstraintTerm, GenericConstraint
from cobre.errors import ValidationError
from cobre.sddp.subproblem.builder import ABSENT, LpBuilder
from cobre.sddp.subproblem.layout import (
    CommitmentColumns,
    ConstraintColumns,
    HydroColumns,
    NetworkColumns,
    ParameterLayout,
    StateColumns,
    TransitColumns,
)
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope
from cobre.sddp.subproblem.transit import Rivers
from cobre.solver import Target

WHOLE_STAGE = -1
"""In place of a block: the row exists once in the stage."""
STOCKS = (
    "hydro_storage",
    "hydro_storage_initial",
    "hydro_storage_final",
    "hydro_useful_volume_initial",
    "hydro_useful_volume_final",
)
"""Variables that are about the ends of the stage unless they name a block."""


@dataclass
class Expression:
    """``sum factor * column + sum factor * parameter + constant``."""

    columns: list[tuple[int, float]] = field(default_factory=list)
    parameters: list[tuple[int, float]] = field(default_factory=list)
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What the variable names of a constraint mean in one stage.

    Of each stage it means: storages and withdrawal; of each block all else. Evaporation is that of the stage, or of the
    block where blocks are chronological; there a storage may name the block before or after which it is meant.
    """

    scope: StageScope
    parameters: ParameterLayout
    state: StateColumns
    hydro: HydroColumns
    network: NetworkColumns
    rivers: Rivers
    transit: TransitColumns
    commitment: CommitmentColumns

    def add(self, expression: Expression, term: ConstraintTerm, block: int) -> None:
        """Adds ``term`` to ``expression``; ``block`` holds where the term names none."""
        where = block if term.block is None else term.block
        if term.block is None and term.variable in STOCKS:
            where = WHOLE_STAGE
        factor = term.coefficient
        if term.parameter is not None:
            values = self.scope.by_block(self.scope.tables.constraint.parameters)[term.parameter]
            factor *= float(values[max(block, 0)])
        if term.bus is not None:
            _add_cells(self, expression, term, factor, where)
        else:
            MEANINGS[term.variable](self, expression, factor, term.entity, where)


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


def _add_cells(
    words: Vocabulary, expression: Expression, term: ConstraintTerm, factor: float, block: int
) -> None:
    """The flow or power of the units at one bus."""
    scope = words.scope
    for cell in np.flatnonzero((scope.cell_hydro == term.entity) & (scope.cell_bus == term.bus)).tolist():
        if term.variable == "hydro_turbined":
            expression.columns.append((int(words.hydro.turbined[cell, block]), factor))
        else:
            power = float(words.hydro.generation_factor[cell])
            expression.columns.append((int(words.hydro.generation[cell, block]), factor * power))


def _turbined(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    for cell in np.flatnonzero(words.scope.cell_hydro == entity).tolist():
        expression.columns.append((int(words.hydro.turbined[cell, block]), factor))


def _outflow(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    _turbined(words, expression, factor, entity, block)
    expression.columns.append((int(words.hydro.spillage[entity, block]), factor))


def _inflow(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    """What reaches the plant in the block except pumped water: inflows, releases and diversions.

    Through a plant that is not there the same water flows on; it reaches the site all the same.
    """
    scope = words.scope
    canals = [h.diversion.downstream if h.diversion else None for h in scope.system.hydros]
    for source in scope.passing(range(len(canals)), entity):
        expression.columns.append((int(words.state.inflow[source]), factor))
    for above in scope.passing([h.downstream for h in scope.system.hydros], entity):
        if not words.rivers.is_delayed[above]:
            _outflow(words, expression, factor, above, block)
    _arrivals(words, expression, factor, entity, block)
    for above in scope.passing(canals, entity):
        expression.columns.append((int(words.hydro.diversion[above, block]), factor))


def _arrivals(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    """Of rivers that take time: what was released in this stage and arrives in the block, and before this stage."""
    rivers, transit = words.rivers, words.rivers.transit
    if not transit.arcs:
        return
    passing = words.scope.passing(transit.rings, entity)
    for arc, shares in zip(transit.arcs, rivers.flow_shares(), strict=True):
        if transit.ring_of(arc) in passing:
            for released in np.flatnonzero(shares[:, block]).tolist():
                _outflow(words, expression, factor * float(shares[released, block]), arc.source, released)
    for ring, rates in enumerate(rivers.arrival_rates()):
        if ring in passing and transit.depth[ring]:
            column = int(words.transit.incoming[transit.starts[ring]])
            expression.columns.append((column, factor * float(rates[block])))


def _decision(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    """What the stage decides for a later one; nothing where it decides nothing."""
    column = int(words.commitment.decision[entity])
    if column != ABSENT:
        expression.columns.append((column, factor))


def _storage(*, is_final: bool, is_useful: bool = False) -> Meaning:
    """A storage at an end of the stage, or of the named block; a useful one without the plant's own lowest."""

    def add(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
        state = words.state
        if block == WHOLE_STAGE:
            columns = state.storage if is_final else state.incoming_storage
        else:
            columns = (state.storage_after if is_final else state.storage_before)[:, block]
        expression.columns.append((int(columns[entity]), factor))
        if is_useful:
            expression.constant -= factor * words.scope.system.hydros[entity].min_storage_hm3

    return add


def _evaporation(words: Vocabulary, expression: Expression, factor: float, entity: int, block: int) -> None:
    """Of the block, or the mean of the stage."""
    scope, columns = words.scope, words.hydro.evaporation[entity]
    if block != WHOLE_STAGE:
        expression.columns.append((int(columns[scope.period_of_block[block]]), factor))
        return
    shares = scope.period_hours / scope.stage.hours if scope.is_chronological else np.ones(1)
    expression.columns.extend((int(c), factor * float(w)) for c, w in zip(columns, shares, strict=True))


def _hydro_generation(
    words: Vocabulary, expression: Expression, factor: float, entity: int, block: int
) -> None:
    for cell in np.flatnonzero(words.scope.cell_hydro == entity).tolist():
        power = float(words.hydro.generation_factor[cell])
        expression.columns.append((int(words.hydro.generation[cell, block]), factor * power))


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
    "hydro_storage": _storage(is_final=True),
    "hydro_storage_initial": _storage(is_final=False),
    "hydro_storage_final": _storage(is_final=True),
    "hydro_useful_volume_initial": _storage(is_final=False, is_useful=True),
    "hydro_useful_volume_final": _storage(is_final=True, is_useful=True),
    "hydro_evaporation": _evaporation,
    "anticipated_decision": _decision,
    "hydro_withdrawal": _hydro_withdrawal,
    "hydro_turbined": _turbined,
    "hydro_spillage": _columns(lambda words: words.hydro.spillage),
    "hydro_diversion": _columns(lambda words: words.hydro.diversion),
    "hydro_outflow": _outflow,
    "hydro_inflow": _inflow,
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
    labels = _labels(scope, constraint, block)
    penalty = np.array([c.slack_penalty or 0.0 for c in chosen])
    is_soft = np.array([c.slack_penalty is not None for c in chosen], dtype=np.bool_)
    hours = np.where(block == WHOLE_STAGE, scope.stage.hours, scope.hours[block]) if active.size else penalty
    lower, upper = table.lower[active], table.upper[active]
    limits_above, limits_below = np.isfinite(upper), np.isfinite(lower)
    above = lp.add_columns("constraint_above", labels, cost=penalty * hours, where=is_soft & limits_above)
    below = lp.add_columns("constraint_below", labels, cost=penalty * hours, where=is_soft & limits_below)

    expressions = list(_expressions(words, chosen, block))
    constant = np.array([expression.constant for expression in expressions])
    lower, upper = lower - constant, upper - constant
    rows = lp.add_rows("constraint", labels, lower=lower, upper=upper)
    for row, low, high, expression in zip(rows, lower, upper, expressions, strict=True):
        _add_row(lp, int(row), float(low), float(high), expression)
    lp.add_terms(rows, above, -1.0)
    lp.add_terms(rows, below, 1.0)
    return rows, ConstraintColumns(constraint, block, above, below)


def _labels(scope: StageScope, constraint: Indices, block: Indices) -> list[str]:
    """Names of rows; a constraint may have several rows in a block."""
    names, blocks = labels_of(scope.system.generic_constraints), labels_of(scope.blocks)
    seen: dict[str, int] = {}
    labels = []
    for c, k in zip(constraint.tolist(), block.tolist(), strict=True):
        label = names[c] if k == WHOLE_STAGE else f"{names[c]},{blocks[k]}"
        seen[label] = seen.get(label, 0) + 1
        labels.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    return labels


def _add_row(lp: LpBuilder, row: int, lower: float, upper: float, terms: Expression) -> None:
    if terms.columns:
        lp.add_terms(row, [column for column, _ in terms.columns], [factor for _, factor in terms.columns])
    if not terms.parameters:
        return
    targets = (
        [(Target.ROW_EQUAL, lower)]
        if lower == upper
        else [
            (target, bound)
            for target, bound in ((Target.ROW_LOWER, lower), (Target.ROW_UPPER, upper))
            if np.isfinite(bound)
        ]
    )
    for target, bound in targets:
        lp.patch(
            target,
            row,
            [source for source, _ in terms.parameters],
            offset=[bound] + [0.0] * (len(terms.parameters) - 1),
            factor=[-factor for _, factor in terms.parameters],
        )


def _expressions(
    words: Vocabulary, constraints: list[GenericConstraint], blocks: Ints
) -> Iterator[Expression]:
    n_blocks = len(words.scope.blocks)
    for constraint, block in zip(constraints, blocks.tolist(), strict=True):
        expression = Expression()
        for term in constraint.terms:
            if term.block is not None and term.block >= n_blocks:
                what = f"which has {n_blocks} block(s)"
                remedy = "give the constraint bounds only in stages that have the block"
                raise _no_such_block(words.scope, constraint, term, "refers to", what, remedy)
            if term.block is not None and term.variable in STOCKS and not words.scope.is_chronological:
                asks, what = f"asks for {term.variable} of", "whose blocks are parallel"
                remedy = "leave the block out, or give the constraint bounds only in chronological stages"
                raise _no_such_block(words.scope, constraint, term, asks, what, remedy)
            words.add(expression, term, block)
        yield expression


def _no_such_block(
    scope: StageScope, constraint: GenericConstraint, term: ConstraintTerm, asks: str, what: str, remedy: str
) -> ValidationError:
    stage = scope.stage.id
    return ValidationError(
        f"generic constraint {constraint.name!r} {asks} block {term.block} in stage {stage}, {what}",
        kind="StageMismatch",
        context={"constraint": constraint.id, "stage": stage, "block": term.block},
        suggestion=remedy,
    )
