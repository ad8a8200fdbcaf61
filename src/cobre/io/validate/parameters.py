"""Checks of generic constraints of 0.18: bounds of rows, parameters and named expressions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.io.assemble.constraints import parse_constraint, resolved_bounds
from cobre.io.problems import Place, Problems
from cobre.io.read.constraints.expression import Expression, ExpressionError
from cobre.io.read.constraints.generic_constraints import GenericConstraintRecord
from cobre.io.read.constraints.generic_parameters import (
    BlockParameter,
    ComputedParameter,
    ParameterRecord,
    SeasonParameter,
    StageParameter,
)
from cobre.io.read.files import CaseFiles
from cobre.io.validate.naming import called, listed

PARAMETERS, CONSTRAINTS = "constraints/generic_parameters.json", "constraints/generic_constraints.json"


def check_constraint_rows(files: CaseFiles, problems: Problems) -> None:
    """Report rows without a bound and rows whose bounds contradict each other."""
    table = files.tables["constraint_bounds"]
    low, high, is_compared = _with_inline_bounds(files)
    for row in np.flatnonzero(
        np.isnan(table["bound_lower"]) & np.isnan(table["bound_upper"]) & ~is_compared
    ).tolist():
        problems.error(
            "OutOfRange",
            table.at(row, "bound_lower", None),
            "has neither bound_lower nor bound_upper",
            "give one of them, or remove the row",
            rule="referential.4",
        )
    for row in np.flatnonzero(low > high).tolist():
        problems.error(
            "OutOfRange",
            table.at(row, "bound_lower", float(low[row])),
            f"bound_lower = {low[row]:g} is above bound_upper = {high[row]:g}",
            "exchange them, or correct the one that is wrong",
            rule="referential.5",
        )


def _with_inline_bounds(files: CaseFiles) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """By row: lower and upper bound with the numbers in the text, and whether the text compares two sides.

    Parameters that stand alone are left out: what they are depends on the stage.
    """
    table = files.tables["constraint_bounds"]
    texts: dict[int, Expression] = {}
    for constraint in files.generic_constraints.constraints:
        with contextlib.suppress(ExpressionError):
            texts[constraint.id] = parse_constraint(files, constraint)
    low, high = np.full(len(table), -np.inf), np.full(len(table), np.inf)
    is_compared = np.zeros(len(table), dtype=bool)
    for row in range(len(table)):
        text = texts.get(int(table["constraint_id"][row]), Expression(()))
        given = (float(table["bound_lower"][row]), float(table["bound_upper"][row]))
        is_compared[row] = text.operator is not None
        if all(each.parameter is None for each in text.constants):
            constant = sum(each.value for each in text.constants)
            low[row], high[row] = resolved_bounds(text.operator, constant, *given)
    return low, high, is_compared


def check_parameters(files: CaseFiles, problems: Problems) -> None:
    """Report parameters that are not known where they are used, or that lack values."""
    parameters = files.generic_parameters.scalar_parameters
    names = [each.name for each in parameters]
    expressions = {each.name for each in files.generic_constraints.expressions}
    for name in sorted({name for name in names if names.count(name) > 1 or name in expressions}):
        problems.error(
            "DuplicateId",
            Place(PARAMETERS, f"parameter {name}", "name", name),
            f"the name {name!r} is given twice, to parameters or to a parameter and an expression",
            "give each parameter and expression its own name",
            rule="scalar_parameters.C",
        )
    for each in parameters:
        _check_values(files, each, problems)
    _warn_of_energy_times_productivity(files, problems)
    for constraint, used in _used_names(files):
        for name in sorted(used):
            if name not in names and PARAMETERS not in files.damaged | files.unusable:
                problems.error(
                    "MissingReference",
                    Place(CONSTRAINTS, called("generic constraint", constraint), "expression", name),
                    f"the expression names @{name}, which is neither a parameter nor an expression",
                    f"add it to {PARAMETERS}, or use one of {listed(sorted({*names, *expressions})) or 'none'}",
                    rule="scalar_parameters.A",
                )


def _used_names(files: CaseFiles) -> Iterator[tuple[GenericConstraintRecord, set[str]]]:
    """Constraints whose expression can be read, with the names of parameters and expressions in it."""
    for constraint in files.generic_constraints.constraints:
        try:
            parsed = parse_constraint(files, constraint)
        except ExpressionError:
            continue
        names = {term.parameter for term in parsed.terms} | {each.parameter for each in parsed.constants}
        yield constraint, {name for name in names if name is not None}


def _warn_of_energy_times_productivity(files: CaseFiles, problems: Problems) -> None:
    """Stored energy has the productivities below in it already; a constraint with both may count them twice."""
    tags = {
        each.name: each.computed_spec.tag
        for each in files.generic_parameters.scalar_parameters
        if isinstance(each, ComputedParameter)
    }
    for constraint, used in _used_names(files):
        if {"max_stored_energy", "accumulated_productivity"} <= {tags.get(name) for name in used}:
            problems.warn(
                "IncompatibleSettings",
                Place(
                    CONSTRAINTS, called("generic constraint", constraint), "expression", constraint.expression
                ),
                "has max_stored_energy and accumulated_productivity: the former has integrated productivities",
                "use integrated_accumulated_productivity with max_stored_energy, if the two are compared",
                rule="5a.51",
            )


def _check_values(files: CaseFiles, each: ParameterRecord, problems: Problems) -> None:
    stages = sorted(files.stages.stages, key=lambda stage: stage.id)
    field = "values"
    given: Sequence[object] = ()
    wanted: Sequence[object] = ()
    if isinstance(each, StageParameter):
        given, wanted = [pair[0] for pair in each.values], list(range(len(stages)))
    elif isinstance(each, SeasonParameter):
        wanted = sorted({stage.season_id for stage in stages if stage.season_id is not None})
        given = [season for season in sorted({pair[0] for pair in each.values}) if season in wanted]
    elif isinstance(each, BlockParameter):
        field = "block_values"
        given = [(stage, block) for stage, block, _ in each.block_values]
        wanted = [(index, block.id) for index, stage in enumerate(stages) for block in stage.blocks]
    twice = sorted({each for each in given if given.count(each) > 1}, key=repr)
    if twice:
        kind, rule, shown = "DuplicateId", "scalar_parameters.C", twice
        what, remedy = f"two values for {listed(twice)}", "keep one of them"
    elif sorted(map(repr, given)) != sorted(map(repr, wanted)) and "stages.json" not in files.damaged:
        kind, rule, shown = "SchemaViolation", "scalar_parameters.B", list(given)
        what = f"values for {listed(given) or 'nothing'} where {listed(wanted)} are required"
        remedy = "give every one of them one value; stages are counted from 0 in their order"
    else:
        return
    problems.error(
        kind,
        Place(PARAMETERS, f"parameter {each.id} ({each.name})", field, [str(place) for place in shown[:8]]),
        f"{each.kind} has {what}",
        remedy,
        rule=rule,
    )
