from __future__ import annotations

import numpy as np
import pytest

from cobre.errors import ValidationError
from cobre.stochastic import InflowModel
from noise_recipe import annual, coefficients, months, stage, statistics


def _model(stages, n_hydros, *rows, **more):
    return InflowModel.build(stages, n_hydros, statistics(*rows), **more)


def test_without_coefficients_the_inflow_is_mean_plus_deviation_times_noise():
    model = _model(months(2), 2, (0, 0, 100.0, 20.0), (1, 0, 50.0, 5.0), (0, 1, 80.0, 10.0))
    assert model.n_lags == 0
    eta = np.array([[1.0, -2.0], [0.5, 0.0]])
    no_lags = np.zeros((0, 2))
    assert model.inflow(0, no_lags, eta).tolist() == [[120.0, 40.0], [110.0, 50.0]]
    assert model.inflow(1, no_lags, eta).tolist() == [[90.0, 0.0], [85.0, 0.0]], "no row means no inflow"


def test_coefficients_lose_their_standardisation():
    rows = [(0, -1, 60.0, 12.0), (0, 0, 100.0, 20.0), (0, 1, 80.0, 10.0), (0, 2, 40.0, 8.0)]
    lags = coefficients((0, 1, 1, 0.5, 0.8), (0, 2, 1, 0.4, 0.6), (0, 2, 2, 0.2, 0.6), (0, 0, 1, 0.3, 0.9))
    model = _model(months(3), 1, *rows, coefficients=lags)
    assert model.psi[:, :, 0] == pytest.approx(
        np.array([[0.3 * 20 / 12, 0.0], [0.5 * 10 / 20, 0.0], [0.4 * 8 / 10, 0.2 * 8 / 20]]), rel=1e-15
    )
    assert model.sigma[:, 0] == pytest.approx([18.0, 8.0, 4.8], rel=1e-15)
    assert model.base[:, 0] == pytest.approx([100 - 0.5 * 60, 80 - 0.25 * 100, 40 - 0.32 * 80 - 0.08 * 100])
    at_the_mean = model.inflow(2, np.array([[80.0], [100.0]]), np.zeros(1))
    assert at_the_mean == pytest.approx([40.0])


def test_statistics_of_a_lag_come_from_the_stage_id_before_the_season():
    lags = coefficients((0, 0, 1, 0.5, 1.0))
    own = _model(months(12), 1, (0, -1, 7.0, 4.0), (0, 0, 9.0, 2.0), (0, 11, 3.0, 1.0), coefficients=lags)
    assert own.psi[0, 0, 0] == 0.5 * 2.0 / 4.0
    by_season = _model(months(12), 1, (0, 0, 9.0, 2.0), (0, 11, 3.0, 1.0), coefficients=lags)
    assert by_season.psi[0, 0, 0] == 0.5 * 2.0 / 1.0
    assert by_season.base[0, 0] == 9.0 - 1.0 * 3.0
    neither = _model(months(12), 1, (0, 0, 9.0, 2.0), coefficients=lags)
    assert neither.psi[0, 0, 0] == 0.0
    assert neither.base[0, 0] == 9.0


def test_the_season_of_a_lag_counts_from_the_season_of_the_first_stage():
    stages = months(12, first=3)  # April is stage 0 and season 3
    lags = coefficients((0, 0, 1, 0.5, 1.0), (0, 0, 2, 0.25, 1.0))
    rows = [(0, t, 10.0 + t, 1.0 + t) for t in range(12)]  # March is stage 11, February stage 10
    model = _model(stages, 1, *rows, coefficients=lags)
    assert model.psi[0, :, 0] == pytest.approx([0.5 / 12.0, 0.25 / 11.0])
    assert model.base[0, 0] == pytest.approx(10.0 - 0.5 / 12.0 * 21.0 - 0.25 / 11.0 * 20.0)


def test_a_lag_without_deviation_has_no_weight():
    lags = coefficients((0, 1, 1, 0.5, 0.8))
    model = _model(months(2), 1, (0, 0, 5.0, 0.0), (0, 1, 9.0, 2.0), coefficients=lags)
    assert model.psi[1, 0, 0] == 0.0
    assert model.base[1, 0] == 9.0


