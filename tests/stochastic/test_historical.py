"""Years of the inflow history that trajectories and openings repeat."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from cobre.core.config import ScenarioSource
from cobre.core.horizon import Season, SeasonDefinitions
from cobre.core.scenarios import InflowRecords
from cobre.errors import ValidationError
from cobre.stochastic import (
    ForwardSampler,
    HistoricalWindows,
    InflowInversion,
    InflowModel,
    LagTransition,
    NoiseEntities,
    PastRecord,
    generate_tree,
    historical_window,
    opening_seed,
)
from noise_recipe import coefficients, months, stage, statistics

MONTHLY = SeasonDefinitions("monthly", tuple(Season(i, f"M{i}", i + 1) for i in range(12)))
EPOCH = dt.date(1970, 1, 1)


def monthly_records(
    first_year, last_year, n_hydros=1, value=lambda hydro, year, month: 100.0 + year - 1990 + month
):
    """A record for every month of these years."""
    rows = [
        (
            h,
            (dt.date(y, m, 1) - EPOCH).days,
            (dt.date(y + m // 12, m % 12 + 1, 1) - EPOCH).days,
            value(h, y, m),
        )
        for h in range(n_hydros)
        for y in range(first_year, last_year + 1)
        for m in range(1, 13)
    ]
    hydro, start, end, values = zip(*rows, strict=True)
    return InflowRecords(np.array(hydro), np.array(start), np.array(end), np.array(values))


def white(stages, n_hydros=1, mean=100.0, std=20.0):
    rows = [(h, s.id, mean, std) for h in range(n_hydros) for s in stages]
    model = InflowModel.build(stages, n_hydros, statistics(*rows))
    return InflowInversion(model, LagTransition.build(stages, 0), np.zeros((0, n_hydros)))


def windows_of(records, stages, n_hydros=1, years=None, inversion=None):
    return HistoricalWindows.of(
        records, n_hydros, stages, MONTHLY, inversion or white(stages, n_hydros), years
    )


def test_every_complete_year_is_a_window():
    found = windows_of(monthly_records(1990, 2010), months(12))
    assert found.years == tuple(range(1990, 2011))
    assert windows_of(monthly_records(1990, 2010), months(14)).years == tuple(range(1990, 2010))
    assert windows_of(monthly_records(1990, 2010), months(3, first=10)).years == tuple(range(1990, 2010))


def test_a_gap_of_one_hydro_takes_the_windows_that_need_it():
    records = monthly_records(1990, 1995, 2)
    keep = ~((records.hydro == 1) & (records.start_day == (dt.date(1992, 2, 1) - EPOCH).days))
    records = InflowRecords(
        *(getattr(records, name)[keep] for name in ("hydro", "start_day", "end_day", "value_m3s"))
    )
    assert windows_of(records, months(3), 2).years == (1990, 1991, 1993, 1994, 1995)
    assert windows_of(records, months(3, first=5), 2).years == (1990, 1991, 1992, 1993, 1994, 1995)


def test_only_the_years_asked_for_are_windows():
    records = monthly_records(1990, 1995)
    assert windows_of(records, months(3), years=[1991, 1994, 2050]).years == (1991, 1994)
    with pytest.raises(ValidationError, match="none of the years 2050, 2051 .*\n.*use years of 1990 to 1995"):
        windows_of(records, months(3), years=[2050, 2051])


def test_a_history_without_a_complete_year_is_refused():
    with pytest.raises(
        ValidationError, match="no year of the inflow history has an observation of every hydro"
    ):
        windows_of(monthly_records(1990, 1990), months(14))


def test_a_history_needs_a_calendar():
    with pytest.raises(ValidationError, match="cannot be repeated without season_definitions"):
        HistoricalWindows.of(monthly_records(1990, 1995), 1, months(2), None, white(months(2)))


def test_days_of_a_month_count_as_its_mean():
    start = (dt.date(1990, 1, 1) - EPOCH).days
    n = 31 + 28
    values = np.concatenate([np.arange(31.0), np.full(28, 7.0)])
    records = InflowRecords(np.zeros(n, dtype=int), start + np.arange(n), start + 1 + np.arange(n), values)
    stages = months(2)
    eta = windows_of(records, stages, inversion=white(stages, mean=0.0, std=1.0)).eta
    assert eta[0, :, 0] == pytest.approx([15.0, 7.0])


def test_weeks_of_one_month_all_have_the_month_that_was_observed():
    weeks = [
        stage(0, "2024-01-01", "2024-01-15", 0),
        stage(1, "2024-01-15", "2024-02-01", 0),
        stage(2, "2024-02-01", "2024-03-01", 1),
    ]
    found = windows_of(monthly_records(1990, 1991), weeks, inversion=white(weeks, mean=0.0, std=1.0))
    assert found.eta[:, :, 0].tolist() == [[101.0, 101.0, 102.0], [102.0, 102.0, 103.0]]


def test_a_trajectory_meets_the_observed_inflows_from_the_lags_of_the_study():
    stages = months(6)
    model = InflowModel.build(
        stages,
        1,
        statistics(*[(0, t, 100.0, 20.0) for t in range(-1, 6)]),
        coefficients(*[(0, t, 1, 0.6, 0.8) for t in range(6)]),
    )
    transition = LagTransition.build(stages, 1, MONTHLY)
    start = transition.initial(PastRecord(np.array([[55.0]])))
    records = monthly_records(1990, 2010, value=lambda h, y, m: 80.0 + (y * 7 + m * 13) % 41)
    found = windows_of(records, stages, inversion=InflowInversion(model, transition, start))
    tree = generate_tree(1, stages, 1)
    sampler = ForwardSampler(
        tree, 1, stages, NoiseEntities(1), ScenarioSource(inflow="historical"), 8, windows=found
    )
    eta = sampler.sample(2, range(8))
    for i in range(8):
        year = found.years[historical_window(2, i, 21)]
        components = start
        for t in range(6):
            inflow = model.inflow(t, components, eta[i, t])
            assert inflow == pytest.approx([80.0 + (year * 7 + (t + 1) * 13) % 41])
            components = transition.advance(t, components, inflow)
    assert (sampler.sample(2, range(3, 8)) == eta[3:]).all()


def test_quarters_after_months_repeat_observed_quarters():
    seasons = SeasonDefinitions(
        "custom",
        (
            *(Season(m, f"M{m}", m + 1, 1, m + 1, 28 if m == 1 else 30) for m in range(2)),
            *(Season(12 + q, f"Q{q}", 3 * q + 1, 1, 3 * q + 3, 31 if q in (0, 3) else 30) for q in range(4)),
        ),
    )
    stages = [*months(2, year=2025), stage(2, "2025-04-01", "2025-07-01", 13)]
    inversion = white(stages, mean=0.0, std=1.0)
    found = HistoricalWindows.of(monthly_records(1991, 1992), 1, stages, seasons, inversion)
    april, may, june = (100.0 + 1 + month for month in (4, 5, 6))
    assert found.years == (1991, 1992)
    assert found.eta[0, 2, 0] == pytest.approx((30 * april + 31 * may + 30 * june) / 91)


def test_an_observation_that_no_noise_can_give_is_refused():
    stages = months(2)
    inversion = white(stages, std=0.0)
    with pytest.raises(
        ValidationError, match="stage 0, window 1990: the observed inflow 101 m3/s .*no deviation"
    ):
        windows_of(monthly_records(1990, 1991), stages, inversion=inversion)


def test_openings_of_residuals_take_whole_windows_for_inflows_and_draws_for_loads():
    stages = months(3, n_openings=4, sampling_method="historical_residuals")
    found = windows_of(monthly_records(1990, 2010, 2), stages, 2)
    tree = generate_tree(42, stages, 3, windows=found)
    plain = generate_tree(42, months(3, n_openings=4), 3)
    for t in range(3):
        chosen = [opening_seed(42, o, t) % 21 for o in range(4)]
        assert tree.stage(t)[:, :2].tolist() == found.eta[chosen, t].tolist()
        assert tree.stage(t)[:, 2].tolist() == plain.stage(t)[:, 2].tolist()
