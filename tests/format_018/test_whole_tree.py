"""Every element alone: training reaches the optimum of the whole tree, written from the equations."""

from __future__ import annotations

import pytest

import cobre
from format_018.random_cases import ELEMENTS, case_with
from format_018.whole_tree import optimum

ALL = 4
SEEDS = {
    **dict.fromkeys(ELEMENTS, 0),
    "contracts": 1,
    "commissioning": 1,
    "groups": 1,
    "prices": 1,
    "parameters": 3,
    "deficits": 4,
    **dict.fromkeys(("risk", "thermal_entry", "diversion", "dates", "method"), 2),
}
"""By element, a seed of a case whose optimum it changes."""


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_alone(name, tmp_path):
    case, plain = case_with(SEEDS[name], name), case_with(SEEDS[name], "no element")
    expected = optimum(case)
    assert expected != pytest.approx(optimum(plain), rel=1e-6)
    found = cobre.train(case.write(tmp_path / "case")).final_lower_bound
    assert found == pytest.approx(expected, rel=1e-9)


def test_all_elements_together(tmp_path):
    case = case_with(ALL)
    found = cobre.train(case.write(tmp_path / "case")).final_lower_bound
    assert found == pytest.approx(optimum(case), rel=1e-6)
