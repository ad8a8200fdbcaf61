"""Evaporation by stage: the month of the start date, and the hours in which its depth evaporates."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import cobre
from cobre.io import load
from cobre.io.loading import validate
from cobre.production.curve import Curve
from cobre.production.evaporation import hours_of_month, linearise_evaporation
from production.small_cases import GEOMETRY, MODELS, d07, hydro_of


@pytest.fixture
def case(tmp_path):
    """D08: one plant of productivity 1, 100 mm a month, an area of 0.5 + 0.005 v km2."""
    case = d07(tmp_path / "case")
    hydro = hydro_of(case)
    for name in ("tailrace", "hydraulic_losses", "efficiency"):
        del hydro[name]
    hydro["generation"].update(model="constant_productivity", productivity_mw_per_m3s=1.0)
    hydro["evaporation"] = {"coefficients_mm": [100.0 + month for month in range(12)]}
    hydro["evaporation"]["coefficients_mm"][1] = 100.0
    del case.documents[MODELS]
    case.tables[GEOMETRY] = {
        "hydro_id": [0, 0], "volume_hm3": [0.0, 200.0], "height_m": [50.0, 60.0], "area_km2": [0.5, 1.5]
    }  # fmt: skip
    return case


def slopes(case):
    return load(case.write()).tables.hydro.evaporation_slope[0].tolist()


def dates(case, *days):
    """Stages between these days, with the hours between them; months keep their 730."""
    for stage, start, end in zip(case.documents["stages.json"]["stages"], days[:-1], days[1:], strict=True):
        stage.update(start_date=start, end_date=end)
        n_days = (dt.date.fromisoformat(end) - dt.date.fromisoformat(start)).days
        if n_days < 28:
            stage["blocks"][0]["hours"] = 24.0 * n_days


def test_d08_reaches_its_bound(case):
    assert cobre.train(case.write()).final_lower_bound == pytest.approx(94644561875 / 36009, abs=1e-4)


def test_d08_with_the_hours_of_the_calendar_reaches_the_bound_of_version_0_18(case):
    """There the stages' 730 h do not count: January has 744 h and February 2024 has 696."""
    study = load(case.write())
    area = Curve((0.0, 200.0), (0.5, 1.5))
    lines = [
        linearise_evaporation(area, 100.0, hours_of_month(stage.start_date), 100.0)
        for stage in study.horizon.stages
    ]
    constant, slope = (np.array([values]) for values in zip(*lines, strict=True))
    hydro = replace(study.tables.hydro, evaporation_base_m3s=constant, evaporation_slope=slope)
    study = replace(study, tables=replace(study.tables, hydro=hydro))
    assert cobre.train(study).final_lower_bound == pytest.approx(2628380.531119177, abs=1e-4)


def test_a_stage_that_is_a_month_has_its_own_hours(case):
    assert slopes(case) == pytest.approx([100.0 * 0.005 / (3.6 * 730.0)] * 2, rel=1e-14)


def test_a_week_evaporates_at_the_rate_of_its_calendar_month(case):
    dates(case, "2024-03-01", "2024-03-08", "2024-03-15")
    assert slopes(case) == pytest.approx([102.0 * 0.005 / (3.6 * 744.0)] * 2, rel=1e-14)


def test_february_of_a_leap_year_is_longer(case):
    dates(case, "2024-02-03", "2024-02-10", "2024-02-17")
    assert slopes(case)[0] == pytest.approx(100.0 * 0.005 / (3.6 * 696.0), rel=1e-14)


def test_the_month_is_that_of_the_date_whatever_the_season(case):
    dates(case, "2024-06-01", "2024-07-01", "2024-08-01")
    for stage in case.documents["stages.json"]["stages"]:
        stage["season_id"] = 0
    rates = [105.0 * 0.005 / (3.6 * 730.0), 106.0 * 0.005 / (3.6 * 730.0)]
    assert slopes(case) == pytest.approx(rates, rel=1e-14)


def test_stages_need_no_season(case):
    assert validate(case.write()).errors == ()


def test_a_lake_without_area_does_not_evaporate_and_is_pointed_out(case):
    case.tables[GEOMETRY]["area_km2"] = [0.0, 0.0]
    report = validate(case.write())
    (warning,) = [each for each in report.warnings if each.file == GEOMETRY]
    assert (warning.entity, warning.field, warning.value) == ("hydro 0 (LAKE)", "area_km2", 0.0)
    assert slopes(case) == [0.0, 0.0]


def test_results_hold_the_linearised_evaporation(case, tmp_path):
    hydro_of(case)["evaporation"]["reference_volumes_hm3"] = [80.0, 90.0] + [100.0] * 10
    cobre.train(case.write(), output=tmp_path / "results")
    table = pq.read_table(tmp_path / "results" / "hydro_models/evaporation_models.parquet")
    assert [str(kind) for kind in table.schema.types] == ["int32", "int32", *["double"] * 3, "string"]
    first, second = table.to_pylist()
    assert (first["stage_id"], second["stage_id"]) == (0, 1)
    assert (first["reference_volume_hm3"], second["reference_volume_hm3"]) == (80.0, 90.0)
    assert first["source"] == "user_supplied"
    assert first["volume_slope_m3s_per_hm3"] == pytest.approx(0.5 / (3.6 * 730.0), rel=1e-14)
    assert first["intercept_m3s"] == pytest.approx(100.0 * 0.5 / (3.6 * 730.0), rel=1e-12)


def test_the_middle_of_the_storage_is_named_as_such(case, tmp_path):
    cobre.train(case.write(), output=tmp_path / "results")
    table = pq.read_table(tmp_path / "results" / "hydro_models/evaporation_models.parquet")
    assert set(table["source"].to_pylist()) == {"default_midpoint"}
    assert set(table["reference_volume_hm3"].to_pylist()) == {100.0}
