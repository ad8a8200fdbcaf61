"""What a command does when nothing can be shown: stdout is on a full disk, is closed, or has no reader any more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from small_case import write_small_case


def run(environ, arguments, *, stdout, is_buffered=True, **options):
    variables = {name: value for name, value in environ.items() if name != "PYTHONUNBUFFERED"}
    if not is_buffered:
        variables["PYTHONUNBUFFERED"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "cobre", *map(str, arguments)],
        env=variables,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


@pytest.mark.parametrize("is_buffered", [True, False], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "command",
    [
        ["version"],
        ["--help"],
        ["validate", "CASE"],
        ["run", "CASE", "--skip-simulation"],
        ["run", "CASE", "--skip-simulation", "-n", "2"],
        ["run", "CASE", "--skip-simulation", "--output-format", "json"],
        ["launch", "-n", "2", "/bin/echo", "x"],
    ],
    ids=" ".join,
)
def test_a_full_stdout_is_one_error_with_a_remedy(environ, tmp_path, command, is_buffered):
    case = write_small_case(tmp_path / "case", iterations=2, scenarios=2)
    words = [str(case) if word == "CASE" else word for word in command]
    with open("/dev/full", "w") as full:
        done = run(environ, words, stdout=full, is_buffered=is_buffered)
    assert done.returncode == 2, done.stderr
    assert "cobre: cannot write to the standard output: No space left on device\n  fix: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_help_of_a_command_on_a_full_stdout_is_an_error_too(environ):
    with open("/dev/full", "w") as full:
        done = run(environ, ["run", "--help"], stdout=full)
    assert (done.returncode, done.stderr.count("\n")) == (2, 2), done.stderr


def test_a_closed_stdout_shows_nothing_and_is_no_error(environ):
    done = run(environ, ["version"], stdout=subprocess.DEVNULL, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_ends_a_short_command_silently(environ):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(environ, ["version"], stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
