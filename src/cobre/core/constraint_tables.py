"""The table of generic constraints as they were understood, below ``generic_constraints``."""

from __future__ import annotations

from cobre.core.outputs import table

RESOLVED_CONSTRAINTS = table(
    "resolved_echo",
    """
        stage_id         i32   id of the stage in stages.json
        block_id         i32?  block of the stage
        constraint_id    i32   id of the generic constraint
        constraint_name  str   its name
        term_index       i32?  term of the expression, counted from 0
        variable_kind    str?  what the term is about
        variable         str?  the same with entity and block
        coefficient      -?    factor of the term
        bound_lower      -?    least value of the expression
        bound_upper      -?    greatest value of the expression
        derived_shape    str   floor, cap, band or equality, by the bounds
        slack_enabled    bool  whether the constraint may be violated at a price
        slack_penalty    $/h?  price of one unit of violation during one hour
    """,
)
"""One row per constraint, stage, block and term."""
