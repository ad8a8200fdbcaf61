"""What people read on the screen: numbers that mean something, and lines that break between words."""

from __future__ import annotations

import io
import json
import re

import pytest

from cobre.cli.figures import percent
from cobre.cli.outcome import show_record
from cobre.cli.progress import open_progress
from cobre.cli.remaining import RemainingTime
from cobre.cli.wrapping import reflow, wrap_lines
from cobre.io.example import write_example
from cobre.sddp.events import ProgressEvent
from cobre.sddp.gap import GapEstimate

COMMANDS = ["init", "run", "simulate", "validate", "summary", "report", "schema"]


def estimate(status, half_width=0.0, trajectories=1, **gaps):
    facts = {"status": status, "mean_cost": 1e6, "half_width": half_width, "trajectories": trajectories}
    return {**facts, "iterations": 3, "gap": None, "largest_gap": None, **gaps}


def screen(tmp_path, capsys, gap_estimate, bounds=(1.0, 2.0)):
    """The lines of an outcome, by label."""
    record = {
        "iterations": len(bounds),
        "final_lower_bound": bounds[-1],
        "gap_estimate": gap_estimate,
        "termination_reason": "iteration_limit",
        "total_cuts": 7,
        "wall_time_ms": 1234.0,
        "workers": [],
        "timings": {},
    }
    with (tmp_path / "screen").open("w+") as stream:
        show_record(stream, record, {"lower_bound": bounds}, tmp_path)
        stream.seek(0)
        return {line[:13].strip(): line[13:].rstrip("\n") for line in stream}


@pytest.mark.parametrize(
    ("found", "label", "mean", "gap"),
    [
        (
            estimate("within", 5e4, 80, largest_gap=0.034),
            "upper bound",
            "1,000,000.00 ± 50,000.00 (95 %, 80 trajectories of the last 3 iterations)",
            "<3.40% with 95 % confidence: the lower bound lies within the interval",
        ),
        (
            estimate("not_yet", 5e4, 80, gap=0.25, largest_gap=0.3),
            "upper bound",
            "1,000,000.00 ± 50,000.00 (95 %, 80 trajectories of the last 3 iterations)",
            "25.00%: the lower bound is not yet within the interval",
        ),
        (
            estimate("one_trajectory"),
            "mean cost",
            "1,000,000.00 (one trajectory)",
            "not shown: one trajectory says nothing about the mean cost",
        ),
        (
            estimate("risk_adjusted", 5e4, 80),
            "mean cost",
            "1,000,000.00 ± 50,000.00 (95 %, 80 trajectories of the last 3 iterations)",
            "not shown: the lower bound is risk-adjusted, the mean cost is not",
        ),
        (
            estimate("above", 10.0, 20),
            "mean cost",
            "1,000,000.00 ± 10.00 (95 %, 20 trajectories of the last 3 iterations)",
            "not shown: the sample is too small, its costs lie below the lower bound",
        ),
        (
            estimate("within", gap=3e-16, largest_gap=3e-16),
            "upper bound",
            "1,000,000.00 (the study has one trajectory)",
            "0.00%",
        ),
    ],
)
def test_a_gap_is_shown_only_where_it_means_something(tmp_path, capsys, found, label, mean, gap):
    lines = screen(tmp_path, capsys, found)
    assert lines[label] == mean
    assert lines["gap"] == gap


def test_rounding_noise_is_no_gap():
    assert percent(1e-16) == percent(-9e-10) == percent(0.0) == "0.00%"
    assert percent(2e-8) == "2e-06%"


def test_a_trend_that_differs_by_rounding_noise_is_flat(tmp_path, capsys):
    flat = [7756250.0, 7756250.0 * (1 - 5e-10), 7756250.0 * (1 + 5e-10), 7756250.0 * (1 - 5e-10)]
    assert screen(tmp_path, capsys, None, flat)["trend"] == "▁▁▁▁ of the lower bound"


def test_noise_on_a_step_of_the_trend_draws_no_fall(tmp_path, capsys):
    steps = [0.0, 0.5 * (1 + 4e-10), 0.5 * (1 - 4e-10), 0.5 * (1 + 4e-10), 0.5 * (1 - 4e-10), 1.0]
    blocks = screen(tmp_path, capsys, None, steps)["trend"].split()[0]
    assert list(blocks) == sorted(blocks)
    assert len(set(blocks[1:5])) == 1


