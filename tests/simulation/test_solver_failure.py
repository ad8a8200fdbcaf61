"""A simulated scenario whose linear program has no solution."""

from __future__ import annotations

import tempfile
from dataclasses import replace

import pytest

import cobre
from cobre.core.config import ScenarioSource
from sddp.cases import make_case
from sddp.specs import BusSpec, HydroSpec, ThermalSpec
from sddp.trained import settings, trained

N = 40


@pytest.fixture(scope="module")
def case():
    """The tree has inflows of 5 and 10; fresh noise of the same model falls below zero, which nothing can meet."""
    case = make_case(
        2,
        hours=100.0,
        buses=[BusSpec(load=10.0)],
        thermals=[ThermalSpec()],
        hydros=[HydroSpec(inflow=5.0, inflow_std=5.0)],
        given_openings=[[[0.0], [1.0]]] * 2,
        openings=2,
        training=settings(2),
    )
    source = ScenarioSource("out_of_sample", "in_sample", "in_sample", seed=3)
    simulation = replace(case.config.simulation, scenario_source=source)
    return replace(case, config=replace(case.config, simulation=simulation))


@pytest.fixture(autouse=True)
def _models_here(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "models"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "models").mkdir()


def assert_story(error, tmp_path):
    assert error.solver_status == "infeasible"
    models = list((tmp_path / "models").glob("*.mps"))  # of each rank that met such a scenario
    assert sum(str(model) in str(error) for model in models) == 1
    assert f"stage {error.stage}, simulation, scenario " in str(error)
    assert "must be" in str(error)


def test_names_stage_scenario_and_model_file(case, tmp_path):
    with pytest.raises(cobre.SolverError) as caught:
        cobre.simulate(case, trained(case).policy, scenarios=N, output=tmp_path / "out")
    assert_story(caught.value, tmp_path)
    assert not (tmp_path / "out" / "simulation" / "_SUCCESS").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", ["by_scenario", "by_table"])
def test_ends_all_workers(case, tmp_path, layout):
    simulation = replace(case.config.simulation, layout=layout)
    case = replace(case, config=replace(case.config, simulation=simulation))
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.simulate(case, trained(case).policy, 3, scenarios=N, output=tmp_path / "out")
    assert isinstance(caught.value.inner, cobre.SolverError)
    assert_story(caught.value.inner, tmp_path)
    left = [path for path in (tmp_path / "out").rglob("*") if path.name.startswith((".", "_SUCCESS"))]
    assert left == []
