"""``exports.stochastic``: the noise and the inflow model of a run as files of a case."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cobre
from history_cases import CORRELATION, HISTORY, LAGS, history_case

TABLES = ("noise_openings", "inflow_seasonal_stats", "inflow_ar_coefficients", "inflow_annual_component")


def settings(limit):
    return {
        "training": {"stopping_rules": [{"type": "iteration_limit", "limit": limit}], "forward_passes": 2}
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A case with a history, what training wrote, and the result."""
    folder = tmp_path_factory.mktemp("export")
    case = history_case(folder / "case", order_selection="pacf_annual")
    case.documents["config.json"]["exports"] = {"stochastic": True}
    result = cobre.train(case.write(), output=folder / "output", config_overrides=settings(2))
    return case, folder / "output" / "stochastic", result


def test_it_writes_the_columns_of_the_case_format(run):
    _, folder, _ = run
    schemas = {name: pq.read_schema(folder / f"{name}.parquet") for name in TABLES}
    assert [(f.name, str(f.type)) for f in schemas["noise_openings"]] == [
        ("stage_id", "int32"),
        ("opening_index", "uint32"),
        ("entity_index", "uint32"),
        ("value", "double"),
    ]
    assert schemas["inflow_ar_coefficients"].names == [
        "hydro_id", "stage_id", "lag", "coefficient", "residual_std_ratio"
    ]  # fmt: skip
    stages = pq.read_table(folder / "inflow_seasonal_stats.parquet")["stage_id"].to_pylist()
    assert min(stages) < 0, "statistics of the months before the study are there too"


def test_a_case_made_of_them_trains_to_the_same_bits(run, tmp_path):
    _, folder, result = run
    given = history_case(tmp_path / "case", order_selection="pacf_annual")
    del given.tables[HISTORY]
    written = given.write()
    for name in TABLES:
        shutil.copy(folder / f"{name}.parquet", written / "scenarios")
    shutil.copy(folder / "correlation.json", written / CORRELATION)
    again = cobre.train(written, config_overrides=settings(2))
    assert again.final_lower_bound == result.final_lower_bound
    assert replace(again.policy, identity=result.policy.identity) == result.policy


def test_the_report_names_order_and_coefficients_of_every_hydro(run):
    _, folder, _ = run
    hydros = json.loads((folder / "fitting_report.json").read_text())["hydros"]
    assert sorted(hydros) == ["0", "1"]
    for hydro in hydros.values():
        assert hydro["selected_order"] == max(map(len, hydro["coefficients"]))
        assert len(hydro["coefficients"]) == 12


def test_a_run_without_it_leaves_no_openings_of_another_run_and_keeps_what_was_fitted(run, tmp_path):
    case, folder, _ = run
    output = tmp_path / "output"
    shutil.copytree(folder, output / "stochastic")
    off = {**settings(1), "exports": {"stochastic": False}}
    cobre.train(case.path, output=output, config_overrides=off)
    left = {path.name for path in (output / "stochastic").iterdir()}
    assert left == {path.name for path in folder.iterdir()} - {"noise_openings.parquet"}


def test_without_a_fit_there_is_no_report_and_random_loads_are_written(tmp_path):
    from case_folders import example_case

    case = example_case(tmp_path / "case")
    case.documents["config.json"]["exports"] = {"stochastic": True}
    cobre.train(case.write(), output=tmp_path / "output", config_overrides=settings(1))
    written = {path.name for path in (tmp_path / "output" / "stochastic").iterdir()}
    assert "fitting_report.json" not in written
    assert "load_seasonal_stats.parquet" in written
    lags = pq.read_table(tmp_path / "output" / "stochastic" / "inflow_ar_coefficients.parquet")
    assert lags.num_rows == len(case.tables[LAGS]["lag"])


def selective_case(folder):
    """Openings that stand for clusters of different size in every stage but the first."""
    from case_folders import example_case

    case = example_case(folder)
    for stage in case.documents["stages.json"]["stages"][1:]:
        stage.update(sampling_method="selective", num_scenarios=3)
    return case


def test_openings_of_different_probability_keep_it_in_a_case_made_of_them(tmp_path):
    case = selective_case(tmp_path / "case")
    case.documents["config.json"]["exports"] = {"stochastic": True}
    result = cobre.train(case.write(), output=tmp_path / "output", config_overrides=settings(1))
    written = tmp_path / "output/stochastic/noise_openings.parquet"
    table = pq.read_table(written)
    assert table.column_names[-1] == "probability"
    assert set(table.filter(pc.equal(table["stage_id"], 0))["probability"].to_pylist()) == {None}
    is_one = pc.and_(pc.equal(table["stage_id"], 1), pc.equal(table["entity_index"], 0))
    of_one = table.filter(is_one)
    assert sum(of_one["probability"].to_pylist()) == pytest.approx(1.0)
    assert len(set(of_one["probability"].to_pylist())) > 1
    given = selective_case(tmp_path / "given").write()
    shutil.copy(written, given / "scenarios")
    again = cobre.train(given, config_overrides=settings(1))
    assert again.final_lower_bound == result.final_lower_bound
    assert replace(again.policy, identity=result.policy.identity) == result.policy
