"""What a run tells while it is at work: every line fits the published schema, and none is ever half a line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import jsonschema
import pytest

import cobre
from cobre import study
from cobre.study.event_types import EVENT_FIELDS
from cobre.study.run_log import EVENTS, RUN, RunLog, event_line
from commands import run_command
from sddp.studies import study as small_study
from sddp.trained import settings
from small_case import write_small_case

VALIDATOR = jsonschema.Draft202012Validator(study.event_schema())
DEADLINE_S = 60


def case_of(iterations=4):
    return small_study(training=settings(iterations, 2))


def lines_of(folder):
    return (folder / EVENTS).read_text().splitlines()


def events_of(folder):
    return [json.loads(line) for line in lines_of(folder)]


def check(events):
    """Every event fits the schema and has exactly the fields that are published; none is missing."""
    for event in events:
        VALIDATOR.validate(event)
        expected = [{"type", "seq", *fields} for fields in EVENT_FIELDS[event["type"]]]
        assert set(event) in expected
        assert next(iter(event)) == "type"
    numbers = [event["seq"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def kinds(events):
    return [event["type"] for event in events]


def command(*arguments):
    return [sys.executable, "-m", "cobre", *map(str, arguments)]


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_line_of_a_run_fits_the_published_schema(tmp_path, ranks):
    case = write_small_case(tmp_path / "case", iterations=3, scenarios=4)
    ended = run_command(
        command("run", case, "-n", ranks, "--output-format", "json-lines"), timeout=DEADLINE_S, check=True
    )
    printed = ended.stdout.splitlines()
    events = [json.loads(line) for line in printed]
    check(events)
    assert printed[:-1] == lines_of(case / "output")
    assert kinds(events)[:1] == ["started"]
    assert kinds(events)[-4:] == ["progress", "simulation_finished", "finished", "result"]
    assert kinds(events).count("iteration") == 3
    assert [each["iteration"] for each in events if each.get("phase") == "training"] == [1, 2, 3]
    assert events[0]["ranks"] == ranks
    assert events[-1]["success"] is True
    facts = json.loads((case / "output" / RUN).read_text())
    assert facts["run_id"] == events[0]["run_id"]


@pytest.mark.parametrize("threads", [1, 2, "auto"])
def test_the_start_tells_how_many_threads_each_rank_has(tmp_path, threads):
    result = cobre.train(case_of(1), output=tmp_path, threads=threads)
    cobre.simulate(case_of(1), result.policy, output=tmp_path, scenarios=2, threads=threads)
    events = events_of(tmp_path)
    check(events)
    assert [each["threads_per_rank"] for each in events if each["type"] == "started"] == [threads] * 2


def test_counters_of_an_iteration_are_summed_over_ranks(tmp_path):
    told = {}
    for ranks in (1, 3):
        cobre.train(case_of(), num_workers=ranks, output=tmp_path / str(ranks))
        told[ranks] = [each for each in events_of(tmp_path / str(ranks)) if each["type"] == "iteration"]
    counts = ("iteration", "lp_solves", "cuts_added", "cuts_active", "cuts_total", "cuts_per_stage")
    for one, three in zip(told[1], told[3], strict=True):
        assert [one[name] for name in counts] == [three[name] for name in counts]
    assert told[1][0]["lp_solves"] > 0
    assert told[1][-1]["rules"][0]["detail"] == "4 of 4 iterations"
    assert told[1][-1]["rules"][0]["triggered"] is True


def test_listeners_get_the_events_of_the_folder_and_none_is_needed(tmp_path):
    heard = []
    cobre.train(case_of(), output=tmp_path / "out", on_event=heard.append)
    assert heard == events_of(tmp_path / "out")
    alone = []
    cobre.train(case_of(), on_event=alone.append)
    assert kinds(alone) == [kind for kind in kinds(heard) if kind != "checkpoint"]


def test_the_last_event_of_a_failed_run_has_its_error(tmp_path):
    class Broken(Exception):
        pass

    def callback(event):
        raise Broken("no more")

    with pytest.raises(Broken):
        cobre.train(case_of(), output=tmp_path, progress_callback=callback)
    events = events_of(tmp_path)
    check(events)
    assert events[-1]["status"] == "failed"
    assert events[-1]["error"] == {"type": "Broken", "message": "no more"}


def wait_for(folder, kind, count=1, process=None):
    """Return when the folder tells of so many events of a kind."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        found = [each for each in study.EventFile(folder / EVENTS).read() if each and each["type"] == kind]
        if len(found) >= count:
            return found
        assert process is None or process.poll() is None
        time.sleep(0.01)
    raise AssertionError(f"no {count} events {kind}")


@pytest.mark.parametrize("ranks", [1, 3])
def test_kill_9_leaves_whole_lines_and_a_resumed_run_goes_on_after_them(tmp_path, ranks):
    every = {"checkpointing": {"enabled": True, "interval_iterations": 1}}
    case = write_small_case(tmp_path / "case", iterations=100_000, **every)
    output = case / "output"
    killed = subprocess.Popen(
        command("run", case, "-n", ranks, "--quiet"), start_new_session=True, stderr=subprocess.PIPE
    )
    try:
        wait_for(output, "checkpoint", 2, killed)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
    data = (output / EVENTS).read_bytes()
    assert data.endswith(b"\n")
    before = events_of(output)
    check(before)
    assert "finished" not in kinds(before)
    run = study.attach(case)
    assert not run.is_live

    reached = max(each["iteration"] for each in before if each["type"] == "checkpoint")
    rules = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": reached + 2}]}}
    with (output / EVENTS).open("ab") as file:
        file.write(b'{"type":"progress","seq":')  # as a kill inside the kernel would leave it
    cobre.train(case, output=output, resume=True, config_overrides=rules)
    events = events_of(output)
    assert events[: len(before)] == before
    check(events)
    assert events[len(before)]["type"] == "started"
    assert events[len(before)]["resumed_from"] >= reached
    state = run.state()
    assert state.status == "complete"
    assert [each.iteration for each in state.iterations] == list(range(1, reached + 3))