def test_the_progress_shows_the_mean_cost_that_the_gap_is_about_and_calls_it_no_bound():
    """The mean of the few trajectories of one iteration may lie far below the lower bound."""
    found = GapEstimate(**estimate("within", half_width=5e5, trajectories=64, largest_gap=0.25))
    event = ProgressEvent("training", 9, 1.1e6, 4e5, -1.75, 100.0, 10.0, 9, 90, 0, found)
    stream = io.StringIO()
    with open_progress(stream) as progress:
        progress.advance(event)
    title, line = stream.getvalue().splitlines()
    assert title.split() == ["iteration", "lower", "bound", "mean", "cost", "gap", "time"]
    assert line.split() == ["9", "1,100,000.00", "1,000,000.00", "<25.00%", "0.1", "s"]


@pytest.mark.parametrize("seconds", [lambda k: 1.0 + 0.1 * k, lambda k: 3.0, lambda k: 0.2 * k])
def test_the_time_left_is_learnt_from_growing_iterations(seconds):
    remaining = RemainingTime()
    for iteration in range(1, 41):
        remaining.learn(seconds(iteration))
    assert remaining.until(100) == pytest.approx(sum(map(seconds, range(41, 101))))
    assert remaining.until(40) == remaining.until(3) == 0.0


def test_iterations_that_become_shorter_never_promise_less_than_nothing():
    remaining = RemainingTime()
    for iteration in range(1, 11):
        remaining.learn(11.0 - iteration)
    assert remaining.until(1000) > 0.0


@pytest.fixture
def trained(cobre, tmp_path):
    folder = tmp_path / "case"
    write_example(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 3}]
    config["training"]["cut_formulation"] = "multi"  # for a warning
    config["simulation"]["num_scenarios"] = 5
    path.write_text(json.dumps(config))
    return folder


def words_of(text):
    return text.split()


@pytest.mark.parametrize("columns", [60, 80])
def test_screens_fit_and_break_between_words(cobre, trained, columns):
    ran = cobre(
        "run", trained, "--output", "out", "--skip-simulation", cwd=trained, check=0, COLUMNS=str(columns)
    )
    assert all(len(line) <= columns for line in ran.stdout.splitlines())
    wide = cobre("summary", "out", cwd=trained, check=0, COLUMNS="200").stdout
    narrow = cobre("summary", "out", cwd=trained, check=0, COLUMNS=str(columns)).stdout
    assert words_of(narrow) == words_of(wide)
    assert all(len(line) <= columns for line in narrow.splitlines())


@pytest.mark.parametrize("columns", [60, 80])
def test_the_page_of_a_simulation_fits(cobre, trained, columns):
    ran = cobre(
        "run", trained, "--output", "out", "--scenarios", 5, cwd=trained, check=0, COLUMNS=str(columns)
    )
    shown = cobre("summary", "out", cwd=trained, check=0, COLUMNS=str(columns)).stdout
    for text in (ran.stdout, shown):
        assert "marginal cost by bus" in text
        assert all(len(line) <= columns for line in text.splitlines())


@pytest.mark.parametrize("arguments", [("validate", "."), ("run", "nowhere " * 20)])
def test_messages_break_between_words_on_a_terminal_and_stay_whole_in_a_pipe(
    cobre, terminal, trained, arguments
):
    status = 0 if arguments[0] == "validate" else 2
    whole = cobre(*arguments, cwd=trained, check=status, COLUMNS="60")
    shown = terminal(*arguments, columns=60, cwd=trained)
    assert shown.wait() == status
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.text)
    said = whole.stdout + whole.stderr
    assert max(map(len, said.splitlines())) > 60
    assert all(len(line) <= 60 for line in plain.splitlines())
    assert {word.strip(":") for word in words_of(plain)} == {word.strip(":") for word in words_of(said)}


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_breaks_between_words(cobre, command, columns):
    wide = cobre(command, "--help", check=0, COLUMNS="200").stdout
    narrow = cobre(command, "--help", check=0, COLUMNS=str(columns)).stdout
    assert all(len(line) <= columns for line in narrow.splitlines()), narrow
    assert words_of(narrow) == words_of(wide)


def test_a_live_line_shows_whole_parts_only(terminal, trained):
    text = terminal("run", trained, "--output", trained / "out", columns=60)
    assert text.wait() == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", text.text)
    live = [line for line in re.split(r"[\r\n]+", plain) if line.startswith("iteration ")]
    assert live
    assert all(len(line) <= 60 and "…" not in line for line in live)


def test_a_path_longer_than_the_screen_stays_whole():
    path = "/".join(["folder"] * 20)
    assert path in wrap_lines(f"cobre: cannot write {path} because it is there already", 40).split()


def test_rows_of_two_columns_keep_them_and_sentences_are_filled():
    page = "A sentence that goes on\nover two lines.\n\n  -n   how many there are of them\n  --x  other"
    assert reflow(page, 20) == (
        "A sentence that goes\non over two lines.\n\n  -n   how many\n       there are of\n       them\n  --x  other"
    )
