"""What a notebook shows of the objects of a study: pictures without scripts, names as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import cobre
from case_folders import full_case
from report.pages import Page

SETTINGS = {"training": {"forward_passes": 2, "stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The objects by name."""
    folder = tmp_path_factory.mktemp("case")
    full_case(folder).write()
    case = cobre.load_case(folder, SETTINGS)
    results = tmp_path_factory.mktemp("results")
    trained = cobre.train(case, output=results)
    return {
        "case": case,
        "training": trained,
        "policy": trained.policy,
        "simulation": cobre.simulate(case, trained.policy, scenarios=4, output=results),
        "validation": cobre.validate(folder),
        "results": cobre.load_results(results),
    }


@pytest.mark.parametrize("name", ["case", "training", "policy", "simulation", "validation", "results"])
def test_a_picture_has_no_script_and_stands_alone(shown, name):
    page = Page(shown[name]._repr_html_())
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "link", "img", "iframe"}
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    assert page.text.startswith('<div class="cobre"><style>')
    assert (
        re.sub(r"\.cobre[^{}]*|@media[^{]*", "", re.search("<style>(.*)</style>", page.text)[1]).count("{")
        > 20
    )
    assert len(repr(shown[name])) < 200


def test_the_map_of_a_case_says_where_water_flows_and_who_is_connected(shown):
    page = Page(shown["case"]._repr_html_())
    _, *rows = page.tables["Cascades"]
    system = shown["case"].system
    expected = {
        hydro.name: "the sea" if hydro.downstream is None else system.hydros[hydro.downstream].name
        for hydro in system.hydros
    }
    assert {row[0]: row[2] for row in rows} == expected
    head, *buses = page.tables["Network"]
    thermals = {row[0]: int(row[head.index("thermals")]) for row in buses}
    assert sum(thermals.values()) == len(system.thermals)
    assert page.text.count('class="link strong"') == len(system.lines)


def test_training_shows_its_bounds(shown):
    page = Page(shown["training"]._repr_html_())
    bounds = page.column("Bounds by iteration", "lower bound")
    assert bounds["2"] == float(f"{shown['training'].final_lower_bound:.6g}")


def test_results_of_a_folder_show_training_and_simulation(shown):
    results = shown["results"]
    page = Page(results._repr_html_())
    assert (
        page.tables["Bounds by iteration"]
        == Page(shown["training"]._repr_html_()).tables["Bounds by iteration"]
    )
    assert (
        page.tables["Cost of each stage"]
        == Page(shown["simulation"]._repr_html_()).tables["Cost of each stage"]
    )
    assert results.folder.name in page.text
    only_trained = Page(replace(results, simulation=None)._repr_html_())
    assert "Cost of each stage" not in only_trained.tables


def test_a_policy_shows_its_cuts(shown):
    page = Page(shown["policy"]._repr_html_())
    active = page.column("Cuts by stage", "active")
    assert sum(active.values()) == shown["policy"].summary()["active_cuts"]


def test_a_simulation_shows_its_cost(shown):
    page = Page(shown["simulation"]._repr_html_())
    found = shown["simulation"].quantiles("immediate_cost", by=("stage",), table="stage_summary").to_pylist()
    shown_costs = list(page.column("Cost of each stage", "50 %").values())
    assert shown_costs == [pytest.approx(row["p50"], rel=1e-5) for row in found]


def test_findings_of_a_validation_are_text(tmp_path):
    folder = full_case(tmp_path)
    folder.documents["system/hydros.json"]["hydros"][0]["name"] = "<script>alert(1)</script>"
    folder.documents["system/hydros.json"]["hydros"][0]["bus_id"] = 99
    folder.write()
    report = cobre.validate(tmp_path)
    assert repr(report).startswith("<ValidationReport: not valid, ")
    page = Page(report._repr_html_())
    assert not any(tag == "script" for tag, _ in page.tags)
    assert any("99" in row[3] for row in page.tables["Findings"][1:])


def test_a_system_without_hydros_or_lines_has_a_map():
    from simulation.hand_cases import thermal_dispatch

    case = thermal_dispatch()
    page = Page(replace(case, name="\u202e<b>")._repr_html_())
    assert "Cascades" not in page.tables
    assert "Network" in page.tables
    assert not any(tag == "b" for tag, _ in page.tags)


def test_a_stopped_simulation_says_so():
    from pathlib import Path

    from cobre.study.results import SimulationResult

    stopped = SimulationResult({"statistics": None, "scenarios": {"completed": 0}}, Path("nowhere"))
    assert "stopped before its end" in stopped._repr_html_()
