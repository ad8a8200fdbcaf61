"""The terminal UI: every key in every mode, on recorded and on live runs."""

from __future__ import annotations

import json
import os
import threading

import pytest
from rich.segment import Segment
from rich.style import Style

import cobre
from cobre import study
from cobre.study import Control, RunState
from cobre.study.run_log import EVENTS, RUN
from cobre.tui.app import RunApp
from cobre.tui.overlays import CutsOverlay, HelpOverlay, PathsOverlay, RulesOverlay
from cobre.tui.source import FolderSource, PipeSource, ReplaySource
from sddp.studies import study as small_study
from sddp.trained import digest, settings
from tui.screens import drive, rows_of

HOSTILE = "\x1b[31m<b>\u202e[bold]x[/bold]" + "y" * 10_000


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    cobre.train(small_study(training=settings(12, 2)), num_workers=2, output=folder)
    return folder


@pytest.fixture
def pipe(finished):
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as file:
        file.write((finished / EVENTS).read_bytes())
    yield PipeSource(reading)
    os.close(reading)


@pytest.fixture(params=["folder", "pipe", "replay", "table"])
def source(request, finished, tmp_path):
    if request.param == "folder":
        return FolderSource(study.attach(finished))
    if request.param == "pipe":
        return request.getfixturevalue("pipe")
    return ReplaySource(finished / (EVENTS if request.param == "replay" else "training/convergence.parquet"))


VIEW_WORDS = {
    "0": "stopping rules",
    "1": "lower bound",
    "2": "backward",
    "3": "active ",
    "4": "resident",
    "5": "overhead",
}


def test_every_key_in_every_mode(source):
    is_table = isinstance(source, ReplaySource) and source.title.endswith("parquet")
    word = "COMPLETE" if isinstance(source, FolderSource) else "REPLAY COMPLETE"

    async def steps(pilot, wait):
        app = pilot.app
        await wait(word)
        assert "iteration 12" in rows_of(app)[0]
        for key, words in VIEW_WORDS.items():
            await pilot.press(key)
            rows = await wait("does not have it" if is_table and key in "45" else words)
            assert f"[{key}]" in rows[23]
        await pilot.press("1", "tab")
        assert app.view == 2
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        assert app.view == 5
        await pilot.press("1", "l")
        await wait("log y")
        await pilot.press("l", "t")
        await wait("x by time")
        await pilot.press("t", "o")
        await wait("there is no other run")
        for key in "jkgG":
            await pilot.press(key)
        await pilot.press("question_mark")
        await wait("Ctrl+C")
        assert isinstance(app.screen, HelpOverlay)
        await pilot.press("escape")
        for key in "psre":
            app.note = ""
            await pilot.press(key)
            assert app.note, f"{key} says nothing"
        await pilot.press("c")
        if isinstance(source, FolderSource):
            await wait("cuts, newest first")
            assert isinstance(app.screen, CutsOverlay)
            await pilot.press("j")
            await wait("stage 1:")
            await pilot.press("q")  # the page, not the app
            assert not isinstance(app.screen, CutsOverlay)
        await pilot.press("q")

    drive(RunApp(source), steps)


def test_tables_are_scrolled_and_come_back(finished):
    async def steps(pilot, wait):
        await pilot.press("2")
        rows = await wait("backward")
        assert rows[22].split()[0] == "12"
        await pilot.press("k")
        assert rows_of(pilot.app)[22].split()[0] == "11"
        await pilot.press("g")
        assert [row.split()[0] for row in rows_of(pilot.app)[12:14]] == ["iter", "1"]
        await pilot.press("k", "j")
        assert rows_of(pilot.app)[13].split()[0] == "2"
        await pilot.press("G")
        assert rows_of(pilot.app)[22].split()[0] == "12"

    drive(RunApp(FolderSource(study.attach(finished))), steps)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("is_ascii", [False, True])
