"""Planes fitted to the power of a plant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cobre.production import Curve, FitSettings, ProductionFunction, fit_planes
from cobre.production.fit import UnfittableProduction, hull_with_spill
from cobre.production.tailrace import PolynomialTailrace
from production.plants import CONCAVE, CONCAVE_GRID, D07, D07_GRID, SOBRADINHO, SOBRADINHO_GRID


def test_the_planes_of_d07():
    fit = fit_planes(D07, D07_GRID)
    assert fit.factor == pytest.approx(0.970544195404988, abs=1e-14)
    before = fit.planes[:, :3] / fit.factor
    assert before == pytest.approx(
        np.array([
            (0.0, 0.17508888, 0.4377222),
            (0.0, 0.13131666, 0.48149442),
            (0.0, 0.08754444, 0.56903886),
            (0.0, 0.04377222, 0.70035552),
            (0.0, 0.0, 0.8754444),
        ]),
        abs=1e-12,
    )  # fmt: skip
    assert not fit.planes[:, 3].any()
    assert fit.mean_deviation_mw == pytest.approx(0.851143, abs=1e-6)
    assert fit.max_deviation_mw == pytest.approx(2.960580, abs=1e-6)
    assert fit.relative_deviation == pytest.approx(0.8511434545978 / 43.77222, rel=1e-10)


def test_errors_between_the_points_of_the_grid_are_seen():
    fit = fit_planes(SOBRADINHO, SOBRADINHO_GRID)
    # The first flow of the grid, 750 m3/s, gives the 1000 MW of the generators, and so do 281 m3/s and less.
    assert fit.max_deviation_mw == 0.0
    assert fit.fine_max_mw == pytest.approx(600.0, abs=1e-9)  # at 300 m3/s
    assert fit.relative_error == pytest.approx(0.0730742, abs=1e-6)
    finer = fit_planes(SOBRADINHO, replace(SOBRADINHO_GRID, n_flows=41))
    assert finer.relative_error < 0.01


def test_without_the_factor_no_plane_is_below_the_exact_power():
    fit = fit_planes(D07, replace(D07_GRID, is_scaled=False))
    assert fit.factor == 1.0
    assert np.all(fit.deviation_mw >= -1e-12)


def test_the_limit_of_the_generators_scales_the_flow_and_is_no_plane_itself():
    fit = fit_planes(SOBRADINHO, SOBRADINHO_GRID)
    assert fit.factor == 1.0
    assert fit.planes == pytest.approx(np.array([(0.0, 0.0, 4.0 / 3.0, -0.0067689)]), abs=1e-12)
    assert fit.fitted_mw.max() == 1000.0


def test_the_limit_of_the_generators_is_a_level_plane_of_the_hull_with_a_slope_of_its_own():
    volumes = np.linspace(SOBRADINHO_GRID.low_volume_hm3, SOBRADINHO_GRID.high_volume_hm3, 5)
    flows = np.linspace(0.0, SOBRADINHO.max_turbined_m3s, 5)
    grid = (volumes, flows, SOBRADINHO.power_grid(volumes, flows))
    hull, factor = hull_with_spill(SOBRADINHO, SOBRADINHO_GRID, grid)
    assert factor == 1.0
    assert hull == pytest.approx(
        np.array([(0.0, 0.0, 4.0 / 3.0, -0.0067689), (1000.0, 0.0, 0.0, -0.0270756)]), abs=1e-12
    )


def test_fourteen_planes_of_a_concave_forebay():
    fit = fit_planes(CONCAVE, CONCAVE_GRID)
    assert len(fit.planes) == 14
    assert fit.factor == pytest.approx(0.9968687897499593, abs=1e-14)
    (origin,) = [plane for plane in fit.planes if abs(plane[0]) < 1e-9 and abs(plane[1]) < 1e-9]
    assert origin[2] == pytest.approx(3.6485039683808895, abs=1e-12)
    assert origin[3] == pytest.approx(-0.0035523187199999885, abs=1e-15)


def test_planes_are_in_order_of_their_normals():
    fit = fit_planes(CONCAVE, CONCAVE_GRID)
    lengths = np.sqrt(1.0 + fit.planes[:, 1] ** 2 + fit.planes[:, 2] ** 2)
    assert np.all(np.diff(fit.planes[:, 1] / lengths) <= 0.0)


def test_the_spill_of_the_slope_follows_the_mean_inflow():
    falling = replace(CONCAVE, tailrace=PolynomialTailrace((0.0, 0.0008, 2e-7)))
    by_inflow = fit_planes(falling, replace(CONCAVE_GRID, max_spill_m3s=100.0)).planes[:, 3]
    by_turbine = fit_planes(falling, CONCAVE_GRID).planes[:, 3]
    assert np.all(by_turbine < by_inflow)
    assert np.all(by_inflow < 0.0)


def test_no_spill_has_no_slope():
    assert not fit_planes(CONCAVE, replace(CONCAVE_GRID, max_spill_m3s=0.0)).planes[:, 3].any()


def test_a_tailrace_that_falls_with_outflow_has_no_slope():
    falling = replace(CONCAVE, tailrace=PolynomialTailrace((10.0, -0.001)))
    assert not fit_planes(falling, CONCAVE_GRID).planes[:, 3].any()


def test_constant_head_gives_one_plane():
    plant = ProductionFunction(Curve((0.0, 10.0), (80.0, 80.0)), 40.0, 100.0)
    fit = fit_planes(plant, FitSettings(0.0, 10.0))
    assert fit.planes == pytest.approx(np.array([(0.0, 0.0, 0.7848, 0.0)]), rel=1e-12)
    assert fit.max_deviation_mw <= 1e-12


def test_a_run_of_river_plant_does_not_depend_on_its_volume():
    plant = ProductionFunction(Curve((30.0,), (80.0,)), 40.0, 100.0, PolynomialTailrace((50.0, 0.1)))
    fit = fit_planes(plant, FitSettings(29.0, 31.0, 2, 5, is_run_of_river=True))
    assert not fit.planes[:, 1].any()
    assert len(fit.planes) == 4
    assert fit.exact_mw[0].tolist() == fit.exact_mw[1].tolist()


def test_a_slope_that_is_only_rounding_is_none_for_a_run_of_river_plant():
    plant = ProductionFunction(Curve((29.0, 31.0), (80.0, 80.000001)), 40.0, 100.0)
    assert fit_planes(plant, FitSettings(29.0, 31.0, 2, 5)).planes[0, 1] > 0.0
    fit = fit_planes(plant, FitSettings(29.0, 31.0, 2, 5, is_run_of_river=True))
    assert not fit.planes[:, 1].any()


def test_a_tail_water_above_the_forebay_cannot_be_fitted():
    with pytest.raises(UnfittableProduction, match="the net head is -97 m at 200 hm3"):
        fit_planes(replace(D07, tailrace=PolynomialTailrace((200.0,))), D07_GRID)


def test_power_that_falls_with_the_flow_cannot_be_fitted():
    with pytest.raises(UnfittableProduction, match="more turbined water gives less power"):
        fit_planes(replace(D07, tailrace=PolynomialTailrace((0.0, 1.5))), D07_GRID)


def test_equal_plants_share_a_read_only_fit():
    fit = fit_planes(replace(D07), replace(D07_GRID))
    assert fit is fit_planes(D07, D07_GRID)
    with pytest.raises(ValueError, match="read-only"):
        fit.planes[0, 0] = 1.0
