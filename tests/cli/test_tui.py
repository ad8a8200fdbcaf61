"""The terminal UI in a terminal: a real run is watched, paused, let go on and stopped; the terminal is given back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import termios
import time

import pytest

import cobre
from cobre import study
from cobre._machine import process_start
from cobre.study.run_log import EVENTS
from commands import run_command
from small_case import write_small_case

DEADLINE_S = 60


def shown(terminal):
    """Everything that was drawn so far, without its colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text)


def wait_for(terminal, words):
    end = time.monotonic() + DEADLINE_S
    while words not in shown(terminal):
        assert time.monotonic() < end, f"{words!r} is not in {shown(terminal)[-3000:]!r}"
        assert terminal._read(0.1) or terminal.process.poll() is None
    return shown(terminal)


def ended(run):
    end = time.monotonic() + DEADLINE_S
    while process_start(run.facts["pid"]) is not None:
        assert time.monotonic() < end
        time.sleep(0.05)
    return run.state()


@pytest.fixture
def case(tmp_path):
    return write_small_case(tmp_path / "case", iterations=1_000_000)


def test_a_real_run_is_paused_continued_and_stopped_with_the_bits_of_one_without_ui(case, terminal):
    screen = terminal("run", case, "-n", 2, "--tui", TERM="xterm-256color")
    before = termios.tcgetattr(screen._master)
    wait_for(screen, "RUNNING")
    screen.type("p")
    wait_for(screen, "PAUSED")
    run = study.attach(case)
    paused = run.state()
    assert paused.status == "paused"
    screen.type("p")
    wait_for(screen, "resume after iteration")
    screen.type("\x03")  # Ctrl-C leaves and stops the run
    assert screen.wait(DEADLINE_S) == 0
    state = ended(run)
    assert state.status == "partial"
    assert [each["action"] for each in state.controls] == ["pause", "resume", "stop"]
    assert termios.tcgetattr(screen._master) == before
    assert screen.text.rstrip().endswith(f"cobre tui {case}/output")

    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": state.last.iteration}]}}
    plain = cobre.train(case, config_overrides=limit)
    assert (case / "output" / "policy" / "policy.cobre").read_bytes() == plain.policy.to_bytes()


def test_quitting_keeps_the_run_going_and_shows_how_to_reattach(case, terminal):
    first = terminal("run", case, "--tui", TERM="xterm-256color")
    wait_for(first, "RUNNING")
    first.type("q")
    assert first.wait(DEADLINE_S) == 0
    assert "the run goes on; look at it again with: cobre tui" in first.text
    run = study.attach(case)
    assert run.is_live
    again = terminal("tui", case, TERM="xterm-256color")
    wait_for(again, "RUNNING")
    again.type("\x03")
    assert again.wait(DEADLINE_S) == 0
    assert [each["action"] for each in ended(run).controls] == ["stop"]


def test_events_of_a_pipe_are_shown_and_keys_come_from_the_terminal(tmp_path, terminal, environ):
    case = write_small_case(tmp_path / "case", iterations=3)
    recorded = tmp_path / "events"
    with recorded.open("wb") as file:
        subprocess.run(
            [sys.executable, "-m", "cobre", "run", str(case), "--output-format", "json-lines"],
            stdout=file,
            check=True,
            timeout=DEADLINE_S,
        )
    reading, writing = os.pipe()
    os.write(writing, recorded.read_bytes())
    os.close(writing)
    os.set_inheritable(reading, True)
    words = "[sys.executable, '-m', 'cobre', 'tui', '-']"
    code = f"import os, sys; os.dup2({reading}, 0); os.execv(sys.executable, {words})"
    try:
        screen = terminal(code=code, pass_fds=(reading,), TERM="xterm-256color")
        wait_for(screen, "REPLAY COMPLETE")
        screen.type("p")
        wait_for(screen, "a pipe cannot steer the run")
        screen.type("q")
        assert screen.wait(DEADLINE_S) == 0
    finally:
        os.close(reading)


def test_a_table_of_convergence_is_replayed(tmp_path, terminal):
    case = write_small_case(tmp_path / "case", iterations=3)
    cobre.train(case, output=tmp_path / "out")
    screen = terminal(
        "tui", "--replay", tmp_path / "out/training/convergence.parquet", TERM="xterm", NO_COLOR="1"
    )
    wait_for(screen, "REPLAY COMPLETE")
    screen.type("q")
    assert screen.wait(DEADLINE_S) == 0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((), 4, "name a folder"),
        (("a", "--replay", "b"), 4, "name a folder"),
        (("nowhere",), 2, "is not a folder"),
        (("--replay", "nowhere"), 2, "there is no file"),
    ],
)
def test_unreadable_sources_are_refused(cobre, arguments, status, words):
    assert words in cobre("tui", *arguments, check=status).stderr


def test_without_a_terminal_the_error_names_alternatives(cobre, tmp_path):
    case = write_small_case(tmp_path / "case", iterations=1)
    cobre("run", case, "--quiet", check=0)
    assert "json-lines" in cobre("tui", case, check=4).stderr
    assert "needs a terminal" in cobre("run", case, "--tui", check=4).stderr
    assert json.loads((case / "output" / EVENTS).read_text().splitlines()[-1])["status"] == "complete"


def test_without_textual_the_command_to_install_it_is_named(cobre, tmp_path):
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError('no textual', name='textual')")
    done = cobre("tui", tmp_path, check=4, PYTHONPATH=str(tmp_path))
    assert "pip install textual" in done.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["run", "validate", "summary"])
def test_other_commands_do_not_load_textual(command):
    code = f"import sys, cobre.cli.{command}; print(*sorted(sys.modules))"
    done = run_command([sys.executable, "-c", code], check=True)
    assert not [name for name in done.stdout.split() if name.partition(".")[0] in ("textual", "jsonschema")]
