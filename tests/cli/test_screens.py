"""What people read on the screen: numbers that mean something, and lines that break between words."""

from __future__ import annotations

import io
import json
import re

import pytest

from cobre.cli.figures import percent
from cobre.cli.outcome import show_record
from cobre.cli.progress import LineProgress, LiveProgress, Pace, open_progress
from cobre.cli.wrapping import reflow, wrap_lines
from cobre.io.examples import write_example
from cobre.sddp.events import ProgressEvent
from cobre.sddp.gap import GapEstimate
from cobre.study.remaining import RemainingTime

COMMANDS = ["init", "convert", "run", "simulate", "validate", "summary", "report", "schema", "tui", "mcp"]


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
            "below 3.40% with 95 % confidence: the lower bound lies within the interval",
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
            "1,000,000.00 (exact: all trajectories)",
            "0.00%",
        ),
    ],
)
def test_a_gap_is_shown_only_where_it_means_something(tmp_path, capsys, found, label, mean, gap):
    lines = screen(tmp_path, capsys, found)
    assert lines[label] == mean
    assert lines["gap"] == gap


def test_rounding_differences_are_not_shown_as_a_gap():
    assert percent(1e-16) == percent(-9e-10) == percent(0.0) == "0.00%"
    assert percent(2e-8) == "2e-06%"


def test_a_trend_that_differs_by_rounding_noise_is_flat(tmp_path, capsys):
    flat = [7756250.0, 7756250.0 * (1 - 5e-10), 7756250.0 * (1 + 5e-10), 7756250.0 * (1 - 5e-10)]
    assert screen(tmp_path, capsys, None, flat)["trend"] == "▁▁▁▁ of the lower bound"


def test_rounding_noise_is_not_drawn_as_a_fall(tmp_path, capsys):
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
def test_the_time_left_accounts_for_growing_iterations(seconds):
    remaining = RemainingTime()
    for iteration in range(1, 41):
        remaining.learn(seconds(iteration))
    assert remaining.until(100) == pytest.approx(sum(map(seconds, range(41, 101))))
    assert remaining.until(40) == remaining.until(3) == 0.0


def test_the_time_left_is_never_negative_when_iterations_become_shorter():
    remaining = RemainingTime()
    for iteration in range(1, 11):
        remaining.learn(11.0 - iteration)
    assert remaining.until(1000) > 0.0


def training(iteration, milliseconds=100.0, limit=None, seconds=None):
    """An event after an iteration; all of them took as long."""
    return ProgressEvent(
        "training", iteration, 1.0, 2.0, 0.5, iteration * milliseconds, milliseconds, 0, 0, 0,
        iteration_limit=limit, time_limit_s=seconds,
    )  # fmt: skip


def simulation(complete, total=100, milliseconds=1000.0):
    return ProgressEvent("simulation", None, None, None, None, milliseconds, None, complete, total, 0)


def test_the_time_left_is_that_of_the_nearest_limit_and_none_without_one():
    pace = Pace()
    event = training(1, limit=11, seconds=60.0)
    pace.learn(event)
    assert pace.left_s(event) == pytest.approx(1.0)
    assert pace.left_s(training(1, limit=11, seconds=0.3)) == pytest.approx(0.2)
    assert pace.left_s(training(1)) is None
    assert pace.rate(event) == "10.0/s"


def test_a_continued_run_counts_only_what_is_left():
    pace = Pace()
    for iteration in (91, 92):
        pace.learn(training(iteration, limit=100))
    assert pace.left_s(training(92, limit=100)) == pytest.approx(0.8)


def test_slow_iterations_have_seconds_instead_of_a_rate():
    pace = Pace()
    pace.learn(training(1, 90_000.0))
    assert pace.rate(training(1, 90_000.0)) == "1 min 30 s each"


def test_a_simulation_has_a_rate_and_time_left():
    pace, event = Pace(), simulation(25)
    pace.learn(event)
    assert (pace.rate(event), pace.left_s(event)) == ("25.0/s", pytest.approx(3.0))
    assert pace.left_s(simulation(0)) is None


def test_a_line_of_80_columns_has_the_time_left_and_the_rate(monkeypatch):
    """Under Open MPI a rank writes to a terminal of 80 columns."""
    monkeypatch.setattr("cobre.cli.progress.screen_width", lambda _: 80)
    stream = io.StringIO()
    lines = LineProgress(stream)
    lines.advance(training(1, 250.0, limit=200))
    lines.advance(simulation(25))
    shown = stream.getvalue().splitlines()
    assert shown[1].endswith(", up to 50 s left, 4.0/s")
    assert shown[2].endswith(", about 3 s left, 25.0/s")
    assert all(len(line) <= 80 for line in shown)


def test_nothing_is_left_at_the_end(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    live = LiveProgress(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    for event in (training(10, 100.0, limit=10), simulation(100)):
        live.advance(event)
        assert "left" not in live.__rich__().plain


def test_a_log_gets_a_line_every_few_seconds_and_the_last_one(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("cobre.cli.progress.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    lines = LineProgress(stream)
    for iteration in range(1, 101):
        now[0] += 0.25
        lines.advance(training(iteration, 250.0, limit=200))
    for complete in (10, 50, 100):
        lines.advance(simulation(complete))
    lines.close()
    numbers = [line.split()[0] for line in stream.getvalue().splitlines()]
    assert numbers == ["iteration", "1", "21", "41", "61", "81", "100", "simulated", "simulated"]
    assert "up to 25 s left, 4.0/s" in stream.getvalue()
    assert stream.getvalue().splitlines()[-1] == "simulated 100 of 100 scenarios  1.0 s"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_bar_is_drawn_with_what_the_terminal_has(encoding, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    live = LiveProgress(io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    live.advance(training(5, 100.0, limit=10))
    line = live.__rich__().plain
    bar = "#####-----" if encoding == "ascii" else "━━━━━─────"
    assert line.startswith(f"iteration 5/10 {bar}  0.5 s, up to 1 s left  10.0/s  lower 1")
    live.advance(simulation(50))
    assert live.__rich__().plain.startswith(
        f"simulated 50 of 100 scenarios {bar}  1.0 s, about 1 s left  50.0/s"
    )


def test_no_progress_shows_no_progress_lines(cobre, trained):
    ran = cobre("run", trained, "--no-progress", "--skip-simulation", check=0)
    assert "iteration  " not in ran.stdout
    assert "lower bound" in ran.stdout


@pytest.fixture
def trained(cobre, tmp_path):
    folder = tmp_path / "case"
    write_example(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 3}]
    config.setdefault("exports", {})["states"] = True  # for a warning
    config["simulation"]["selection"]["num_scenarios"] = 5
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


@pytest.mark.few(5)
@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_breaks_between_words(cobre, command, columns):
    wide = cobre(command, "--help", check=0, COLUMNS="200").stdout
    narrow = cobre(command, "--help", check=0, COLUMNS=str(columns)).stdout
    assert all(len(line) <= columns for line in narrow.splitlines()), narrow
    assert words_of(narrow) == words_of(wide)


def test_the_progress_line_drops_whole_parts_that_do_not_fit(terminal, trained):
    endless = '{"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 1000000}]}}'
    text = terminal("run", trained, "--output", trained / "out", "--config-overrides", endless, columns=60)
    text.read_until(
        "iteration "
    )  # however fast the machine: nothing is shown before the first tick of the screen
    text.type("\x03")
    assert text.wait() == 130
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
