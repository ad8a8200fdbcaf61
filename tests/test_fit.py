"""``cobre.fit``: the model that training would use, written as files that give the same study again."""

from __future__ import annotations

import json
import shutil
import sys

import pyarrow.parquet as pq
import pytest

import cobre
from cobre.core.digest import digest
from cobre.io.write.fit_plots import season_labels
from cobre.stochastic.fitting.calendar import Level
from commands import run_command
from history_cases import HISTORY, LAGS, STATS, history_case
from inflow_records import river


@pytest.fixture
def folder(tmp_path):
    return history_case(tmp_path / "case").write()


def test_it_gives_orders_and_a_verdict_per_plant(folder):
    result = cobre.fit(folder)
    assert [len(orders) for orders in result.orders] == [12, 12]
    assert [verdict.word for verdict in result.verdicts] == ["good", "good"]
    assert result.diagnostics[0].n_series >= 100
    assert repr(result) == "FitResult(fitted 2 plants: 2 good)"
    assert not (folder / "output").exists()


@pytest.mark.parametrize("selection", ["pacf", "pacf_annual"])
def test_the_written_files_make_the_study_that_training_would_use(tmp_path, selection):
    folder = history_case(tmp_path / "case", order_selection=selection).write()
    fitted = cobre.load_case(folder)
    cobre.fit(folder, output=tmp_path / "fitted", n_series=0)
    for name in ("inflow_seasonal_stats.parquet", "inflow_ar_coefficients.parquet", "correlation.json"):
        shutil.copy(tmp_path / "fitted" / name, folder / "scenarios" / name)
    shutil.copy(tmp_path / "fitted" / "inflow_annual_component.parquet", folder / "scenarios")
    assert digest(cobre.load_case(folder).scenarios) == digest(fitted.scenarios)


def test_the_report_names_orders_coefficients_and_reductions(folder, tmp_path):
    result = cobre.fit(folder, output=tmp_path / "fitted", n_series=100)
    report = json.loads((tmp_path / "fitted" / "fitting_report.json").read_bytes())
    assert list(report["hydros"]) == ["0", "1"]
    for h, hydro in enumerate(report["hydros"].values()):
        assert hydro["selected_order"] == max(result.orders[h]) == max(map(len, hydro["coefficients"]))
        assert hydro["verdict"] == "good"
        for event in hydro.get("contribution_reductions", []):
            assert set(event) == {"season_id", "original_order", "reduced_order", "contributions", "reason"}


def test_diagnostics_are_written_as_tables_with_ids_of_hydros(tmp_path):
    folder = history_case(tmp_path / "case").write()
    cobre.fit(folder, output=tmp_path / "fitted", n_series=100)
    tables = {
        path.stem: pq.read_table(path) for path in (tmp_path / "fitted" / "diagnostics").glob("*.parquet")
    }
    assert sorted(tables) == ["autocorrelation", "pairs", "residuals", "seasons", "verdicts", "years"]
    assert tables["pairs"].to_pylist()[0]["other_hydro_id"] == 1
    measures = set(tables["years"]["measure"].to_pylist())
    assert measures == {"longest_drought", "largest_deficit_hm3", "annual_deviation"}
    assert set(tables["seasons"]["measure"].to_pylist()) == {
        "mean",
        "deviation",
        "skewness",
        "autocorrelation",
    }
    row = tables["seasons"].to_pylist()[0]
    assert row["low"] <= row["synthetic"] <= row["high"]


def test_two_fits_write_the_same_bytes(folder, tmp_path):
    for name in ("one", "two"):
        cobre.fit(folder, output=tmp_path / name, n_series=100)
    one, two = (
        sorted(path for path in (tmp_path / name).rglob("*") if path.is_file()) for name in ("one", "two")
    )
    assert [path.name for path in one] == [path.name for path in two]
    assert all(first.read_bytes() == second.read_bytes() for first, second in zip(one, two, strict=True))


def test_settings_may_be_laid_over_the_case_s(folder):
    result = cobre.fit(folder, config_overrides={"estimation": {"max_order": 1}}, n_series=0)
    assert max(map(max, result.orders)) == 1
    assert not result.verdicts


def test_too_few_series_are_refused(folder):
    with pytest.raises(cobre.CobreError, match="too few"):
        cobre.fit(folder, n_series=99)


def test_tables_and_pictures_of_an_earlier_fit_do_not_stay(folder, tmp_path):
    cobre.fit(folder, output=tmp_path / "out", n_series=100)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out" / "plots").mkdir()
    (tmp_path / "out" / "plots" / "hydro_77.png").write_bytes(b"of a plant that is gone")
    cobre.fit(folder, output=tmp_path / "out", n_series=0)
    left = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert left == {
        "inflow_seasonal_stats.parquet",
        "inflow_ar_coefficients.parquet",
        "inflow_annual_component.parquet",
        "correlation.json",
        "fitting_report.json",
        "notes.txt",
    }


PICTURES = """
import sys, cobre
from pathlib import Path
folder, out = sys.argv[1:]
tell = lambda count, total: print(count, total, len(list(Path(out, "plots").iterdir())))
cobre.fit(folder, output=out, n_series=100, plots=True, on_picture=tell)
"""


def test_every_picture_is_reported_when_it_is_written(folder, tmp_path):
    """In a process of its own: Matplotlib keeps the files of its fonts open."""
    command = [sys.executable, "-c", PICTURES, str(folder), str(tmp_path / "out")]
    done = run_command(command, check=True, timeout=120)
    assert done.stdout.splitlines() == ["1 3 1", "2 3 2", "3 3 3"]


@pytest.mark.parametrize(("n_series", "has_output"), [(0, True), (100, False)])
def test_plots_without_series_or_a_folder_are_refused(folder, tmp_path, n_series, has_output):
    with pytest.raises(cobre.CobreError, match="plots need"):
        cobre.fit(folder, output=tmp_path / "out" if has_output else None, n_series=n_series, plots=True)
    assert not (tmp_path / "out").exists()


def test_pictures_of_a_study_of_three_months_name_all_months():
    """A cycle has twelve months, also where the case names three of them."""
    level = Level("monthly", (None, None, 2, 3, 4, *[None] * 7))
    assert "".join(season_labels(level)) == "JFMAMJJASOND"


def test_a_case_without_history_has_nothing_to_fit(tmp_path):
    case = history_case(tmp_path / "case")
    del case.tables[HISTORY]
    with pytest.raises(cobre.ValidationError, match="nothing to fit"):
        cobre.fit(case.write())


def test_a_case_that_gives_its_model_has_nothing_to_fit(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[STATS] = {"hydro_id": [0], "stage_id": [0], "mean_m3s": [1.0], "std_m3s": [0.1]}
    case.tables[LAGS] = {
        "hydro_id": [0], "stage_id": [0], "lag": [1], "coefficient": [0.5], "residual_std_ratio": [0.9]
    }  # fmt: skip
    with pytest.raises(cobre.ValidationError, match="gives its inflow model itself"):
        cobre.fit(case.write())


def test_a_wrong_history_is_refused_with_all_its_problems(tmp_path):
    values = river(60)
    values[:, 100] = float("nan")
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.fit(history_case(tmp_path / "case", values).write())
    assert len(caught.value.errors) == 2
