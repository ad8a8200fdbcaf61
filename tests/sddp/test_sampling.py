"""Training with every sampling method and every source of trajectories."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from cobre.comm import LocalCommunicator
from cobre.core.config import ScenarioSource
from cobre.core.horizon import RiskMeasure
from cobre.core.scenarios import GivenScenarios, InflowObservation
from cobre.errors import ValidationError
from cobre.sddp.forecast import SampledForecast, open_forecast
from cobre.sddp.nature import Nature
from cobre.stochastic import external_scenario, historical_window
from cobre.stochastic.methods import POINT_METHODS
from sddp.specs import StageSpec
from sddp.studies import historical, history, sampled, study
from sddp.trained import assert_optimal, bounds, optimum, settings, trained


def penalised(iterations, **stage):
    """Four stages like this one, in which water that is missing from the inflow costs 40."""
    return study(
        [StageSpec((200.0, 100.0), 3, **stage)] * 4,
        hydro={"costs": {"negative_inflow": 40.0}},
        non_negativity="penalty",
        load_std=3.0,
        training=settings(iterations, 3),
    )


@pytest.mark.parametrize("method", POINT_METHODS)
def test_the_bound_of_every_method_is_the_optimum_of_its_tree(method):
    case = penalised(60, sampling=method)
    assert_optimal(bounds(trained(case)), optimum(case))


@pytest.mark.parametrize("risk", [RiskMeasure(), RiskMeasure(weight=0.6, tail=0.3)])
def test_selected_openings_count_by_their_probabilities(risk):
    case = penalised(80, sampling="selective", risk=risk)
    with LocalCommunicator() as comm:
        *_, probabilities = open_forecast(comm, Nature.of(case))
    assert [len(set(probabilities[t].tolist())) for t in range(4)] == [3] * 4, "no two are equally likely"
    assert_optimal(bounds(trained(case)), optimum(case))


def test_trajectories_meet_selected_openings_as_often_as_they_are_likely():
    case = study([StageSpec((200.0, 100.0), 4, sampling="selective")] * 4)
    n = 4000
    with LocalCommunicator() as comm:
        openings, forecast, probabilities = open_forecast(comm, Nature.of(case))
        forecast.start_iteration(1, 0, n)
        for t in range(2):
            met = forecast.values(t)
            shares = [np.mean((met == row).all(axis=1)) for row in openings[t]]
            error = 4.0 * np.sqrt(probabilities[t] * (1.0 - probabilities[t]) / n)
            assert (np.abs(shares - probabilities[t]) < error).all()


def test_openings_that_repeat_the_history_are_bounded_by_their_optimum():
    case = historical(3)
    case = replace(case, config=replace(case.config, training=settings(60, 3)))
    assert_optimal(bounds(trained(case)), optimum(case))


def test_no_stage_has_more_openings_than_the_history_has_windows():
    case = historical(3, openings=12, historical_years=(2003, 2005))
    assert [stage.n_openings for stage in Nature.of(case).stages] == [12, 2, 2, 12]


def forecast_of(nature, n_scenarios, iteration):
    with LocalCommunicator() as comm:
        _, forecast, _ = open_forecast(comm, nature, n_scenarios)
    assert isinstance(forecast, SampledForecast)
    forecast.start_iteration(iteration, 0, n_scenarios)
    return forecast


def test_a_simulation_repeats_the_years_of_its_own_source():
    """Inflows of trajectories, from the lags that they build up, are those of the chosen years."""
    case, years = historical(3, historical_years=(2001, 2002)), (2004, 2006, 2007)
    nature = Nature.of(case, ScenarioSource("historical", historical_years=years))
    forecast = forecast_of(nature, 6, 0)
    records = history(2, 2001, 2009)
    lags = np.repeat(nature.initial_lags[np.newaxis], 6, axis=0)
    for t in range(4):
        inflow = forecast.values(t)[:, :2] + nature.inflow.lag_term(t, lags)
        for scenario in range(6):
            year = years[historical_window(0, scenario, 3)]
            month = 12 * (year - 2001) + t
            assert inflow[scenario] == pytest.approx(records.value_m3s.reshape(2, -1)[:, month])
        lags = nature.transition.advance(t, lags, inflow)


def external_load(values):
    """Rows of (stages, scenarios) for the first bus."""
    stage, scenario = (grid.ravel() for grid in np.indices(values.shape))
    return GivenScenarios(stage, scenario, np.zeros_like(stage), values.ravel())


def test_a_load_that_only_its_scenarios_describe_is_replayed_exactly():
    values = np.array([[123.0, 99.0, 110.0]] * 4)
    case = study(training=settings(3, 2, scenario_source=ScenarioSource(load="external", seed=1)))
    bus = replace(case.tables.bus, load_mean_mw=case.tables.bus.load_mean_mw * np.array([[0.0], [1.0]]))
    case = replace(
        case,
        tables=replace(case.tables, bus=bus),
        scenarios=replace(case.scenarios, external_load=external_load(values)),
    )
    nature = Nature.of(case)
    assert nature.entities.load_buses == (0,)
    forecast = forecast_of(nature, 5, 2)
    expected = [values[0, external_scenario(2, scenario, 3)] for scenario in range(5)]
    for t in range(4):
        assert forecast.values(t)[:, 2] == pytest.approx(expected)
    trained(case)


def test_moments_of_scenarios_replace_given_statistics_only_where_the_format_says_so():
    values = np.array([[10.0, 20.0]] * 4)
    source = ScenarioSource(load="external", seed=1)
    case = study(load_std=4.0, training=settings(3, 2, scenario_source=source))
    scenarios = replace(case.scenarios, external_load=external_load(values))
    given = Nature.of(replace(case, scenarios=scenarios)).statistics
    assert (given.load_mean_mw[0].tolist(), given.load_std_mw[0].tolist()) == ([30.0] * 4, [4.0] * 4)
    taken = Nature.of(replace(case, scenarios=replace(scenarios, external_sets_statistics=True))).statistics
    assert (taken.load_mean_mw[0].tolist(), taken.load_std_mw[0].tolist()) == ([15.0] * 4, [5.0] * 4)


def test_a_simulation_with_external_loads_keeps_the_openings_of_training():
    values = np.array([[10.0, 20.0]] * 4)
    case = study(source_std=0.2, training=settings(3, 2))
    case = replace(
        case,
        tables=replace(case.tables, bus=replace(case.tables.bus, load_mean_mw=np.zeros((2, 4)))),
        scenarios=replace(case.scenarios, external_load=external_load(values)),
    )
    nature = Nature.of(case, ScenarioSource(load="external", seed=1))
    assert nature.entities.load_buses == (0,)
    assert nature.of_openings.entities.load_buses == ()
    with LocalCommunicator() as comm:
        openings, *_ = open_forecast(comm, nature, 4)
        of_training, *_ = open_forecast(comm, Nature.of(case))
    assert all((mine == theirs).all() for mine, theirs in zip(openings, of_training, strict=True))
    forecast = forecast_of(nature, 4, 0)
    plain = {row.tobytes() for row in openings[1][:, -1:]}
    assert all(row.tobytes() in plain for row in forecast.values(1)[:, -1:])


def test_the_points_of_fresh_trajectories_spread_over_all_of_them():
    case = sampled(16)
    nature = Nature.of(case)
    forecast = forecast_of(nature, 16, 1)
    eta = np.sort((forecast.values(1)[:, 0] - nature.inflow.base[1, 0]) / nature.inflow.sigma[1, 0])
    strata = [int(NormalDist().cdf(value) * 16) for value in eta]
    assert strata == list(range(16)), "the second stage is a Latin hypercube"


def test_a_source_without_its_data_is_refused():
    case = historical(3)
    without = replace(case, scenarios=replace(case.scenarios, history=None))
    with pytest.raises(ValidationError, match="inflow_history"):
        trained(without)


def test_reservoirs_observed_on_different_days_reach_the_optimum_of_their_tree():
    """Weeks of January; the first reservoir was observed in the week before the study, the second was not."""
    hydro = {"lags": [0.5], "residual_ratio": 0.9, "past": [12.0], "costs": {"negative_inflow": 30.0}}
    case = study(
        [StageSpec((100.0, 68.0), 2)] * 3 + [StageSpec((400.0, 272.0), 3)],
        hydro=hydro,
        non_negativity="penalty",
        training=settings(60, 3),
    )
    starts = [dt.date(2024, *day) for day in ((1, 8), (1, 15), (1, 22), (2, 1), (3, 1))]
    stages = tuple(
        replace(each, start_date=first, end_date=last, season_id=first.month - 1)
        for each, (first, last) in zip(case.horizon.stages, pairwise(starts), strict=True)
    )
    week = InflowObservation(0, dt.date(2024, 1, 1), dt.date(2024, 1, 8), 40.0)
    case = replace(
        case,
        horizon=replace(case.horizon, stages=stages),
        initial=replace(case.initial, observations=(week,)),
    )
    assert Nature.of(case).transition.weight.shape == (4, 2, 2)
    assert_optimal(bounds(trained(case)), optimum(case))