def test_every_view_fits(finished, size, is_ascii):
    async def steps(pilot, wait):
        await wait("COMPLETE")
        for key, words in VIEW_WORDS.items():
            await pilot.press(key)
            rows = await wait(words)
            assert len(rows) == size[1]
            assert rows[-1].endswith("5 communication") or "[5]communication" in rows[-1]
            assert all(len(row) <= size[0] for row in rows)
            assert all(row.isascii() for row in rows) or not is_ascii
        app = pilot.app
        cut = {"iteration": 1, "is_active": True, "intercept": 1.0, "coefficients": [2.0]}
        answer = {"stage": 0, "active": 37, "total": 37, "state_names": ["storage:0"], "cuts": [cut] * 37}
        many = CutsOverlay(lambda stage, show: app.call_later(show, answer), 12)
        for overlay, words in (
            (HelpOverlay(), "Ctrl+C"),
            (many, "newest first"),
            (RulesOverlay(RunState(), print), "limit"),
        ):
            app.push_screen(app._page(overlay))
            await wait(words)
            await pilot.pause()
            assert all(row.isascii() for row in rows_of(app)) or not is_ascii
            await pilot.press("escape")

    drive(RunApp(FolderSource(study.attach(finished)), is_ascii=is_ascii), steps, size)


def test_a_small_terminal_is_told_and_a_larger_one_is_used(finished):
    async def steps(pilot, wait):
        await wait("80 x 24 are needed")
        await pilot.resize_terminal(100, 30)
        await wait("lower bound", absent="are needed")
        await pilot.resize_terminal(60, 18)
        await wait("60 x 18")

    drive(RunApp(FolderSource(study.attach(finished))), steps, (60, 18))


@pytest.mark.parametrize("is_ascii", [False, True])
def test_without_colour_every_curve_has_a_marker(finished, monkeypatch, is_ascii):
    monkeypatch.setenv("NO_COLOR", "1")

    async def steps(pilot, wait):
        await wait("COMPLETE")
        rows = await wait("# lower bound")
        assert "* mean cost" in rows[1]
        text = "\n".join(rows[2:20])
        assert "#" in text
        assert "*" in text
        coloured = [Segment("x", Style(color="red", bgcolor="#101010", bold=True))]
        for each in pilot.app.get_line_filters():
            coloured = each.apply(coloured, pilot.app.screen.background_colors[1])
        assert coloured[0].style.bold
        assert coloured[0].style.color.is_default
        assert coloured[0].style.bgcolor.is_default

    # Braille dots of two curves look alike: without colour they give way to markers, in a terminal that has them, too.
    drive(RunApp(FolderSource(study.attach(finished)), is_ascii=is_ascii), steps)


def test_another_run_is_laid_over(finished, tmp_path):
    cobre.train(small_study(training=settings(5, 2)), output=tmp_path)

    async def steps(pilot, wait):
        await wait("other lower bound")
        await pilot.press("o")
        await wait("lower bound", absent="other")

    drive(
        RunApp(FolderSource(study.attach(finished)), against=study.attach(tmp_path).state()), steps, (120, 30)
    )


def recorded(finished, tmp_path, change):
    events = [json.loads(line) for line in (finished / EVENTS).read_text().splitlines()]
    path = tmp_path / "events.jsonl"
    path.write_bytes(change(events))
    return ReplaySource(path)


def lines(events):
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_gaps_malformed_and_incomplete_lines_are_handled(finished, tmp_path):
    def change(events):
        kept = [each for each in events if each.get("iteration") not in (4, 5)]
        return lines(kept[:8]) + b"garbage\n\xff\xfe\n" + lines(kept[8:]) + b'{"type":"prog'

    async def steps(pilot, wait):
        await wait("LAGGING")
        await pilot.press("0")
        await wait("2 lines that are no events")

    drive(RunApp(recorded(finished, tmp_path, change)), steps, (120, 24))


