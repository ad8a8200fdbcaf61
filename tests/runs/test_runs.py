"""Runs as others see them: attached, followed, started as children."""

from __future__ import annotations

import json

import pytest

import cobre
from cobre import study
from cobre.errors import CobreError, IOError
from cobre.study.run_log import EVENTS, RUN
from sddp.studies import study as small_study
from sddp.trained import settings
from small_case import write_small_case

DEADLINE_S = 60


def test_a_started_run_is_followed_to_its_end(tmp_path):
    case = write_small_case(tmp_path / "case", iterations=3)
    run = study.start_run(case, arguments=["--quiet"])
    try:
        kinds = [each["type"] for each in run.events(follow=True, timeout_s=DEADLINE_S)]
        assert run.process.wait(DEADLINE_S) == 0
    finally:
        run.end()
    assert kinds[0] == "started"
    assert kinds[-1] == "finished"
    attached = study.attach(case)
    assert not attached.is_live
    assert attached.facts["case_directory"] == str(case)
    assert [each["type"] for each in attached.events()] == kinds
    assert attached.wait(DEADLINE_S).status == "complete"
    assert not run.console


def test_a_run_that_cannot_start_writes_the_reason_to_its_console(tmp_path):
    run = study.start_run(tmp_path / "nowhere", output=tmp_path / "out")
    try:
        assert list(run.events(follow=True, timeout_s=DEADLINE_S)) == []
        assert run.process.wait(DEADLINE_S) == 2
    finally:
        run.end()
    assert "nowhere" in run.console
    assert run.state().status == "waiting"


def test_events_of_an_earlier_run_are_not_taken_for_those_of_a_started_one(tmp_path):
    case = write_small_case(tmp_path / "case", iterations=1)
    cobre.train(case, output=case / "output")
    run = study.start_run(case, arguments=["--quiet"])
    try:
        events = list(run.events(follow=True, timeout_s=DEADLINE_S))
    finally:
        run.end()
    assert [each["type"] for each in events].count("started") == 1
    assert events[0]["run_id"] == run.facts["run_id"]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(IOError, match="holds no run"):
        study.attach(tmp_path)


def test_a_run_of_another_machine_is_watched_and_not_steered(tmp_path):
    cobre.train(small_study(training=settings(1, 2)), output=tmp_path)
    path = tmp_path / RUN
    path.write_text(json.dumps({**json.loads(path.read_text()), "hostname": "elsewhere"}))
    run = study.attach(tmp_path)
    assert not run.is_live
    assert run.state().status == "complete"
    with pytest.raises(CobreError, match="on elsewhere"):
        run.control.pause()


def test_incomplete_lines_are_kept_until_complete_and_malformed_ones_skipped(tmp_path):
    path = tmp_path / EVENTS
    path.parent.mkdir()
    file = study.EventFile(path)
    assert file.read() == []
    path.write_bytes(b'{"type":"warning","message":"a"}\nnonsense\n{"type":')
    assert file.read() == [{"type": "warning", "message": "a"}, None]
    with path.open("ab") as more:
        more.write(b'"warning","message":"b"}\n')
    assert file.read() == [{"type": "warning", "message": "b"}]
    path.unlink()
    path.write_bytes(b'{"type":"started"}\n')
    assert file.read() == [{"type": "started"}]
