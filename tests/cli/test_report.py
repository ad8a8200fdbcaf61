"""``cobre report``: JSON by default, a page with ``--html``, and what it refuses."""

from __future__ import annotations

import json

import pytest

SHORT = {"training": {"forward_passes": 1, "stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    import cobre
    from cobre.io.examples import write_example

    folder = tmp_path_factory.mktemp("cases") / "example"
    write_example(folder)
    policy = cobre.train(folder, config_overrides=SHORT, output=folder / "output").policy
    cobre.simulate(folder, policy, config_overrides=SHORT, scenarios=3, output=folder / "output")
    return folder


def test_json_is_the_default(cobre, case):
    document = json.loads(cobre("report", case, check=0).stdout)
    assert document["training"]["iterations"] == 2


def test_a_page_is_written_and_its_size_reported(cobre, case, tmp_path):
    page = tmp_path / "new folder" / "report.html"
    done = cobre("report", case, "--html", page, check=0)
    assert str(page) in done.stdout
    assert "MB" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>\n")


def test_two_runs_are_compared(cobre, case, tmp_path):
    cobre("report", case, "--html", tmp_path / "both.html", "--compare", case, check=0)
    assert "Both runs side by side" in (tmp_path / "both.html").read_text(encoding="utf-8")


def test_comparing_needs_a_page(cobre, case):
    done = cobre("report", case, "--compare", case, check=4)
    assert "--compare needs --html" in done.stderr


def test_a_folder_without_results_is_named(cobre, tmp_path):
    done = cobre("report", tmp_path, "--html", tmp_path / "report.html", check=2)
    assert "holds no results" in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_named(cobre, case, tmp_path):
    (tmp_path / "file").write_text("")
    done = cobre("report", case, "--html", tmp_path / "file" / "report.html", check=2)
    assert "report.html" in done.stderr or "file" in done.stderr


def test_a_damaged_table_is_named(cobre, case, tmp_path):
    import shutil

    shutil.copytree(case, tmp_path / "case")
    path = tmp_path / "case/output/simulation/hydros/scenario_id=0001/data.parquet"
    path.write_bytes(path.read_bytes()[:100])
    done = cobre("report", tmp_path / "case", "--html", tmp_path / "report.html", check=1)
    assert "hydros" in done.stderr
    assert "simulate again" in done.stderr
    assert not (tmp_path / "report.html").exists()
