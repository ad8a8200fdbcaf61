"""Settings given in a call are laid over those of the file."""

from __future__ import annotations

import pytest

import cobre
from cobre.core.config import IterationLimit


def test_dicts_merge_and_lists_replace(case):
    folder = case.write()
    rules = [{"type": "iteration_limit", "limit": 3}]
    study = cobre.load_case(
        folder, {"training": {"stopping_rules": rules, "solver": {"retry_max_attempts": 1}}}
    )
    training = study.config.training
    assert training.stopping_rules == (IterationLimit(3),)
    assert training.forward_passes == 8  # from the file
    assert (training.retries.max_attempts, training.retries.time_budget_seconds) == (1, 30.0)
    assert cobre.load_case(folder).config.training.retries.max_attempts == 5


def test_a_group_that_the_file_lacks_can_be_given(case):
    overrides = {"modeling": {"inflow_non_negativity": {"method": "none"}}}
    del case.documents["config.json"]["modeling"]
    assert cobre.load_case(case.write(), overrides).config.inflow_non_negativity == "none"


@pytest.mark.parametrize(
    ("overrides", "field", "value"),
    [
        ({"trainig": {"forward_passes": 3}}, "trainig", "{'forward_passes': 3}"),
        ({"training": {"forward_pases": 3}}, "training.forward_pases", "3"),
        (
            {"training": {"scenario_source": {"inflow": {"sheme": "x"}}}},
            "training.scenario_source.inflow.sheme",
            "'x'",
        ),
        ({3: 4}, "3", "4"),
    ],
)
def test_an_unknown_key_is_refused(case, overrides, field, value):
    with pytest.raises(cobre.ValidationError, match="which is no setting") as caught:
        cobre.load_case(case.write(), overrides)
    (error,) = caught.value.errors
    assert (error["entity"], error["field"], error["value"]) == ("config_overrides", field, value)
    assert error["remedy"].startswith("use ")


def test_a_wrong_value_is_reported_like_one_in_the_file(case):
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.load_case(case.write(), {"training": {"forward_passes": "many"}})
    (error,) = caught.value.errors
    assert (error["kind"], error["field"], error["value"]) == (
        "TypeMismatch",
        "training.forward_passes",
        "many",
    )


def test_an_override_can_replace_a_whole_group_by_nothing(case):
    case.documents["config.json"]["policy"] = {"mode": "resume"}
    assert cobre.load_case(case.write(), {"policy": None}).config.training.forward_passes == 8