def test_control_characters_in_names_are_shown_as_text_in_the_ui(finished, tmp_path):
    def change(events):
        events[0]["case"] = HOSTILE
        return lines([*events[:4], {"type": "warning", "seq": 5, "message": HOSTILE}])

    async def steps(pilot, wait):
        rows = await wait("?[31m<b>?[bold]x")
        assert all(len(row) <= 80 for row in rows)
        await pilot.press("0")
        await wait("warning     ?[31m<b>?[bold]x[/bold]yyy")

    drive(RunApp(recorded(finished, tmp_path, change)), steps)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"{}\n", b'{"type":"progress"}\n'])
def test_a_stream_without_events_is_shown_as_such(tmp_path, content):
    (tmp_path / "events.jsonl").write_bytes(content)

    async def steps(pilot, wait):
        await wait("REPLAY COMPLETE")
        for key in "012345":
            await pilot.press(key)

    drive(RunApp(ReplaySource(tmp_path / "events.jsonl")), steps)


def test_a_killed_run_is_reported_as_ended(finished, tmp_path):
    (tmp_path / "training").mkdir()
    facts = json.loads((finished / RUN).read_text())
    another = {"pid": os.getpid(), "process_start": 1}  # another process has its number now
    (tmp_path / RUN).write_text(json.dumps({**facts, **another}))
    kept = (finished / EVENTS).read_bytes().splitlines(keepends=True)[:-2]
    (tmp_path / EVENTS).write_bytes(b"".join(kept))

    async def steps(pilot, wait):
        await wait("DIED")
        await pilot.press("p")
        await wait("nothing is left to steer")

    drive(RunApp(FolderSource(study.attach(tmp_path))), steps)


def test_a_run_that_ends_before_it_begins_says_why(tmp_path):
    run = study.start_run(tmp_path / "none", output=tmp_path / "output")

    async def steps(pilot, wait):
        await wait("FAILED")
        await wait("give the path of a case folder")
        await pilot.press("p")
        await wait("the run has not started yet")

    drive(RunApp(FolderSource(run)), steps)
    assert run.process.wait(60) != 0


def test_a_run_that_failed_says_why_in_every_view(finished, tmp_path):
    def change(events):
        events[-1].update(status="failed", error={"kind": "SolverFailure", "message": "stage 3 \x1b[31mfell"})
        return lines(events)

    async def steps(pilot, wait):
        await wait("REPLAY COMPLETE")
        assert "stage 3 ?[31mfell" in rows_of(pilot.app)[23]
        await pilot.press("0")
        assert "error       stage 3 ?[31mfell" in "\n".join(await wait("[0]dashboard"))

    drive(RunApp(recorded(finished, tmp_path, change)), steps)


def test_a_folder_without_facts_shows_its_events(finished, tmp_path):
    (tmp_path / "training").mkdir()
    (tmp_path / EVENTS).write_bytes((finished / EVENTS).read_bytes())

    async def steps(pilot, wait):
        await wait("COMPLETE")

    drive(RunApp(FolderSource(study.attach(tmp_path))), steps)


def test_news_while_the_screen_is_taken_down_are_not_drawn(finished):
    async def steps(pilot, wait):
        await wait("COMPLETE")

    app = RunApp(FolderSource(study.attach(finished)))
    drive(app, steps)
    app.action_view(2)  # draws, as the timer does until the last moment


def test_a_run_of_another_machine_is_followed_to_its_end(finished, tmp_path, monkeypatch):
    (tmp_path / "training").mkdir()
    facts = json.loads((finished / RUN).read_text())
    (tmp_path / RUN).write_text(json.dumps({**facts, "hostname": "another.example"}))
    events = (finished / EVENTS).read_bytes().splitlines(keepends=True)
    (tmp_path / EVENTS).write_bytes(b"".join(events[:-1]))
    run, reads = study.attach(tmp_path), []
    read = study.EventFile.read
    monkeypatch.setattr(study.EventFile, "read", lambda file: reads.append(0) or read(file))

    async def steps(pilot, wait):
        await wait("iteration 12")
        while len(reads) < 3 and pilot.app.word == "running":
            await pilot.pause(0.02)
        assert pilot.app.word == "running"
        with (tmp_path / EVENTS).open("ab") as file:
            file.write(events[-1])
        await wait("COMPLETE")

    drive(RunApp(FolderSource(run)), steps)
    assert [each["type"] for each in run.events(follow=True)][-1] == "finished"


