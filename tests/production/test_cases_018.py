"""Optima that the public Cobre 0.18 and an independent linear program agree on."""

from __future__ import annotations

import pytest

import cobre
from production.cases_018 import converted


@pytest.mark.parametrize(
    ("name", "optimum"), [("fpha_computed", 2732291.725834374), ("evaporation", 2067943.6996816674)]
)
def test_the_bound_is_the_optimum(tmp_path, name, optimum):
    result = cobre.train(converted(name, tmp_path / name))
    assert result.final_lower_bound == pytest.approx(optimum, rel=1e-6)


def test_a_fit_with_an_error_beyond_two_percent_is_a_warning(tmp_path):
    folder = converted("fpha_computed", tmp_path / "case")
    (fit,) = cobre.load_case(folder).production_fits
    assert fit.fit.relative_deviation == pytest.approx(0.0218212946638, rel=1e-9)
    (warning,) = [each for each in cobre.validate(folder).warnings if each.field == "fpha_config"]
    assert warning.value == pytest.approx(0.0319607983671, rel=1e-9)
