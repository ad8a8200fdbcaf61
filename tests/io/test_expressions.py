"""The grammar of generic constraints."""

from __future__ import annotations

import pytest

from cobre.io.read.constraints.expression import VARIABLES, ExpressionError, Term, parse_expression


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("hydro_storage(3)", [(1.0, "hydro_storage", 3, None)]),
        ("  -  2 * hydro_turbined( 3 , 1 )  ", [(-2.0, "hydro_turbined", 3, 1)]),
        ("+hydro_spillage(0)", [(1.0, "hydro_spillage", 0, None)]),
        (
            "1.5e2*bus_deficit(1)-.5*bus_excess(1,2)",
            [(150.0, "bus_deficit", 1, None), (-0.5, "bus_excess", 1, 2)],
        ),
        (
            "thermal_generation(5) + thermal_generation(5)",
            [(1.0, "thermal_generation", 5, None), (1.0, "thermal_generation", 5, None)],
        ),
    ],
)
def test_terms_are_read_in_order(text, terms):
    assert parse_expression(text) == tuple(Term(*term) for term in terms)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_is_known(name):
    assert parse_expression(f"{name}(7)") == (Term(1.0, name, 7, None),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends where a term should follow"),
        ("hydro_storage(0) +", "ends where a term should follow"),
        ("hydro_storage(0) hydro_storage(1)", r"has no \+ or - before"),
        ("2 hydro_storage(0)", "cannot read"),
        ("hydro_storage(a)", "cannot read"),
        ("hydro_storage", "cannot read"),
        ("hydro_storage(0, 1)", "gives a block to hydro_storage"),
        ("hydro_wisdom(0)", "unknown variable 'hydro_wisdom'"),
        ("1e999 * hydro_storage(0)", "not finite"),
        ("hydro_storage(0) <= 3", "has no"),
        ("hydro_storage(0) - - hydro_storage(1)", "cannot read"),
    ],
)
def test_anything_else_is_explained(text, message):
    with pytest.raises(ExpressionError, match=message) as caught:
        parse_expression(text)
    assert caught.value.remedy