class Live:
    """A training without end in a thread."""

    def __init__(self, folder):
        self.folder = folder
        self.control = Control()
        self.result = None
        self.started = threading.Event()
        self.thread = threading.Thread(target=self._train)

    def _train(self):
        case = small_study(training=settings(1_000_000, 2))

        def heard(event):
            if event["type"] == "iteration":
                self.started.set()

        self.result = cobre.train(case, output=self.folder, control=self.control, on_event=heard)

    def __enter__(self):
        self.thread.start()
        assert self.started.wait(60)
        return self

    def __exit__(self, kind, error, trace):
        if self.thread.is_alive():
            self.control.stop()
        self.thread.join(60)


def test_a_live_run_is_paused_queried_changed_and_stopped_with_the_same_bits(tmp_path):
    async def steps(pilot, wait):
        app = pilot.app
        await wait("RUNNING")
        await pilot.press("p")
        await wait("PAUSED")
        at = app.state.last.iteration
        await pilot.press("c")
        await wait("cuts, newest first")
        assert isinstance(app.screen, CutsOverlay)
        await pilot.press("escape", "s")
        await wait("trajectory    0")
        assert isinstance(app.screen, PathsOverlay)
        await pilot.press("escape", "e")
        await wait("snapshots/iteration_")
        assert (tmp_path / "snapshots" / f"iteration_{at:06d}" / "policy.cobre").exists()
        await pilot.press("r")
        assert isinstance(app.screen, RulesOverlay)
        await pilot.press("ctrl+a", "ctrl+k", *str(at + 2), "enter")
        await wait(f"set_rule iteration_limit.limit = {at + 2} after iteration {at}")
        assert app.state.iteration_limit == at + 2  # the line of status says so while the run is still paused
        await pilot.press("p")
        await wait("COMPLETE")
        assert app.state.last.iteration == at + 2

    with Live(tmp_path) as live:
        drive(RunApp(FolderSource(study.attach(tmp_path))), steps, (120, 24))
    plain = cobre.train(small_study(training=settings(live.result.iterations, 2)))
    assert digest(live.result) == digest(plain)


def test_quitting_keeps_the_run_going_and_ctrl_c_stops_it(tmp_path):
    async def leave(pilot, wait):
        await wait("RUNNING")
        await pilot.press("q")

    async def interrupt(pilot, wait):
        await wait("RUNNING")
        await pilot.press("ctrl+c")

    with Live(tmp_path) as live:
        app = RunApp(FolderSource(study.attach(tmp_path)))
        drive(app, leave)
        assert not app.is_interrupted
        assert live.thread.is_alive()
        assert study.attach(tmp_path).state().controls == []
        app = RunApp(FolderSource(study.attach(tmp_path)))
        drive(app, interrupt)
        assert app.is_interrupted
        live.thread.join(60)
    assert live.result.termination_reason == "shutdown"
    assert [each.action for each in live.result.controls] == ["stop"]


def test_a_field_that_is_no_number_stays_open(tmp_path):
    async def steps(pilot, wait):
        await wait("PAUSED")
        await pilot.press("r", "ctrl+a", "ctrl+k", "x", "enter")
        await wait("x is no number")
        assert isinstance(pilot.app.screen, RulesOverlay)
        await pilot.press("tab", "5", "escape")

    with Live(tmp_path) as live:
        live.control.pause()  # while this process computes the pilot waits two seconds after each key
        drive(RunApp(FolderSource(study.attach(tmp_path))), steps)
    assert [each.action for each in live.result.controls] == ["pause", "stop"]
