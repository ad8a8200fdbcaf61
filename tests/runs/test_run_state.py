"""The state of a run, folded from its events."""

from __future__ import annotations

import json

import pytest

import cobre
from cobre.study import RunState
from cobre.study.run_log import EVENTS
from sddp.studies import study
from sddp.trained import settings


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    cobre.train(study(training=settings(5, 2)), output=folder)
    return [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]


def folded(*events):
    state = RunState()
    state.fold(events)
    return state


def test_a_whole_run(events):
    state = folded(*events)
    assert state.status == "complete"
    assert [each.iteration for each in state.iterations] == [1, 2, 3, 4, 5]
    assert all(each.facts is not None for each in state.iterations)
    assert state.rules[0]["detail"] == "5 of 5 iterations"
    assert state.terminated["reason"] == "iteration_limit"
    assert (state.n_missing, state.n_foreign) == (0, 0)
    assert state.time_left_s() == 0.0


def test_every_prefix_is_a_state(events):
    for end in range(len(events)):
        state = folded(*events[:end])
        assert state.is_over is False
        assert state.time_left_s() is None or state.time_left_s() >= 0.0


def test_gaps_are_counted_and_survived(events):
    progress = [each for each in events if each["type"] == "progress"]
    state = folded(progress[0], progress[4])
    assert [each.iteration for each in state.iterations] == [1, 5]
    assert state.n_missing > 0


@pytest.mark.parametrize(
    "garbage",
    [None, 3, "text", [], {}, {"type": "nonsense"}, {"type": "progress"}, {"type": "iteration", "iteration": []},
     {"type": "progress", "phase": "training", "iteration": "x"}, {"type": 7}, {"type": "finished"}],
)  # fmt: skip
def test_malformed_events_never_crash(events, garbage):
    state = folded(*events[:6], garbage, *events[6:])
    assert state.n_foreign == 1
    assert state.status == "complete"
    assert len(state.iterations) == 5


def test_a_restarted_run_forgets_iterations_after_its_checkpoint(events):
    progress = [each for each in events if each["type"] == "progress"]
    state = folded(events[0], *progress, progress[2])
    assert [each.iteration for each in state.iterations] == [1, 2, 3]


def test_a_limit_that_was_changed_counts_from_then_on(events):
    act = {"type": "control", "action": "set_rule", "iteration": 1, "error": None}
    act["arguments"] = {"rule": "iteration_limit", "values": {"limit": 7}}
    state = folded(events[0], act)
    assert state.iteration_limit == 7
    state.fold([{**act, "arguments": {"rule": "time_limit", "values": {"seconds": 1}}}])
    state.fold(
        [{**act, "arguments": {"rule": "iteration_limit", "values": {"limit": 0}}, "error": "refused"}]
    )
    state.fold([{**act, "arguments": None}, {**act, "arguments": {"rule": "iteration_limit", "values": {}}}])
    assert state.iteration_limit == 7
    changed = {rule["rule"]: (rule["values"], rule["detail"]) for rule in state.rules}
    assert changed["iteration_limit"] == ({"limit": 7}, "changed: limit = 7")
    assert changed["time_limit"] == ({"seconds": 1}, "changed: seconds = 1")
    state.fold(events[1:3])  # what an iteration tells replaces it
    assert not any(rule["detail"].startswith("changed") for rule in state.rules)


def test_pauses_are_seen(events):
    act = {"type": "control", "action": "pause", "arguments": {}, "iteration": 1, "error": None}
    state = folded(events[0], act)
    assert state.status == "paused"
    state.fold([{**act, "action": "resume", "error": "the run is not paused"}])
    assert state.status == "paused"
    state.fold([{**act, "action": "resume"}])
    assert state.status == "running"
