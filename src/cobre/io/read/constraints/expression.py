"""The text of a generic constraint: terms joined by ``+`` and ``-``, on one side or on both sides of an operator.

A term is a product: ``[number *] [@parameter *] variable(entity[, block][, bus=id])``, ``[number *] @expression`` or
``[number *] (terms)``. Numbers and parameters may also stand alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cobre.errors import UnusableInput

STOCK_VARIABLES = {
    "hydro_storage": "hydro",
    "hydro_storage_initial": "hydro",
    "hydro_storage_final": "hydro",
    "hydro_useful_volume_initial": "hydro",
    "hydro_useful_volume_final": "hydro",
    "hydro_evaporation": "hydro",
    "anticipated_decision": "thermal",
}
"""Variables that a stage has once; a constraint about them alone has one row in a stage."""
STAGE_VARIABLES = {**STOCK_VARIABLES, "hydro_withdrawal": "hydro"}
UNDIVIDED_VARIABLES = ("hydro_withdrawal", "anticipated_decision")
"""Variables that never have a block; storages and evaporation have one where blocks are chronological."""
BLOCK_VARIABLES = {
    "hydro_turbined": "hydro",
    "hydro_spillage": "hydro",
    "hydro_diversion": "hydro",
    "hydro_outflow": "hydro",
    "hydro_inflow": "hydro",
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
BUS_VARIABLES = ("hydro_turbined", "hydro_generation")
"""Variables that may be about the units at one bus."""
ENDS_VARIABLE = "line_exchange"
"""The variable whose line may be named by its buses."""
MOST_TERMS = 100_000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|@(?P<reference>[A-Za-z_]\w*)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<operator><=|>=|==)|(?P<mark>[-+*(),=]))"
)


class Term(NamedTuple):
    """One summand, with ids as the planner wrote them."""

    coefficient: float
    variable: str
    entity_id: int
    block_id: int | None = None
    parameter: str | None = None
    bus_id: int | None = None
    ends: tuple[int, int] | None = None
    """Buses of the line, source and target, where it is named by them; the entity is -1 then."""

    def __str__(self) -> str:
        inside = f"source_bus={self.ends[0]}, target_bus={self.ends[1]}" if self.ends else f"{self.entity_id}"
        block = "" if self.block_id is None else f", {self.block_id}"
        bus = "" if self.bus_id is None else f", bus={self.bus_id}"
        return f"{self.variable}({inside}{block}{bus})"


class Constant(NamedTuple):
    """A number, times a parameter where there is one."""

    value: float
    parameter: str | None = None


@dataclass(frozen=True)
class Expression:
    """Left side minus right side, in the order written."""

    terms: tuple[Term, ...]
    constants: tuple[Constant, ...] = ()
    operator: str | None = None


class ExpressionError(UnusableInput):
    """The text is no such expression; ``value`` is the piece that could not be understood."""


def parse_expression(text: str, expressions: Mapping[str, str] | None = None) -> Expression:
    """What the text says; ``expressions`` are the texts of named ones, and any other name is a parameter's.

    >>> parse_expression("2.5 * thermal_generation(5) - hydro_turbined(3, 0)").terms[1]
    Term(coefficient=-1.0, variable='hydro_turbined', entity_id=3, block_id=0, parameter=None, bus_id=None, ends=None)
    """
    reader = _Reader(text, expressions or {}, ())
    found, operator = reader.whole()
    if not found.terms:
        raise ExpressionError(
            "has no variable", text.strip(), "name at least one variable, as in hydro_storage(3)"
        )
    return Expression(tuple(found.terms), tuple(found.constants), operator)


@dataclass
class _Sum:
    terms: list[Term] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)

    def add(self, other: _Sum, factor: float, parameter: str | None, part: str) -> None:
        """Add ``factor * parameter * other``."""
        for term in other.terms:
            self.terms.append(
                term._replace(
                    coefficient=factor * term.coefficient, parameter=_one(term.parameter, parameter, part)
                )
            )
        for value in other.constants:
            self.constants.append(Constant(factor * value.value, _one(value.parameter, parameter, part)))
        if len(self.terms) > MOST_TERMS:
            raise ExpressionError(f"has more than {MOST_TERMS} terms", part, "split the constraint")


def _one(first: str | None, second: str | None, part: str) -> str | None:
    if first is not None and second is not None:
        raise ExpressionError(
            f"multiplies the parameters @{first} and @{second}",
            part,
            "use one parameter per term; write their product as a parameter of its own",
        )
    return first if second is None else second


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str, expressions: Mapping[str, str], inside: tuple[str, ...]) -> None:
        self.text = text
        self.expressions = expressions
        self.inside = inside
        self.position = 0
        self.kind, self.value = "", ""
        self._next()

    def whole(self) -> tuple[_Sum, str | None]:
        """The whole text: one side, or two with an operator between them."""
        found, operator = self.side(), None
        if self.kind == "operator":
            operator = self.value
            self._next()
            found.add(self.side(), -1.0, None, self.text)
        if self.kind != "end":
            if self.kind == "operator":
                raise self._error("has a second operator", "use one of <=, >=, ==, once")
            raise self._error(f"has no + or - before {self._rest()!r}", "join terms by + or -")
        return found, operator

    def side(self) -> _Sum:
        """Terms joined by signs."""
        found = _Sum()
        sign = -1.0 if self._take("-") else 1.0
        if sign > 0.0:
            self._take("+")
        while True:
            start = self.position
            value, factor, parameter = self._product()
            found.add(value, sign * factor, parameter, self.text[start - 1 :].strip())
            if self._take("+"):
                sign = 1.0
            elif self._take("-"):
                sign = -1.0
            else:
                return found

    def _product(self) -> tuple[_Sum, float, str | None]:
        factor, parameter = 1.0, None
        value: _Sum | None = None
        while True:
            if self.kind == "number":
                factor *= float(self.value)
                if not math.isfinite(factor):
                    raise self._error("has a coefficient that is not finite", "give a finite number")
                self._next()
            elif self.kind == "reference" and self.value not in self.expressions:
                parameter = _one(parameter, self.value, self._rest())
                self._next()
            elif (value is None and self.kind in ("reference", "word")) or self._is("("):
                if value is not None:
                    raise self._error("multiplies two sums", "multiply a sum by numbers only")
                value = self._factor()
            else:
                part = self._rest()
                message = f"cannot read {part!r}" if part else "ends where a term should follow"
                raise self._error(message, "write terms like 2.5 * hydro_generation(3) joined by + or -")
            if not self._take("*"):
                break
        return (_Sum(constants=[Constant(1.0)]) if value is None else value), factor, parameter

    def _factor(self) -> _Sum:
        if self._take("("):
            found = self.side()
            if not self._take(")"):
                raise self._error("lacks a closing parenthesis", "close every parenthesis")
            return found
        if self.kind == "reference":
            name = self.value
            if name in self.inside:
                circle = " -> ".join((*self.inside, name))
                raise self._error(f"calls expressions in a circle: {circle}", "let no expression call itself")
            self._next()
            inner = _Reader(self.expressions[name], self.expressions, (*self.inside, name))
            found, operator = inner.whole()
            if operator is not None:
                raise self._error(
                    f"calls @{name}, which has an operator", "write operators in constraints only"
                )
            return found
        return _Sum([self._variable()])

    def _variable(self) -> Term:
        start, name = self.position - len(self.value), self.value
        self._next()
        if not self._is("("):
            raise self._error(
                f"cannot read {name!r}", "write terms like 2.5 * hydro_generation(3) joined by + or -"
            )
        if name not in VARIABLES:
            raise ExpressionError(
                f"names the unknown variable {name!r}", name, f"use one of {', '.join(VARIABLES)}"
            )
        self._next()
        numbers, named = self._arguments()
        part = self.text[start : self.position].strip()
        return _term(name, numbers, named, part)

    def _arguments(self) -> tuple[list[int], dict[str, int]]:
        numbers: list[int] = []
        named: dict[str, int] = {}
        while True:
            if self.kind == "word":
                key = self.value
                self._next()
                if not self._take("="):
                    raise self._error(f"cannot read {key!r}", "write names as in bus=3")
                named[key] = self._whole_number()
            else:
                numbers.append(self._whole_number())
            if self._take(")"):
                return numbers, named
            if not self._take(","):
                raise self._error(f"cannot read {self._rest()!r}", "separate arguments by commas")

    def _whole_number(self) -> int:
        sign = -1 if self._take("-") else 1
        if self.kind != "number" or not self.value.isdigit():
            raise self._error(f"has {self._rest()!r} where an id is wanted", "write ids as whole numbers")
        value = sign * int(self.value)
        self._next()
        return value

    def _is(self, mark: str) -> bool:
        return self.kind == "mark" and self.value == mark

    def _take(self, mark: str) -> bool:
        if self._is(mark):
            self._next()
            return True
        return False

    def _next(self) -> None:
        self.start = self.position
        if not self.text[self.position :].strip():
            self.kind, self.value, self.position = "end", "", len(self.text)
            return
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:
            part = self.text[self.position :].strip()[:40]
            raise ExpressionError(
                f"cannot read {part!r}", part, "write terms like 2.5 * hydro_generation(3) joined by + or -"
            )
        self.kind, self.value, self.position = found.lastgroup, found[found.lastgroup], found.end()

    def _rest(self) -> str:
        return self.text[self.start :].strip()[:40]

    def _error(self, message: str, remedy: str) -> ExpressionError:
        return ExpressionError(message, self._rest(), remedy)


def _term(name: str, numbers: list[int], named: dict[str, int], part: str) -> Term:
    def refuse(message: str, remedy: str) -> ExpressionError:
        return ExpressionError(message, part, remedy)

    ends = None
    if name == ENDS_VARIABLE and {"source_bus", "target_bus"} <= set(named):
        ends = (named.pop("source_bus"), named.pop("target_bus"))
        numbers = [-1, *numbers]
    bus = named.pop("bus", None)
    block = named.pop("block", None)
    if named or (bus is not None and name not in BUS_VARIABLES):
        wrong = next(iter(named), "bus")
        raise refuse(f"gives {wrong}= to {name}, which has none", "remove it")
    if not numbers or len(numbers) > 2 or (len(numbers) == 2 and block is not None):
        raise refuse(f"gives {name} {len(numbers)} numbers", f"write {name}(id) or {name}(id, block)")
    if len(numbers) == 2:
        block = numbers[1]
    if name in UNDIVIDED_VARIABLES and block is not None:
        raise refuse(f"gives a block to {name}, which belongs to the whole stage", "remove the block")
    return Term(1.0, name, numbers[0], block, None, bus, ends)
