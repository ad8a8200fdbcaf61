"""Fits to a history against those of the public Cobre 0.18, number by number, and the bounds that follow from them."""

from __future__ import annotations

import json

import pytest

import cobre
from public_fits import CASES, STORED, TABLES, fitted, write

RELATIVE = 1e-9
"""The programs solve the same equations in another order of operations."""


@pytest.mark.parametrize("name", CASES)
def test_a_fit_has_the_numbers_of_the_public_program(name, tmp_path):
    expected = json.loads(STORED.read_text())[name]
    cobre.fit(write(tmp_path / "case", name), output=tmp_path / "fitted", n_series=0)
    found = fitted(tmp_path / "fitted")
    for table in (*TABLES, "correlation"):
        assert found[table].keys() == expected[table].keys()
        for place, values in expected[table].items():
            assert found[table][place] == pytest.approx(values, rel=RELATIVE, abs=1e-12), (table, place)


@pytest.mark.parametrize("name", ["pacf", "annual"])
def test_a_case_with_a_history_has_the_bound_of_the_public_program(name, tmp_path):
    expected = json.loads(STORED.read_text())[name]["lower_bound"]
    assert cobre.train(write(tmp_path / "case", name)).final_lower_bound == pytest.approx(expected, rel=1e-6)