def test_the_number_of_lags_is_the_largest_order_of_all():
    rows = [(h, t, 5.0, 1.0) for h in range(2) for t in range(3)]
    lags = coefficients(*[(1, 2, lag, 0.1, 0.9) for lag in (3, 1, 2)], (0, 1, 1, 0.2, 0.9))
    model = _model(months(3), 2, *rows, coefficients=lags)
    assert model.psi.shape == (3, 3, 2)
    assert (model.psi[:, 1:, 0] == 0.0).all()
    assert model.psi[2, :, 1] == pytest.approx([0.1, 0.1, 0.1])


def test_coefficients_of_stages_before_the_study_are_of_no_use():
    lags = coefficients((0, -1, 1, 0.5, 0.5), (0, -1, 2, 0.5, 0.5))
    assert _model(months(2), 1, (0, 0, 5.0, 1.0), coefficients=lags).n_lags == 0


def test_the_annual_term_gives_every_lag_of_the_year_a_twelfth():
    rows = [(0, t, 10.0 + t, 2.0) for t in range(-12, 2)]
    lags = coefficients((0, 1, 1, 0.5, 0.7))
    model = _model(months(2), 1, *rows, coefficients=lags, annual=annual((0, 1, 0.3, 15.0, 4.0)))
    share = 0.3 * 2.0 / 4.0 / 12
    assert model.n_lags == 12
    assert (model.psi[0] == 0.0).all()
    assert model.psi[1, 0, 0] == pytest.approx(0.5 + share)
    assert model.psi[1, 1:, 0] == pytest.approx([share] * 11)
    lag_means = [10.0 + 1 - lag for lag in range(1, 13)]
    assert model.base[1, 0] == pytest.approx(11.0 - 0.5 * 10.0 - share * sum(lag_means))
    certain = _model(months(2), 1, *rows, annual=annual((0, 1, 0.3, 15.0, 0.0)))
    assert (certain.psi == 0.0).all()


def _lagged_model():
    rows = [(h, t, 30.0 + 5 * h, 20.0 * (h < 2)) for h in range(3) for t in range(4)]
    lags = coefficients(*[(h, t, lag, 0.6 / lag, 0.8) for h in range(2) for t in range(4) for lag in (1, 2)])
    model = _model(months(4), 3, *rows, coefficients=lags)
    model.base[:, 2] = -5.0  # a hydro without noise whose inflow is negative
    return model


def test_truncation_raises_the_noise_until_the_inflow_is_zero():
    model = _lagged_model()
    generator = np.random.default_rng(0)
    lags, eta = generator.uniform(0.0, 60.0, size=(200, 2, 3)), 3.0 * generator.normal(size=(200, 3))
    plain = model.inflow(3, lags, eta)
    negative = plain < 0.0
    assert 20 < negative[:, 0].sum() < 180
    raised = model.truncated_eta(3, lags, eta)
    assert (raised[~negative] == eta[~negative]).all()
    assert (raised[:, 2] == eta[:, 2]).all(), "without noise nothing is raised"
    assert (raised[:, :2][negative[:, :2]] > eta[:, :2][negative[:, :2]]).all()
    assert model.inflow(3, lags, raised)[:, :2][negative[:, :2]] == pytest.approx(0.0, abs=1e-12)
    term = model.truncated_noise_term(3, lags, eta)
    total = term + model.lag_term(3, lags)
    assert (total[:, :2] >= 0.0).all()
    assert (total[:, :2][negative[:, :2]] == 0.0).all()
    assert (term[~negative] == model.noise_term(3, eta)[~negative]).all()
    assert (term[:, 2] == -5.0).all()


def test_one_trial_point_meets_all_openings_at_once():
    model = _lagged_model()
    generator = np.random.default_rng(1)
    lags, eta = generator.uniform(0.0, 60.0, size=(2, 3)), 3.0 * generator.normal(size=(50, 3))
    together = model.truncated_noise_term(2, lags, eta)
    for i in range(50):
        assert model.truncated_noise_term(2, lags, eta[i]).tobytes() == together[i].tobytes()
        assert (
            model.truncated_eta(2, lags, eta[i]).tobytes() == model.truncated_eta(2, lags, eta)[i].tobytes()
        )


def test_the_lag_term_is_a_sum_from_the_first_lag_on():
    model = _lagged_model()
    lags = np.random.default_rng(2).normal(size=(6, 2, 3))
    expected = 0.0 + model.psi[1, 0] * lags[:, 0] + model.psi[1, 1] * lags[:, 1]
    assert model.lag_term(1, lags).tobytes() == expected.tobytes()


