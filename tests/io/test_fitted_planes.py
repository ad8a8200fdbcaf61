"""Planes fitted to a plant's data: where they come from, where they apply, what results say about them."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import cobre
from cobre.core.digest import digest
from cobre.io import load, load_with_report
from production.small_cases import CURVES, GEOMETRY, MODELS, config_of, d07, hydro_of

PLANES, POINTS = "hydro_models/fpha_hyperplanes.parquet", "hydro_models/fpha_deviation_points.parquet"


@pytest.fixture
def case(tmp_path):
    return d07(tmp_path / "case")


def planes_of(case, hydro=0, stage=0):
    return load(case.write()).tables.hydro.planes_of(hydro, stage)


def test_d07_reaches_its_bound(case):
    result = cobre.train(case.write())
    assert result.final_lower_bound == pytest.approx(3657537.696594757, abs=1e-4)
    assert abs(result.final_gap) < 1e-9


def test_d07_without_the_factor_reaches_its_bound(case):
    config_of(case)["fit_factor"] = "none"
    assert cobre.train(case.write()).final_lower_bound == pytest.approx(3591300.441816, abs=1e-4)


def test_a_fit_belongs_to_its_hydro_and_stages(case):
    study = load(case.write())
    (fit,) = study.production_fits
    assert (fit.hydro, fit.stages) == (0, (0, 1))
    assert fit.fit.factor == pytest.approx(0.970544195404988, abs=1e-14)
    assert study.tables.hydro.planes_of(0, 1).tolist() == fit.fit.planes.tolist()


def test_every_range_has_its_own_source(case):
    first = case.documents[MODELS]["production_models"][0]["stage_ranges"][0]
    first["end_stage_id"] = 0
    given = {**first, "start_stage_id": 1, "end_stage_id": None, "fpha_config": {"source": "precomputed"}}
    case.documents[MODELS]["production_models"][0]["stage_ranges"].append(given)
    case.tables["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [0], "plane_id": [0], "gamma_0": [0.0], "gamma_v": [0.0], "gamma_q": [0.75], "gamma_s": [0.0]
    }  # fmt: skip
    study = load(case.write())
    assert len(study.tables.hydro.planes_of(0, 0)) == 5
    assert study.tables.hydro.planes_of(0, 1).tolist() == [[0.0, 0.0, 0.75, 0.0]]
    assert [each.stages for each in study.production_fits] == [(0,)]


def test_stages_with_other_settings_have_other_planes(case):
    ranges = case.documents[MODELS]["production_models"][0]["stage_ranges"]
    ranges[0]["end_stage_id"] = 0
    other = {"source": "computed", "volume_discretization_points": 3}
    ranges.append({**ranges[0], "start_stage_id": 1, "end_stage_id": None, "fpha_config": other})
    study = load(case.write())
    assert [len(study.tables.hydro.planes_of(0, stage)) for stage in (0, 1)] == [5, 3]
    assert [each.stages for each in study.production_fits] == [(0,), (1,)]


@pytest.mark.parametrize(
    ("window", "volumes"),
    [
        ({"volume_min_hm3": 20.0, "volume_max_hm3": 120.0}, (20.0, 120.0)),
        ({"volume_min_percentile": 0.25}, (65.0, 200.0)),
        ({"volume_max_percentile": 0.5}, (0.0, 110.0)),
        ({"volume_max_hm3": 900.0}, (0.0, 200.0)),
        ({}, (0.0, 200.0)),
    ],
)
def test_the_window_is_a_volume_or_a_share_of_the_storage_range(case, window, volumes):
    hydro_of(case)["reservoir"]["min_storage_hm3"] = 20.0
    config_of(case)["fitting_window"] = window
    (fit,) = load(case.write()).production_fits
    assert (fit.fit.volumes_hm3[0], fit.fit.volumes_hm3[-1]) == pytest.approx(volumes, abs=1e-12)


def test_grids_have_the_points_that_are_asked_for(case):
    config_of(case).update(volume_discretization_points=3, turbine_discretization_points=7)
    (fit,) = load(case.write()).production_fits
    assert fit.fit.exact_mw.shape == (3, 7)


def test_one_row_of_geometry_is_a_run_of_river_plant(case):
    case.tables[GEOMETRY] = {"hydro_id": [0], "volume_hm3": [100.0], "height_m": [85.0], "area_km2": [1.0]}
    (fit,) = load(case.write()).production_fits
    assert fit.fit.volumes_hm3.tolist() == [99.0, 101.0]  # 0.5 % of 200 hm3 on both sides
    assert fit.fit.planes[:, :3] == pytest.approx(np.array([(0.0, 0.0, 0.00981 * 0.92 * 0.97 * 85.0)]))


def test_one_volume_point_is_a_run_of_river_plant(case):
    config_of(case)["volume_discretization_points"] = 1
    (fit,) = load(case.write()).production_fits
    assert fit.fit.volumes_hm3.tolist() == [0.0, 1.0]  # the geometry begins at 0


@pytest.mark.parametrize("limit", ["max_turbined_m3s", "max_generation_mw"])
def test_a_plant_without_capacity_has_productivity_zero(case, limit):
    hydro_of(case)["generation"][limit] = 0.0
    study = load(case.write())
    assert study.production_fits == ()
    assert study.tables.hydro.productivity_mw_per_m3s.tolist() == [[0.0, 0.0]]


def test_without_losses_and_efficiency_there_are_none(case):
    for name in ("tailrace", "hydraulic_losses", "efficiency"):
        del hydro_of(case)[name]
    study, report = load_with_report(case.write())
    assert study.production_fits[0].fit.peak_mw == pytest.approx(0.00981 * 50.0 * 100.0)
    (warning,) = [each for each in report.warnings if each.file == "system/hydros.json"]
    assert warning.field == "tailrace"
    assert "tail water at height 0 m, no hydraulic losses, efficiency 1" in warning.message


def test_the_history_says_how_much_is_spilled(case):
    hydro_of(case)["tailrace"] = {"type": "polynomial", "coefficients": [0.0, 0.01, 0.0001]}
    by_turbine = planes_of(case)[:, 3]
    case.tables["scenarios/inflow_history.parquet"] = {
        "hydro_id": [0, 0],
        "date": [100, 131],
        "value_m3s": [10.0, 30.0],
    }
    case.tables["scenarios/inflow_ar_coefficients.parquet"] = {
        "hydro_id": [0],
        "stage_id": [0],
        "lag": [1],
        "coefficient": [0.0],
        "residual_std_ratio": [1.0],
    }
    for stage in case.documents["stages.json"]["stages"]:
        stage["season_id"] = stage["id"]
    case.documents["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [10.0]}]
    by_history = planes_of(case)[:, 3]  # spills up to 40 instead of 100 m3/s
    assert np.all(by_turbine < by_history)


def test_piecewise_tailraces_are_sorted_by_outflow(case):
    points = [{"outflow_m3s": 60.0, "height_m": 6.0}, {"outflow_m3s": 0.0, "height_m": 0.0}]
    hydro_of(case)["tailrace"] = {"type": "piecewise", "points": points}
    one = digest(load(case.write()))
    points.reverse()
    assert digest(load(case.write())) == one
    (fit,) = load(case.write()).production_fits
    assert fit.fit.exact_mw[0, -1] == pytest.approx(0.00981 * 0.92 * 0.97 * 50.0 * 45.0)


def curves(*families):
    """Columns of ``tailrace_curves``: (level, constant height) per family of hydro 0."""
    n = len(families)
    zeros = {f"coefficient_{power}": [0.0] * n for power in (1, 2, 3, 4)}
    return {
        "hydro_id": [0] * n,
        "family_id": list(range(n)),
        "downstream_reference_level_m": [level for level, _ in families],
        "segment_id": [0] * n,
        "outflow_min_m3s": [0.0] * n,
        "outflow_max_m3s": [500.0] * n,
        "coefficient_0": [height for _, height in families],
        **zeros,
    }


def add_lower_plant(case):
    """A plant below with a reservoir from 10 to 50 hm3 and heights from 10 to 50 m."""
    below = {
        **hydro_of(case),
        "id": 7,
        "name": "BELOW",
        "reservoir": {"min_storage_hm3": 10.0, "max_storage_hm3": 50.0},
    }
    below["generation"] = {
        **below["generation"],
        "model": "constant_productivity",
        "productivity_mw_per_m3s": 0.1,
    }
    for name in ("tailrace", "hydraulic_losses", "efficiency"):
        del below[name]
    case.documents["system/hydros.json"]["hydros"].append(below)
    hydro_of(case)["downstream_id"] = 7
    case.documents["initial_conditions.json"]["storage"].append({"hydro_id": 7, "value_hm3": 30.0})
    geometry = case.tables[GEOMETRY]
    for name, values in {"hydro_id": [7, 7], "volume_hm3": [10.0, 50.0], "height_m": [10.0, 50.0]}.items():
        geometry[name] = geometry[name] + values
    geometry["area_km2"] = geometry["area_km2"] + [1.0, 1.0]


def tail_water(case):
    """Height of the tail water, from the power of a full reservoir."""
    (fit,) = load(case.write()).production_fits
    return 100.0 - fit.fit.exact_mw[-1, -1] / (0.00981 * 0.92 * 0.97 * 50.0)


def test_tailrace_curves_replace_the_tailrace_of_the_plant(case):
    case.tables[CURVES] = curves((None, 12.0))
    assert tail_water(case) == pytest.approx(12.0)


def test_an_unknown_level_takes_the_lowest_family(case):
    case.tables[CURVES] = curves((40.0, 25.0), (30.0, 5.0))
    assert tail_water(case) == pytest.approx(5.0)


def test_families_follow_the_level_below_at_its_reference_volume(case):
    add_lower_plant(case)
    case.tables[CURVES] = curves((30.0, 5.0), (40.0, 25.0))
    # 0.65 of the range 10..50 is 36 hm3, so 36 m: 0.6 of the way from 5 to 25.
    assert tail_water(case) == pytest.approx(17.0)


@pytest.mark.parametrize(
    ("reference", "height"),
    [({"volume_hm3": 32.0}, 9.0), ({"percentile": 0.7}, 21.0), ({"percentile": 1.0}, 25.0)],
)
def test_the_reference_volume_of_the_plant_below_can_be_given(case, reference, height):
    add_lower_plant(case)
    case.tables[CURVES] = curves((30.0, 5.0), (40.0, 25.0))
    choice = {"model": "constant_productivity", "reference_volume": reference}
    case.documents[MODELS]["production_models"].append(
        {
            "hydro_id": 7,
            "selection_mode": "stage_ranges",
            "stage_ranges": [{"start_stage_id": 0, "end_stage_id": None, **choice}],
        }
    )
    assert tail_water(case) == pytest.approx(height)


def test_a_level_that_changes_by_stage_gives_another_fit(case):
    add_lower_plant(case)
    case.tables[CURVES] = curves((30.0, 5.0), (40.0, 25.0))
    ranges = [
        {
            "start_stage_id": stage,
            "end_stage_id": stage,
            "model": "constant_productivity",
            "reference_volume": {"volume_hm3": volume},
        }
        for stage, volume in ((0, 32.0), (1, 38.0))
    ]
    case.documents[MODELS]["production_models"].append(
        {"hydro_id": 7, "selection_mode": "stage_ranges", "stage_ranges": ranges}
    )
    assert [each.stages for each in load(case.write()).production_fits] == [(0,), (1,)]


@pytest.mark.parametrize(
    "reduction",
    [
        {"method": "angle", "tolerance_deg": 5.0},
        {"method": "distance", "tolerance_pct": 1.0, "n_samples": 50},
    ],
)
def test_similar_planes_are_merged_where_the_case_asks_for_it(case, reduction):
    case.documents[MODELS]["fpha_plane_reduction"] = reduction
    assert len(planes_of(case)) < 5


def test_results_hold_the_planes_and_their_errors(case, tmp_path):
    cobre.train(case.write(), output=tmp_path / "results")
    planes = pq.read_table(tmp_path / "results" / PLANES)
    assert planes.column_names == [
        *("hydro_id", "stage_id", "plane_id", "gamma_0", "gamma_v", "gamma_q", "gamma_s", "kappa"),
        *("valid_v_min_hm3", "valid_v_max_hm3", "valid_q_max_m3s"),
    ]
    assert [str(kind) for kind in planes.schema.types] == ["int32"] * 3 + ["double"] * 8
    assert planes["stage_id"].to_pylist() == [0] * 5 + [1] * 5
    assert planes["plane_id"].to_pylist() == [0, 1, 2, 3, 4] * 2
    assert set(planes["kappa"].to_pylist()) == {1.0}
    points = pq.read_table(tmp_path / "results" / POINTS)
    assert points.column_names == "hydro_id stage_id v q fph_exact fpha_fitted deviation relative".split()
    assert points.num_rows == 25
    assert set(points["stage_id"].to_pylist()) == {None}
    worst = max(points.to_pylist(), key=lambda row: row["relative"])
    assert (worst["v"], worst["q"]) == (50.0, 12.5)
    assert worst["deviation"] == pytest.approx(2.960580, abs=1e-6)
    assert worst["deviation"] == worst["fpha_fitted"] - worst["fph_exact"]
    assert worst["relative"] == pytest.approx(2.960580010247532 / 43.77222, rel=1e-12)


def test_errors_of_a_fit_are_not_written_where_the_case_says_no(case, tmp_path):
    cobre.train(case.write(), output=tmp_path / "results")
    case.documents["config.json"]["exports"] = {"fpha_deviation_points": False}
    cobre.train(case.write(), output=tmp_path / "results")
    assert (tmp_path / "results" / PLANES).exists()
    assert not (tmp_path / "results" / POINTS).exists()


def test_tables_of_an_earlier_run_do_not_stay(case, tmp_path):
    cobre.train(case.write(), output=tmp_path / "results")
    del case.documents[MODELS]["production_models"][0]["stage_ranges"][0]["fpha_config"]
    planes = {"plane_id": [0], "gamma_0": [0.0], "gamma_v": [0.0], "gamma_q": [0.7], "gamma_s": [0.0]}
    case.tables["system/fpha_hyperplanes.parquet"] = {"hydro_id": [0], **planes}
    cobre.train(case.write(), output=tmp_path / "results")
    assert not (tmp_path / "results" / PLANES).exists()
    assert not (tmp_path / "results" / POINTS).exists()


def test_two_workers_give_the_same_bits(case, tmp_path):
    alone = cobre.train(case.write(), output=tmp_path / "one")
    together = cobre.train(case.path, num_workers=2, output=tmp_path / "two")
    assert together.final_lower_bound == alone.final_lower_bound
    for name in (PLANES, POINTS):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_planes_that_are_read_back_give_the_same_bound(case, tmp_path):
    hydro_of(case)["tailrace"] = {"type": "polynomial", "coefficients": [1.0, 0.05]}
    fitted = cobre.train(case.write(), output=tmp_path / "results")
    table = pq.read_table(tmp_path / "results" / PLANES)
    case.tables["system/fpha_hyperplanes.parquet"] = {
        name: table[name].combine_chunks() for name in table.column_names
    }
    config_of(case)["source"] = "precomputed"
    assert cobre.train(case.write()).final_lower_bound == fitted.final_lower_bound
