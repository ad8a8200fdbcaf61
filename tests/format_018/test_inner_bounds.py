"""The inner bound of studies with water and generation under way, and with plants that come later."""

from __future__ import annotations

import pytest

import cobre
from format_018.mixtures import with_time
from format_018.plans import Optimum, draw
from format_018.random_cases import random_case
from format_018.small import Case018

SETTINGS = {
    "training.stopping_rules": [{"type": "iteration_limit", "limit": 30}],
    "upper_bound_evaluation": {"enabled": True, "interval_iterations": 30, "max_vertices": 60},
}


@pytest.mark.parametrize("seed", range(0, 24, 4))
def test_the_optimum_of_a_random_study_with_time_lies_between_the_bounds(tmp_path, seed):
    plan = draw(seed)
    result = cobre.train(plan.write(tmp_path / "case"), config_overrides=SETTINGS)
    optimum = Optimum(plan).value()
    assert result.final_lower_bound <= optimum * (1 + 1e-8)
    assert optimum * (1 - 1e-8) <= result.inner_bound
    assert result.true_gap < 0.001


def test_a_plant_that_comes_later_keeps_its_water_until_then(tmp_path):
    case = Case018([[744.0], [672.0], [744.0]], [60.0])
    case.add_thermal(50.0, 40.0)
    case.add_hydro(20.0, 50.0, least=5.0, inflow=[4.0, 9.0, 2.0], entry_stage_id=1)
    case.add_hydro(10.0, 30.0, inflow=[9.0, 5.0, 3.0])
    result = cobre.train(case.write(tmp_path / "case"), config_overrides=SETTINGS)
    assert result.inner_bound == pytest.approx(result.final_lower_bound, rel=1e-6)


def test_every_reservoir_may_ask_for_all_that_it_can_hold(tmp_path):
    """Ten of them, more than all corners of a box are taken for: only what is missing has no limit."""
    case = Case018([[744.0], [672.0], [744.0]], [90.0])
    case.add_thermal(50.0, 70.0)
    for number in range(10):
        case.add_hydro(2.0 + number, 12.0 + number, inflow=[1.0, 2.0, 0.5])
    result = cobre.train(case.write(tmp_path / "case"), config_overrides=SETTINGS)
    assert result.inner_bound == pytest.approx(result.final_lower_bound, rel=1e-6)


def test_a_missing_slope_of_an_unlimited_state_is_an_error(tmp_path):
    """Water under way, of which more has neither a limited price nor a limit here."""
    folder = with_time(random_case(1, leaves_out=("losses",)), 1).write(tmp_path / "case")
    with pytest.raises(cobre.ValidationError, match="in_transit1:1 has no limit") as caught:
        cobre.train(folder, config_overrides=SETTINGS)
    assert "fallback_value" in caught.value.suggestion
    number = {
        "upper_bound_evaluation": {**SETTINGS["upper_bound_evaluation"], "lipschitz": {"fallback_value": 1e5}}
    }
    result = cobre.train(folder, config_overrides={**SETTINGS, **number})
    assert result.inner_bound >= result.final_lower_bound * (1 - 1e-9)