def test_run_json_and_events_are_always_of_the_same_run(tmp_path, monkeypatch):
    (tmp_path / EVENTS).parent.mkdir()
    (tmp_path / EVENTS).write_text(event_line({"type": "started", "seq": 1}))
    seen = []

    def note(path, data):
        seen.append((path, (tmp_path / EVENTS).exists()))

    monkeypatch.setattr("cobre.study.run_log.write_atomically", note)
    RunLog(tmp_path, {}, keeps=False).close()
    assert seen == [(tmp_path / RUN, False)]


def test_a_resumed_run_reports_the_iteration_whose_progress_the_kill_cut_off(tmp_path):
    """The checkpoint of an iteration may be written before its progress is."""
    every = {"checkpointing": {"enabled": True, "interval_iterations": 1}}
    case = write_small_case(tmp_path / "case", iterations=3, **every)
    cobre.train(case, output=case / "output")
    log = case / "output" / EVENTS
    lines = log.read_bytes().splitlines(keepends=True)
    kept = next(
        place for place, line in enumerate(lines) if b'"progress"' in line and b'"iteration":3' in line
    )
    log.write_bytes(b"".join(lines[:kept]))
    (case / "output/_SUCCESS").unlink()
    rules = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 4}]}}
    cobre.train(case, output=case / "output", resume=True, config_overrides=rules)
    events = events_of(case / "output")
    check(events)
    assert [each["iteration"] for each in events if each["type"] == "progress"] == [1, 2, 3, 4]


def test_a_run_that_continues_another_folder_reports_its_earlier_iterations(tmp_path):
    cobre.train(case_of(3), output=tmp_path / "first")
    cobre.train(case_of(5), output=tmp_path / "second", resume=tmp_path / "first")
    events = events_of(tmp_path / "second")
    check(events)
    assert [each["iteration"] for each in events if each["type"] == "progress"] == [1, 2, 3, 4, 5]
    bounds = [
        [each["lower_bound"] for each in events_of(tmp_path / name) if each["type"] == "progress"]
        for name in ("first", "second")
    ]
    assert bounds[1][:3] == bounds[0]


def test_a_new_run_replaces_the_events_of_an_earlier_one(tmp_path):
    cobre.train(case_of(2), output=tmp_path)
    cobre.train(case_of(3), output=tmp_path)
    events = events_of(tmp_path)
    assert kinds(events).count("started") == 1
    assert kinds(events).count("iteration") == 3


def test_a_simulation_of_its_own_is_added_to_the_events_of_the_training(tmp_path):
    case = case_of(2)
    result = cobre.train(case, output=tmp_path)
    cobre.simulate(case, result.policy, output=tmp_path, scenarios=3)
    events = events_of(tmp_path)
    check(events)
    assert [each["phases"] for each in events if each["type"] == "started"] == [["training"], ["simulation"]]
    state = study.attach(tmp_path).state()
    assert (len(state.iterations), state.scenarios_complete, state.phase) == (2, 3, "simulation")


def test_closing_the_pipe_of_events_does_not_end_the_run(tmp_path):
    case = write_small_case(tmp_path / "case", iterations=30)
    running = subprocess.Popen(
        command("run", case, "--output-format", "json-lines"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert json.loads(running.stdout.readline())["type"] == "started"
    running.stdout.close()
    errors = running.stderr.read()
    running.stderr.close()
    assert running.wait(DEADLINE_S) == 0
    assert errors == b""
    assert events_of(case / "output")[-1]["status"] == "complete"


def test_nan_and_hostile_names_are_valid_json():
    from cobre.study.event_lines import plain

    line = event_line({"a": plain([float("nan"), float("inf"), 1.5]), "name": "\x1b[31m\u202e\n</script>"})
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert json.loads(line) == {"a": [None, None, 1.5], "name": "\x1b[31m\u202e\n</script>"}


def test_a_disk_that_takes_no_more_ends_the_log_with_whole_lines(tmp_path, monkeypatch):
    log = RunLog(tmp_path, {}, keeps=False)
    log.write("first\n")
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    log.write("second\n")
    monkeypatch.undo()
    log.write("third\n")
    log.close()
    assert (tmp_path / EVENTS).read_text() == "first\n"


def test_the_schema_of_events_is_exported(tmp_path):
    done = run_command(command("schema", "export", tmp_path), timeout=DEADLINE_S, check=True)
    assert done.stderr == ""
    assert json.loads((tmp_path / "event.schema.json").read_text()) == study.event_schema()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "status"),
    [(("validate",), 0), (("summary",), 2), (("run", "--scenarios", "3", "--simulate-only"), 2)],
)
def test_every_command_answers_in_one_line(tmp_path, words, status):
    case = write_small_case(tmp_path / "case")
    done = run_command(
        command(words[0], case, *words[1:], "--output-format", "json-lines"), timeout=DEADLINE_S
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    check(events)
    assert kinds(events) == ["result"]
    assert (events[0]["exit_code"], done.returncode, events[0]["success"]) == (status, status, status == 0)
