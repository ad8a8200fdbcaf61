"""Generic constraints: their texts as terms, their parameters as numbers, their bounds as rows."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from cobre.arrays import Floats
from cobre.core.energy import EnergyConversion
from cobre.core.entities import ConstraintTerm, GenericConstraint
from cobre.core.horizon import Horizon
from cobre.core.tables import ConstraintTables
from cobre.io.assemble.system import by_id, entity_indices
from cobre.io.read.columns import ABSENT
from cobre.io.read.constraints.expression import (
    STOCK_VARIABLES,
    VARIABLES,
    Expression,
    ExpressionError,
    Term,
    parse_expression,
)
from cobre.io.read.constraints.generic_constraints import GenericConstraintRecord
from cobre.io.read.constraints.generic_parameters import (
    BlockParameter,
    ComputedSpec,
    ConstantParameter,
    ParameterRecord,
    SeasonParameter,
    StageParameter,
)
from cobre.io.read.files import CaseFiles

WHOLE_STAGE = -1


def parse_constraint(files: CaseFiles, record: GenericConstraintRecord) -> Expression:
    """The expression of a constraint, named ones put in and lines that are named by their buses found."""
    named = {each.name: each.expression for each in files.generic_constraints.expressions}
    found = parse_expression(record.expression, named)
    return Expression(tuple(_with_line(files, term) for term in found.terms), found.constants, found.operator)


def _with_line(files: CaseFiles, term: Term) -> Term:
    if term.ends is None:
        return term
    between = [
        line
        for line in files.lines.lines
        if {line.source_bus_id, line.target_bus_id} == {*term.ends} and term.ends[0] != term.ends[1]
    ]
    if len(between) != 1:
        count = f"{len(between)} lines join" if between else "no line joins"
        raise ExpressionError(
            f"has {term}, but {count} the buses {term.ends[0]} and {term.ends[1]}",
            str(term),
            "name the line by its id",
        )
    (line,) = between
    sign = 1.0 if line.source_bus_id == term.ends[0] else -1.0
    return term._replace(coefficient=sign * term.coefficient, entity_id=line.id)


def build_constraints(
    files: CaseFiles, horizon: Horizon, energy: EnergyConversion
) -> tuple[list[GenericConstraint], ConstraintTables]:
    """The constraints and their rows; numbers that stand alone in a constraint have moved to its bounds."""
    records = by_id(files.generic_constraints.constraints)
    parsed = [parse_constraint(files, record) for record in records]
    parameters = by_id(files.generic_parameters.scalar_parameters)
    row_of = {each.name: row for row, each in enumerate(parameters)}
    values = _parameter_values(files, horizon, energy, parameters)
    index = entity_indices(files)
    constraints = [
        GenericConstraint(
            record.id,
            record.name,
            tuple(
                _term(term, index, row_of)
                for term in expression.terms
                if term.entity_id
                in index[VARIABLES[term.variable]]  # a contract that is not there counts as 0
            ),
            float(record.slack.penalty or 0.0) if record.slack.enabled else None,
        )
        for record, expression in zip(records, parsed, strict=True)
    ]
    varies = {each.name for each in parameters if isinstance(each, BlockParameter)}
    rows: list[tuple[int, int, int, float, float]] = []
    table = files.tables["constraint_bounds"]
    for row in range(len(table)):
        constraint = index["generic constraint"][int(table["constraint_id"][row])]
        stage = horizon.index_of[int(table["stage_id"][row])]
        block, expression = int(table["block_id"][row]), parsed[constraint]
        n_blocks = horizon.stages[stage].n_blocks
        if block != ABSENT:
            blocks = [block]
        elif files.generation.is_018 and _is_about_stocks(expression, varies):
            blocks = [WHOLE_STAGE]
        else:
            blocks = list(range(n_blocks))
        first = int(horizon.block_offsets[stage])
        for each in blocks:
            constant = _constant(expression, row_of, values, first + max(each, 0))
            given = (float(table["bound_lower"][row]), float(table["bound_upper"][row]))
            rows.append((constraint, stage, each, *resolved_bounds(expression.operator, constant, *given)))
    rows.sort()
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), (), ()]
    return constraints, ConstraintTables(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.float64),
        np.array(columns[4], np.float64),
        values,
    )


def resolved_bounds(operator: str | None, constant: float, lower: float, upper: float) -> tuple[float, float]:
    """Bounds of the terms, from those of a row (NaN where null) and what stands alone in the text, left minus right.

    An operator says which bound the text is about: there the row's number, 0 where it has none, is moved by the
    constant; the other bound is the row's as it is. Without an operator both are moved.

    >>> resolved_bounds("<=", -5.0, 1.0, math.nan)
    (1.0, 5.0)
    """
    low, high = (-math.inf if math.isnan(lower) else lower), (math.inf if math.isnan(upper) else upper)
    if operator is None:
        return low - constant, high - constant
    if operator in (">=", "=="):
        low = (0.0 if math.isnan(lower) else lower) - constant
    if operator in ("<=", "=="):
        high = (0.0 if math.isnan(upper) else upper) - constant
    return low, high


def _is_about_stocks(expression: Expression, varies: set[str]) -> bool:
    """Whether every variable exists once in a stage and no coefficient differs by block."""
    return all(term.variable in STOCK_VARIABLES and term.parameter not in varies for term in expression.terms)


def _constant(expression: Expression, row_of: Mapping[str, int], values: Floats, column: int) -> float:
    """What stands alone in the expression, left minus right."""
    return sum(
        each.value * (1.0 if each.parameter is None else float(values[row_of[each.parameter], column]))
        for each in expression.constants
    )


def _term(term: Term, index: Mapping[str, Mapping[int, int]], row_of: Mapping[str, int]) -> ConstraintTerm:
    return ConstraintTerm(
        term.coefficient,
        term.variable,
        index[VARIABLES[term.variable]][term.entity_id],
        term.block_id,
        None if term.parameter is None else row_of[term.parameter],
        None if term.bus_id is None else index["bus"][term.bus_id],
    )


def _parameter_values(
    files: CaseFiles, horizon: Horizon, energy: EnergyConversion, parameters: list[ParameterRecord]
) -> Floats:
    """``[parameter, stage-block]``."""
    values = np.zeros((len(parameters), horizon.n_stage_blocks))
    hydro = entity_indices(files)["hydro"]
    for row, each in enumerate(parameters):
        if isinstance(each, BlockParameter):
            for stage, block, value in each.block_values:
                values[row, int(horizon.block_offsets[stage]) + block] = value
            continue
        if isinstance(each, ConstantParameter):
            by_stage = np.full(horizon.n_stages, float(each.value))
        elif isinstance(each, StageParameter):
            by_stage = np.array([float(dict(each.values)[stage]) for stage in range(horizon.n_stages)])
        elif isinstance(each, SeasonParameter):
            of_season = dict(each.values)
            by_stage = np.array([float(of_season[stage.season_id or 0]) for stage in horizon.stages])
        else:
            by_stage = _computed(energy, each.computed_spec, hydro[each.computed_spec.hydro_id])
        values[row] = horizon.over_blocks(by_stage[np.newaxis])[0]
    return values


def _computed(energy: EnergyConversion, spec: ComputedSpec, hydro: int) -> Floats:
    """``[stage]``: a number that follows from the data of a hydro."""
    n_stages = energy.reference_volume_hm3.shape[1]
    tables = {
        "equivalent_productivity": energy.equivalent_productivity,
        "accumulated_productivity": energy.accumulated_productivity,
        "reference_volume": energy.reference_volume_hm3,
        "reference_turbine": energy.reference_turbined_m3s,
        "specific_productivity": energy.specific_productivity,
        "integrated_equivalent_productivity": energy.integrated_productivity,
        "integrated_accumulated_productivity": energy.integrated_accumulated_productivity,
        "max_stored_energy": energy.max_stored_energy,
        "min_storage": np.repeat(energy.min_storage_hm3[:, np.newaxis], n_stages, axis=1),
        "max_storage": np.repeat(energy.max_storage_hm3[:, np.newaxis], n_stages, axis=1),
    }
    found: Floats = tables[spec.tag][hydro]
    return found
