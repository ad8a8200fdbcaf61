"""What a prompt shows of the objects of a study: one short line each."""

from __future__ import annotations

import pytest

import cobre
from cobre.core.config import BoundStalling, Config, CutSelection, ScenarioSource, TrainingConfig
from cobre.core.entities import Bus, System
from cobre.io.examples import write_example

LIMIT = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
SHORT = 200


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "example"
    write_example(path)
    return cobre.load_case(path, LIMIT)


def test_a_case_says_its_name_and_size(case):
    assert repr(case) == (
        "<Case 'example' of 12 stages: 3 buses, 2 lines, 3 thermals, 2 hydros, 1 non-controllable source>"
    )


@pytest.mark.parametrize("name", ["system", "horizon", "tables", "scenarios", "initial", "config"])
def test_every_part_of_a_case_has_a_short_text(case, name):
    assert len(repr(getattr(case, name))) <= SHORT


def test_kinds_of_which_there_are_none_are_left_out():
    assert repr(System(buses=(Bus(0, "A", ()),))) == "<System of 1 bus>"


def test_settings_show_what_differs_from_the_defaults():
    settings = Config(
        TrainingConfig(
            forward_passes=4,
            stopping_rules=(BoundStalling(5, 1e-3),),
            scenario_source=ScenarioSource(load="external"),
            cut_selection=CutSelection("level1"),
        )
    )
    assert repr(settings) == (
        "Config(training=TrainingConfig(forward_passes=4, "
        "stopping_rules=(BoundStalling(iterations=5, tolerance=0.001),), "
        "scenario_source=ScenarioSource(load='external'), cut_selection=CutSelection(method='level1')))"
    )
    assert repr(Config()) == "Config()"


def test_a_result_and_its_policy_say_how_training_went(case):
    result = cobre.train(case)
    assert repr(result) == (
        f"<TrainingResult of 2 iterations (iteration_limit): lower bound {result.final_lower_bound:,.2f}, "
        f"{result.total_cuts} cuts>"
    )
    assert repr(result.policy) == f"<Policy of 12 stages, {result.total_cuts} cuts>"


def test_results_have_a_short_text(case, tmp_path):
    result = cobre.train(case, output=tmp_path)
    assert repr(cobre.load_results(tmp_path).training) == (
        f"<TrainingRecord of 2 iterations in {tmp_path}: lower bound {result.final_lower_bound:,.2f}>"
    )


def test_the_class_of_a_case_has_a_public_name(case):
    assert isinstance(case, cobre.Case)
