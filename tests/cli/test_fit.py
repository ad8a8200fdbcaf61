"""``cobre fit`` as a user meets it."""

from __future__ import annotations

import io
import json

import pytest

from cobre.cli.fit import Pictures
from history_cases import HISTORY, history_case
from inflow_records import river


@pytest.fixture
def folder(tmp_path):
    return history_case(tmp_path / "case").write()


def test_it_shows_a_line_per_plant_and_says_where_the_files_are(cobre, folder):
    done = cobre("fit", folder, "--series", 100, check=0)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["hydro", "years", "lags", "by", "season", "verdict"]
    assert lines[1].startswith("0 UPPER  60 ")
    assert lines[-2] == "fitted 2 plants: 2 good"
    assert lines[-1] == f"written to {folder / 'output' / 'stochastic'}"
    assert (folder / "output" / "stochastic" / "inflow_ar_coefficients.parquet").exists()


def test_warnings_about_the_history_come_first(cobre, tmp_path):
    values = river(60)
    values[0, 9] = -2.0
    done = cobre("fit", history_case(tmp_path / "case", values).write(), "--series", 0, check=0)
    assert (
        "warning: scenarios/inflow_history.parquet: hydro 0 (UPPER): 1 of 720 records are negative"
        in done.stderr
    )
    assert "fix: " in done.stderr


def test_pictures_are_drawn_on_demand_whatever_the_names_of_plants(cobre, tmp_path):
    case = history_case(tmp_path / "case")
    case.documents["system/hydros.json"]["hydros"][0]["name"] = r"A $\frac{ B$"  # no formula
    folder = case.write()
    cobre("fit", folder, "--output", tmp_path / "out", "--series", 100, "--plots", check=0)
    names = sorted(path.name for path in (tmp_path / "out" / "plots").iterdir())
    assert names == ["correlation.png", "hydro_0.png", "hydro_1.png"]
    assert (tmp_path / "out" / "plots" / "hydro_0.png").read_bytes().startswith(b"\x89PNG")


def test_while_many_pictures_are_drawn_a_line_tells_how_many_there_are():
    often, rarely = io.StringIO(), io.StringIO()
    for stream, interval_s in ((often, 0.0), (rarely, 3600.0)):
        pictures = Pictures(stream, interval_s)
        for count in (1, 2, 3):
            pictures.drawn(count, 3)
    assert often.getvalue() == "1 of 3 pictures drawn\n2 of 3 pictures drawn\n"
    assert not rarely.getvalue()


def test_it_answers_in_json(cobre, folder, tmp_path):
    done = cobre(
        "fit", folder, "--output", tmp_path / "out", "--series", 100, "--output-format", "json", check=0
    )
    document = json.loads(done.stdout)
    assert document["command"] == "fit"
    assert document["data"]["hydros"]["1"]["verdict"] == "good"
    assert document["data"]["output_directory"] == str(tmp_path / "out")


def test_a_history_with_a_gap_ends_with_status_1_and_says_where(cobre, tmp_path):
    values = river(60)
    values[1, 200] = float("nan")
    folder = history_case(tmp_path / "case", values).write()
    done = cobre("fit", folder, check=1)
    assert "hydro 1 (LOWER): has no records for 1 of 720 periods: 1977-09" in done.stderr
    assert not (folder / "output").exists()


def test_a_case_without_history_ends_with_status_1(cobre, tmp_path):
    case = history_case(tmp_path / "case")
    del case.tables[HISTORY]
    assert "nothing to fit" in cobre("fit", case.write(), check=1).stderr


def test_a_wrong_number_of_series_is_a_usage_error(cobre, folder):
    done = cobre("fit", folder, "--series", 50, check=4)
    assert "neither 0 nor a number of 100 or more" in done.stderr


def test_a_missing_folder_ends_with_status_2(cobre, tmp_path):
    assert "does not exist" in cobre("fit", tmp_path / "nowhere", check=2).stderr


def test_help_explains_what_is_written(cobre):
    assert "fitting_report.json" in cobre("fit", "--help", check=0).stdout


def test_an_error_comes_with_the_warnings_about_its_file(cobre, tmp_path):
    """Months that are missing, and years in litres per second."""
    values = river(60)
    values[:, 45 * 12 :] *= 1000.0
    values[0, 121:124] = float("nan")
    folder = history_case(tmp_path / "case", values).write()
    done = cobre("fit", folder, "--series", 0, check=1)
    assert "has no records for 3 of 720 periods" in done.stderr
    assert "flows of 2006, 2007" in done.stderr
    assert "are the units right?" in done.stderr
    done = cobre("fit", folder, "--series", 0, "--output-format", "json", check=1)
    assert any("units" in warning["message"] for warning in json.loads(done.stdout)["warnings"])
