"""The first minutes: what `make run` and `cobre init` tell a newcomer to type works as typed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from cobre.cli.invocation import typed
from commands import run_command
from small_case import set_limits

ROOT = Path(__file__).parents[2]


def closing_words():
    """What `make run` prints last, as make would hand it to the shell."""
    done = run_command(
        ["make", "--dry-run", "--no-print-directory", "--assume-old=.venv/.ready", "run"],
        cwd=ROOT,
        check=True,
    )
    recipe = done.stdout[done.stdout.index("printf") :]
    return run_command(["sh", "-c", recipe], check=True).stdout


def test_make_run_ends_with_three_commands_that_work_as_typed(tmp_path, cobre):
    cobre("init", "build/example", cwd=tmp_path, check=0)
    set_limits(tmp_path / "build/example", 2, scenarios=5)
    cobre("run", "build/example", "--quiet", cwd=tmp_path, check=0)
    commands = re.findall(r"^  \.venv/bin/cobre (.*?)  ", closing_words(), re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        cobre(*command.split(), cwd=tmp_path, check=0)


def test_make_run_and_the_readme_say_how_the_command_is_found():
    words, readme = closing_words(), (ROOT / "README.md").read_text()
    for text in (words, readme):
        assert ".venv/bin/cobre" in text
        assert ". .venv/bin/activate" in text
        assert "pip install ." in text
        assert "uv pip install ." in text


@pytest.fixture
def program(tmp_path):
    """A `cobre` in a folder that is not on PATH."""
    path = tmp_path / "bin" / "cobre"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom cobre.cli import main\nsys.exit(main())\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("is_on_path", [False, True])
def test_init_names_the_next_command_as_it_can_be_typed(program, tmp_path, is_on_path):
    path = f"{program.parent}:{os.environ['PATH']}" if is_on_path else "/nowhere"
    done = run_command(
        [program, "init", "my case"], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True
    )
    name = "cobre" if is_on_path else str(program)
    assert done.stdout.endswith(f"  next: {name} run 'my case'\n")


def test_a_program_that_calls_the_command_line_names_the_module(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python/cobre/__main__.py"])
    assert typed("run x") == "python -m cobre run x"
