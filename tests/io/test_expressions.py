"""The grammar of generic constraints."""

from __future__ import annotations

import pytest

from cobre.io.read.constraints.expression import VARIABLES, Constant, ExpressionError, Term, parse_expression


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
    assert parse_expression(text).terms == tuple(Term(*term) for term in terms)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_is_known(name):
    assert parse_expression(f"{name}(7)").terms == (Term(1.0, name, 7, None),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends where a term should follow"),
        ("hydro_storage(0) +", "ends where a term should follow"),
        ("hydro_storage(0) hydro_storage(1)", r"has no \+ or - before"),
        ("2 hydro_storage(0)", r"has no \+ or - before"),
        ("hydro_storage(a)", "where an id is wanted|cannot read"),
        ("hydro_storage", "cannot read"),
        ("anticipated_decision(0, 1)", "gives a block to anticipated_decision"),
        ("hydro_wisdom(0)", "unknown variable 'hydro_wisdom'"),
        ("1e999 * hydro_storage(0)", "not finite"),
        ("hydro_storage(0) <= 3 <= 4", "second operator"),
        ("3 + @x", "has no variable"),
        ("(hydro_storage(0)", "closing parenthesis"),
        ("@a * @b * hydro_storage(0)", "multiplies the parameters"),
        ("hydro_storage(0, bus=3)", "gives bus="),
        ("hydro_storage(0) - - hydro_storage(1)", "cannot read"),
    ],
)
def test_anything_else_is_explained(text, message):
    with pytest.raises(ExpressionError, match=message) as caught:
        parse_expression(text)
    assert caught.value.remedy


def test_expressions_with_names_groups_and_two_sides_are_sums_of_terms():
    named = {"north": "hydro_generation(2) + @share * thermal_generation(0)", "twice": "2 * @north"}
    found = parse_expression("@rho * hydro_turbined(0, bus=1) - 3 * (@twice - 4) >= 0.5 * @lim + 7", named)
    assert found.terms == (
        Term(1.0, "hydro_turbined", 0, None, "rho", 1),
        Term(-6.0, "hydro_generation", 2),
        Term(-6.0, "thermal_generation", 0, None, "share"),
    )
    assert found.constants == (Constant(12.0), Constant(-0.5, "lim"), Constant(-7.0))
    assert found.operator == ">="


def test_expressions_that_call_themselves_are_refused():
    with pytest.raises(ExpressionError, match="in a circle: a -> b -> a"):
        parse_expression("@a", {"a": "@b", "b": "hydro_storage(0) + @a"})


def test_a_line_is_named_by_its_buses():
    (term,) = parse_expression("line_exchange(source_bus=3, target_bus=1)").terms
    assert (term.entity_id, term.ends) == (-1, (3, 1))
