"""The table of generic constraints as they were understood, below ``generic_constraints``."""

from __future__ import annotations

from cobre.core.outputs import Column, identifier, number, table

RESOLVED_CONSTRAINTS = table(
    "resolved_echo",
    (
        identifier("stage_id", "id of the stage in stages.json"),
        identifier("block_id", "block of the stage", is_nullable=True),
        identifier("constraint_id", "id of the generic constraint"),
        Column("constraint_name", "str", "", "its name"),
        identifier("term_index", "term of the expression, counted from 0", is_nullable=True),
        Column("variable_kind", "str", "", "what the term is about", is_nullable=True),
        Column("variable", "str", "", "the same with entity and block", is_nullable=True),
        number("coefficient", "", "factor of the term", is_nullable=True),
        number("bound_lower", "", "least value of the expression", is_nullable=True),
        number("bound_upper", "", "greatest value of the expression", is_nullable=True),
        Column("derived_shape", "str", "", "floor, cap, band or equality, by the bounds"),
        Column("slack_enabled", "bool", "", "whether the constraint may be violated at a price"),
        number("slack_penalty", "$/h", "price of one unit of violation during one hour", is_nullable=True),
    ),
)
"""One row per constraint, stage, block and term."""
