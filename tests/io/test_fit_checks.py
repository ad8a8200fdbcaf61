"""Bad data for fitted planes: an error or a warning that names file, hydro, field, value and remedy."""

from __future__ import annotations

import pytest

from cobre.io import load_with_report
from cobre.io.loading import validate
from production.small_cases import CURVES, GEOMETRY, HYDROS, MODELS, config_of, d07, hydro_of

LAKE = "hydro 0 (LAKE)"


@pytest.fixture
def case(tmp_path):
    return d07(tmp_path / "case")


def window(**values):
    return lambda case: config_of(case).update(fitting_window=values)


def plant(**values):
    return lambda case: hydro_of(case).update(values)


def geometry(**columns):
    def change(case):
        n = len(next(iter(columns.values())))
        case.tables[GEOMETRY] = {
            "hydro_id": [0] * n,
            "volume_hm3": [200.0 * k / max(n - 1, 1) for k in range(n)],
            "height_m": [50.0 + 10.0 * k for k in range(n)],
            "area_km2": [1.0] * n,
            **columns,
        }

    return change


def segments(*rows, levels=None, families=None):
    """Tailrace curves of hydro 0: rows (outflow from, to, constant, slope)."""

    def change(case):
        n = len(rows)
        case.tables[CURVES] = {
            "hydro_id": [0] * n,
            "family_id": families or [0] * n,
            "downstream_reference_level_m": levels or [None] * n,
            "segment_id": list(range(n)),
            "outflow_min_m3s": [row[0] for row in rows],
            "outflow_max_m3s": [row[1] for row in rows],
            "coefficient_0": [row[2] for row in rows],
            "coefficient_1": [row[3] for row in rows],
            **{f"coefficient_{power}": [0.0] * n for power in (2, 3, 4)},
        }

    return change


def points(*pairs):
    entries = [{"outflow_m3s": flow, "height_m": height} for flow, height in pairs]
    return plant(tailrace={"type": "piecewise", "points": entries})


def polynomial(*coefficients):
    return plant(tailrace={"type": "polynomial", "coefficients": list(coefficients)})


def reference(**values):
    def change(case):
        entry = case.documents[MODELS]["production_models"][0]["stage_ranges"][0]
        entry["reference_volume"] = values

    return change