def test_the_residual_is_the_noise_that_gives_an_inflow():
    model = _lagged_model()
    generator = np.random.default_rng(3)
    lags, eta = generator.uniform(0.0, 60.0, size=(20, 2, 3)), generator.normal(size=(20, 3))
    found = model.residual(1, lags, model.inflow(1, lags, eta))
    assert found[:, :2] == pytest.approx(eta[:, :2], abs=1e-12)
    assert (found[:, 2] == 0.0).all()


def test_the_order_of_rows_changes_no_bit():
    rows = [(h, t, 10.0 + h + t, 3.0 + t) for h in range(3) for t in range(-2, 4)]
    lags = [(h, t, lag, 0.3 / lag, 0.9) for h in range(3) for t in range(4) for lag in (1, 2)]
    first = _model(months(4), 3, *rows, coefficients=coefficients(*lags))
    second = _model(months(4), 3, *rows[::-1], coefficients=coefficients(*lags[::-1]))
    for name in ("psi", "sigma", "base"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((2, 0, 1.0, 1.0), "hydro index 2, stage 0: there is no such hydro"),
        ((-1, 0, 1.0, 1.0), "there is no such hydro"),
        ((0, 3, 1.0, 1.0), "stage 3: there is no such stage"),
        ((0, 0, np.nan, 1.0), "mean_m3s is not finite"),
        ((0, 0, 1.0, np.inf), "std_m3s is negative or not finite"),
        ((0, 0, 1.0, -0.1), "std_m3s is negative or not finite"),
        ((1, 1, 5.0, 1.0), "hydro index 1, stage 1: there is more than one row"),
    ],
)
def test_a_wrong_row_of_statistics_is_named(row, message):
    with pytest.raises(ValidationError, match=f"inflow_seasonal_stats.*{message}"):
        _model(months(2), 2, (1, 1, 5.0, 1.0), row)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 0, 2, 0.5, 0.9)], "lags are repeated or missing"),
        ([(0, 0, 1, 0.5, 0.9), (0, 0, 3, 0.5, 0.9)], "lags are repeated or missing"),
        ([(0, 0, 1, 0.5, 0.9), (0, 0, 1, 0.5, 0.9)], "lags are repeated or missing"),
        ([(0, 0, 0, 0.5, 0.9)], "lags are repeated or missing"),
        ([(0, 0, 1, 0.5, 0.9), (0, 0, 2, 0.5, 0.8)], "residual_std_ratio differs"),
        ([(0, 0, 1, 0.5, 0.0)], "not above 0 and at most 1"),
        ([(0, 0, 1, 0.5, 1.1)], "not above 0 and at most 1"),
        ([(0, 0, 1, 0.5, np.nan)], "not above 0 and at most 1"),
        ([(0, 0, 1, np.nan, 0.9)], "coefficient is not finite"),
        ([(0, 5, 1, 0.5, 0.9)], "no such stage"),
        ([(4, 0, 1, 0.5, 0.9)], "no such hydro"),
        ([(0, 1, 1, 0.5, 0.9)], "stage 1: there are no statistics"),
    ],
)
def test_a_wrong_row_of_coefficients_is_named(rows, message):
    with pytest.raises(ValidationError, match=f"inflow_ar_coefficients.*{message}"):
        _model(months(2), 1, (0, 0, 5.0, 1.0), coefficients=coefficients(*rows))


def test_lags_need_a_season():
    stages = [stage(0, "2024-01-01", "2024-02-01"), stage(1, "2024-02-01", "2024-03-01")]
    lags = coefficients((0, 1, 1, 0.5, 0.9))
    with pytest.raises(ValidationError, match="stage 1: the stage has no season"):
        _model(stages, 1, (0, 0, 5.0, 1.0), (0, 1, 5.0, 1.0), coefficients=lags)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0, 0, np.nan, 1.0, 1.0), "annual_coefficient is not finite"),
        ((0, 0, 0.5, 1.0, -1.0), "annual_std_m3s is negative"),
        ((0, 1, 0.5, 1.0, 1.0), "there are no statistics"),
        ((0, 7, 0.5, 1.0, 1.0), "no such stage"),
    ],
)
def test_a_wrong_annual_row_is_named(row, message):
    with pytest.raises(ValidationError, match=f"inflow_annual_component.*{message}"):
        _model(months(2), 1, (0, 0, 5.0, 1.0), annual=annual(row))
