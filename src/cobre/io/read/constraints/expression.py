"""The text of a generic constraint: ``[coefficient *] variable(entity[, block])`` joined by ``+`` and ``-``."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

STAGE_VARIABLES = {"hydro_storage": "hydro", "hydro_evaporation": "hydro", "hydro_withdrawal": "hydro"}
BLOCK_VARIABLES = {
    "hydro_turbined": "hydro",
    "hydro_spillage": "hydro",
    "hydro_diversion": "hydro",
    "hydro_outflow": "hydro",
    "hydro_generation": "hydro",
    "thermal_generation": "thermal",
    "line_direct": "line",
    "line_reverse": "line",
    "line_exchange": "line",
    "bus_deficit": "bus",
    "bus_excess": "bus",
    "pumping_flow": "pumping station",
    "pumping_power": "pumping station",
    "contract_import": "contract",
    "contract_export": "contract",
    "non_controllable_generation": "non-controllable source",
    "non_controllable_curtailment": "non-controllable source",
}
VARIABLES = {**STAGE_VARIABLES, **BLOCK_VARIABLES}
"""Every variable a constraint may speak of, and the kind of entity it belongs to."""

_SIGN = re.compile(r"\s*([+-])\s*")
_TERM = re.compile(
    r"\s*(?:(?P<coefficient>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*\*\s*)?"
    r"(?P<variable>[A-Za-z_]\w*)\s*\(\s*(?P<entity>-?\d+)\s*(?:,\s*(?P<block>-?\d+)\s*)?\)\s*"
)


class Term(NamedTuple):
    """One summand, with ids as the planner wrote them."""

    coefficient: float
    variable: str
    entity_id: int
    block_id: int | None


class ExpressionError(ValueError):
    """The text is no such expression; ``part`` is the piece that could not be understood."""

    def __init__(self, message: str, part: str, remedy: str) -> None:
        super().__init__(message)
        self.part = part
        self.remedy = remedy


def parse_expression(text: str) -> tuple[Term, ...]:
    """The terms in the order written.

    >>> parse_expression("2.5 * thermal_generation(5) - hydro_turbined(3, 0)")[1]
    Term(coefficient=-1.0, variable='hydro_turbined', entity_id=3, block_id=0)
    """
    terms: list[Term] = []
    position, end = 0, len(text)
    while position < end or not terms:
        sign, position = _read_sign(text, position, is_first=not terms)
        found = _TERM.match(text, position)
        if found is None:
            part = text[position:].strip()
            message = f"cannot read {part[:40]!r}" if part else "ends where a term should follow"
            raise ExpressionError(
                message, part, "write terms like 2.5 * hydro_generation(3) joined by + or -"
            )
        terms.append(_term(sign, found))
        position = found.end()
    return tuple(terms)


def _read_sign(text: str, position: int, *, is_first: bool) -> tuple[float, int]:
    found = _SIGN.match(text, position)
    if found is None:
        if is_first:
            return 1.0, position
        part = text[position:].strip()
        raise ExpressionError(f"has no + or - before {part[:40]!r}", part, "join terms by + or -")
    return (-1.0 if found[1] == "-" else 1.0), found.end()


def _term(sign: float, found: re.Match[str]) -> Term:
    name, block = found["variable"], found["block"]
    if name not in VARIABLES:
        raise ExpressionError(
            f"names the unknown variable {name!r}", name, f"use one of {', '.join(VARIABLES)}"
        )
    if name in STAGE_VARIABLES and block is not None:
        raise ExpressionError(
            f"gives a block to {name}, which belongs to the whole stage", found[0].strip(), "remove the block"
        )
    coefficient = sign * float(found["coefficient"] or 1.0)
    if not math.isfinite(coefficient):
        raise ExpressionError(
            "has a coefficient that is not finite", found[0].strip(), "give a finite number"
        )
    return Term(coefficient, name, int(found["entity"]), None if block is None else int(block))