ERRORS = {
    "no geometry": (lambda case: case.tables.pop(GEOMETRY), "CoverageMismatch", GEOMETRY, "hydro_id", 0, LAKE),
    "heights that fall": (
        geometry(height_m=[50.0, 70.0, 65.0]), "PhysicalConstraint", GEOMETRY, "height_m", 65.0,
        "hydro 0, volume hm3 200.0"),
    "two rows of one volume": (
        geometry(volume_hm3=[0.0, 200.0, 200.0]), "DuplicateId", GEOMETRY, "hydro_id, volume_hm3", [0, 200.0], ""),
    "tail water above the forebay": (
        polynomial(150.0), "PhysicalConstraint", HYDROS, "tailrace", pytest.approx(-48.5), LAKE),
    "power that falls with the flow": (
        polynomial(0.0, 1.5), "PhysicalConstraint", HYDROS, "tailrace", None, LAKE),
    "a window given twice": (
        window(volume_min_hm3=10.0, volume_min_percentile=0.1), "IncompatibleSettings", MODELS,
        "fpha_config.fitting_window.volume_min_hm3", 10.0, LAKE),
    "an upper end given twice": (
        window(volume_max_hm3=10.0, volume_max_percentile=0.1), "IncompatibleSettings", MODELS,
        "fpha_config.fitting_window.volume_max_hm3", 10.0, LAKE),
    "a window turned round": (
        window(volume_min_hm3=150.0, volume_max_hm3=50.0), "OutOfRange", MODELS, "fpha_config.fitting_window",
        [150.0, 50.0], LAKE),
    "a window outside the geometry": (
        window(volume_min_hm3=300.0, volume_max_hm3=400.0), "OutOfRange", MODELS, "fpha_config.fitting_window",
        [300.0, 400.0], LAKE),
    "a share above one": (
        window(volume_max_percentile=1.5), "OutOfRange", MODELS,
        "stage_ranges[0].fpha_config.fitting_window.volume_max_percentile", 1.5, ""),
    "one flow": (
        lambda case: config_of(case).update(turbine_discretization_points=1), "OutOfRange", MODELS,
        "stage_ranges[0].fpha_config.turbine_discretization_points", 1, ""),
    "an unknown factor": (
        lambda case: config_of(case).update(fit_factor="guess"), "InvalidEnum", MODELS,
        "stage_ranges[0].fpha_config.fit_factor", "guess", ""),
    "an efficiency above one": (
        plant(efficiency={"type": "constant", "value": 92.0}), "OutOfRange", HYDROS, "efficiency.value", 92.0, ""),
    "losses of all head": (
        plant(hydraulic_losses={"type": "factor", "value": 1.0}), "OutOfRange", HYDROS, "hydraulic_losses.value", 1.0,
        ""),
    "losses below zero": (
        plant(hydraulic_losses={"type": "constant", "value_m": -1.0}), "OutOfRange", HYDROS, "hydraulic_losses.value_m",
        -1.0, ""),
    "a tailrace without coefficients": (
        polynomial(), "SchemaViolation", HYDROS, "tailrace.coefficients", None, ""),
    "two heights for one outflow": (
        points((0.0, 1.0), (30.0, 2.0), (30.0, 3.0)), "DuplicateId", HYDROS, "tailrace.points.outflow_m3s", 30.0, LAKE),
    "a reference volume given twice": (
        reference(volume_hm3=10.0, percentile=0.5), "IncompatibleSettings", MODELS, "reference_volume", 10.0, LAKE),
    "an empty reference volume": (
        reference(), "IncompatibleSettings", MODELS, "reference_volume", None, LAKE),
    "an angle above 90 degrees": (
        lambda case: case.documents[MODELS].update(fpha_plane_reduction={"method": "angle", "tolerance_deg": 91.0}),
        "OutOfRange", MODELS, "fpha_plane_reduction.tolerance_deg", 91.0, ""),
    "a segment that ends before it begins": (
        segments((30.0, 30.0, 1.0, 0.0)), "OutOfRange", CURVES, "outflow_min_m3s", 30.0,
        "hydro 0, family 0, segment 0"),
    "a gap between segments": (
        segments((0.0, 30.0, 1.0, 0.0), (30.1, 90.0, 1.0, 0.0)), "CoverageMismatch", CURVES, "outflow_min_m3s", 30.1,
        "hydro 0, family 0, segment 1"),
    "segments that overlap": (
        segments((0.0, 30.0, 1.0, 0.0), (29.0, 90.0, 1.0, 0.0)), "CoverageMismatch", CURVES, "outflow_min_m3s", 29.0,
        "hydro 0, family 0, segment 1"),
    "a jump between segments": (
        segments((0.0, 30.0, 1.0, 0.0), (30.0, 90.0, 1.01, 0.0)), "PhysicalConstraint", CURVES, "coefficient_0", 1.01,
        "hydro 0, family 0, segment 1"),
    "two levels in a family": (
        segments((0.0, 30.0, 1.0, 0.0), (30.0, 90.0, 1.0, 0.0), levels=[5.0, 6.0]), "IncompatibleSettings", CURVES,
        "downstream_reference_level_m", [5.0, 6.0], "hydro 0, family 0"),
    "two families of one level": (
        segments((0.0, 90.0, 1.0, 0.0), (0.0, 90.0, 2.0, 0.0), levels=[5.0, 5.0], families=[0, 1]), "DuplicateId",
        CURVES, "downstream_reference_level_m", 5.0, "hydro 0, family 1"),
    "a family without level among several": (
        segments((0.0, 90.0, 1.0, 0.0), (0.0, 90.0, 2.0, 0.0), levels=[5.0, None], families=[0, 1]), "CoverageMismatch",
        CURVES, "downstream_reference_level_m", None, "hydro 0, family 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_a_place_and_a_remedy(case, name):
    change, kind, file, field, value, entity = ERRORS[name]
    change(case)
    errors = validate(case.write()).errors
    assert [(error.kind, error.file, error.field) for error in errors] == [(kind, file, field)]
    if value is not None:
        assert errors[0].value == value
    assert entity in errors[0].entity
    assert errors[0].remedy


WARNINGS = {
    "a fit that is not good": (
        lambda case: config_of(case).update(volume_discretization_points=2, turbine_discretization_points=2),
        MODELS, "fpha_config", None),
    "geometry that does not reach the storage": (
        geometry(volume_hm3=[0.0, 90.0, 150.0]), GEOMETRY, "volume_hm3", [0.0, 150.0]),
    "one row of a reservoir with a range": (geometry(height_m=[85.0]), GEOMETRY, "volume_hm3", [0.0, 0.0]),
    "one volume of a reservoir with a range": (
        lambda case: config_of(case).update(volume_discretization_points=1),
        MODELS, "fpha_config.volume_discretization_points", 1),
    "a window above the lowest storage": (
        window(volume_min_hm3=60.0), MODELS, "fpha_config.fitting_window", 60.0),
    "no head when the reservoir is empty": (polynomial(60.0), HYDROS, "tailrace", pytest.approx(-9.7)),
    "tail water that falls with the flow": (
        points((0.0, 5.0), (25.0, 4.0), (50.0, 6.0)), HYDROS, "tailrace", None),
    "no efficiency": (lambda case: hydro_of(case).pop("efficiency"), HYDROS, "efficiency", None),
    "more planes than allowed": (
        lambda case: config_of(case).update(max_planes_per_hydro=3), MODELS, "fpha_config.max_planes_per_hydro", 3),
    "a reference volume outside the reservoir": (
        reference(volume_hm3=900.0), MODELS, "reference_volume", 900.0),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_has_a_place_and_a_remedy(case, name):
    change, file, field, value = WARNINGS[name]
    change(case)
    _, report = load_with_report(case.write())
    found = [each for each in report.warnings if (each.file, each.field) == (file, field)]
    assert len(found) == 1, report.warnings
    if value is not None:
        assert found[0].value == value
    assert found[0].entity == LAKE
    assert found[0].remedy


def test_the_warning_of_a_bad_fit_has_its_error(case):
    config_of(case).update(volume_discretization_points=2, turbine_discretization_points=2)
    study, report = load_with_report(case.write())
    (fit,) = study.production_fits
    (warning,) = report.warnings
    assert warning.value == fit.fit.relative_error
    assert warning.value == pytest.approx(0.0258299, abs=1e-6)
    assert "2.58 % of 43.7722 MW on average, at most by 4.38 MW (stage 0, 1)" in warning.message


def test_a_bad_fit_of_merged_planes_names_the_merging(case):
    case.documents[MODELS]["fpha_plane_reduction"] = {"method": "angle", "tolerance_deg": 30.0}
    _, report = load_with_report(case.write())
    (warning,) = (each for each in report.warnings if each.field == "fpha_config")
    assert "fpha_plane_reduction" in warning.remedy


def test_an_error_below_two_percent_is_no_warning(case):
    case.tables[GEOMETRY]["height_m"] = [80.0, 85.0, 89.0, 92.0, 94.0]
    study, report = load_with_report(case.write())
    assert 0.005 < study.production_fits[0].fit.relative_error < 0.02
    assert report.warnings == ()


def test_planes_below_zero_say_which_storage_they_allow(case):
    config_of(case)["fitting_window"] = {"volume_min_hm3": 60.0}
    (warning,) = [w for w in validate(case.write()).warnings if w.field == "fpha_config.fitting_window"]
    assert "the mean storage of a stage cannot be below 60 hm3" in warning.message


def test_tail_water_of_curves_above_the_forebay_is_an_error_of_their_file(case):
    segments((0.0, 90.0, 150.0, 0.0))(case)
    (error,) = validate(case.write()).errors
    assert (error.file, error.field) == (CURVES, "coefficient_0")
    assert error.value == pytest.approx(-48.5)


def test_every_bad_plant_is_named(case):
    hydros = case.documents[HYDROS]["hydros"]
    models = case.documents[MODELS]["production_models"]
    for number in (1, 2):
        hydros.append({**hydros[0], "id": number, "name": f"LAKE {number}"})
        models.append({**models[0], "hydro_id": number})
    errors = [each for each in validate(case.write()).errors if each.file == GEOMETRY]
    assert [each.entity for each in errors] == ["hydro 1 (LAKE 1)", "hydro 2 (LAKE 2)"]


def test_curves_of_a_plant_whose_planes_are_given_are_pointed_out(case):
    config_of(case)["source"] = "precomputed"
    case.tables["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [0], "plane_id": [0], "gamma_0": [0.0], "gamma_v": [0.0], "gamma_q": [0.7], "gamma_s": [0.0]
    }  # fmt: skip
    segments((0.0, 90.0, 1.0, 0.0))(case)
    fields = [(each.file, each.field) for each in validate(case.write()).warnings]
    assert fields == [(HYDROS, "tailrace"), (CURVES, "hydro_id")]


def test_merging_planes_where_none_are_fitted_is_pointed_out(case):
    del case.documents[MODELS]["production_models"][0]["stage_ranges"][0]["fpha_config"]
    case.documents[MODELS]["fpha_plane_reduction"] = {"method": "angle", "tolerance_deg": 1.0}
    case.tables["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [0], "plane_id": [0], "gamma_0": [0.0], "gamma_v": [0.0], "gamma_q": [0.7], "gamma_s": [0.0]
    }  # fmt: skip
    assert "fpha_plane_reduction" in [each.field for each in validate(case.write()).warnings]
